"""The pytest hooks: each hands on to a session object; inert unless one of our options is given."""
