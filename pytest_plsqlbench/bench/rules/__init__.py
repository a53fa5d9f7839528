"""The rules by which tests are judged: one function a mode, from both sides to an outcome."""
