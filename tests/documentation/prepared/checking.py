"""The files of docs/command_line.md."""

from tests.documentation.worlds import rooms

rooms()
