"""A terminal of our own: what a person sees after a program has written to it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import struct
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path

_PIECES = re.compile(r"\x1b\[(?P<args>[\d;]*)(?P<what>[A-Za-z])|(?P<plain>[^\x1b])", re.DOTALL)


class Screen:
    """Lines as a terminal holds them, those that have scrolled away too; an unknown sequence is an error."""

    def __init__(self, columns: int = 80) -> None:
        self.columns = columns
        self._lines: list[list[str]] = [[]]
        self._row = self._column = 0

    @property
    def text(self) -> str:
        """All lines, without the blanks at their ends."""
        return "\n".join("".join(line).rstrip() for line in self._lines)

    def write(self, text: str) -> None:
        """Do what a terminal does with it."""
        end = 0
        for piece in _PIECES.finditer(text):
            assert piece.start() == end, repr(text[end : piece.start() + 10])
            end = piece.end()
            if piece["what"]:
                self._control(piece["what"], piece["args"])
            else:
                self._plain(piece["plain"])
        assert end == len(text), repr(text[end:])

    def _control(self, what: str, args: str) -> None:
        line = self._lines[self._row]
        if what == "J":
            assert args == ""
            del line[self._column :], self._lines[self._row + 1 :]
        elif what == "K":
            assert args == ""
            del line[self._column :]
        elif what == "A":
            self._row -= int(args or 1)
            assert self._row >= 0
        elif what == "G":
            self._column = int(args or 1) - 1
            assert self._column < self.columns
        else:
            assert what == "m", (what, args)

    def _plain(self, char: str) -> None:
        if char == "\r":
            self._column = 0
        elif char == "\n":  # the line discipline adds what returns the carriage
            self._down()
        else:
            if self._column == self.columns:
                self._down()
                self._column = 0
            line = self._lines[self._row]
            line.extend(" " * (self._column + 1 - len(line)))
            line[self._column] = char
            self._column += 1

    def _down(self) -> None:
        self._row += 1
        if self._row == len(self._lines):
            self._lines.append([])


def run_on_terminal(
    command: Sequence[str | Path], folder: Path, environment: Mapping[str, str], columns: int = 80
) -> tuple[int, str]:
    """Run a program on a pseudo-terminal; give its exit code, and all that it wrote."""
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.chdir(folder)
        os.execvpe(command[0], [str(part) for part in command], dict(environment))
    written = []
    with contextlib.suppress(OSError):  # how Linux says that the other side has gone
        while data := os.read(terminal, 65536):
            written.append(data)
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), b"".join(written).decode()
