"""The folder of a checkpoint: who claims it, the commits in it, and which of its files are needed."""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Iterable, Mapping
from typing import Any

from py4j.protocol import Py4JJavaError

from sparkext.errors import CheckpointError
from sparkext.runtime.checkpoint.owner import Owner

logger = logging.getLogger(__name__)

FORMAT = 1
"""Of commits; an older version's is read or refused, a newer one's refused."""

_KEPT = 2  # commits, the last one and one to go back to
_MINE = re.compile(r"owner-\d{8,}|(commit|elements|queries|changes)-\d{8,}-\d{10,}")
_LEASE = 60  # seconds for which an owner on another machine is believed to be alive


class CommitFolder:
    """The files of one checkpoint, claimed for this process: each is written whole, and never changed afterwards.

    Raises CheckpointError where another process has it.
    """

    def __init__(self, jvm: Any, path: str) -> None:
        self.jvm = jvm
        self.path = path
        try:
            jvm.make()
        except Py4JJavaError as error:
            raise CheckpointError(path, f"the folder cannot be made: {said(error)}") from None
        names = self.names()
        self._number = 0
        self._files = {name for name in names if not name.startswith("owner-")}
        self._needed: list[set[str]] = []
        self._epoch = self._claimed(names)
        for name in names:
            if name.startswith("owner-") and name != self._owner_file(self._epoch):
                self._delete(name)

    # ---- whose it is

    def _claimed(self, names: Iterable[str]) -> int:
        owners = [name for name in names if name.startswith("owner-")]
        if owners:
            self._check_free(max(owners))
        # After all files that there are: an owner that has left has taken its own away, and no name comes twice.
        mine = 1 + max((int(name.split("-")[1]) for name in names), default=0)
        if not self.jvm.claim(self._owner_file(mine), Owner.me().written()):
            raise CheckpointError(self.path, "another process takes it at this moment")
        return mine

    def _check_free(self, file: str) -> None:
        try:
            owner = Owner.read(self.jvm.readText(file))
        except (Py4JJavaError, ValueError, TypeError, KeyError):
            return  # it was killed while it claimed the folder
        if owner.is_here:
            if owner.is_alive and owner != Owner.me():
                raise CheckpointError(self.path, f"{owner} is using it")
            return
        # Nobody here can tell whether it runs: it is believed for a while after its last sign.
        left = _LEASE - (time.time() - self.jvm.modified() / 1000.0)
        if left > 0:
            raise CheckpointError(
                self.path,
                f"{owner} was using it less than {_LEASE} s ago; if it has ended, try again in {left:.0f} s",
            )

    def _owner_file(self, epoch: int) -> str:
        return f"owner-{epoch:08d}"

    def check_mine(self) -> None:
        """Raise CheckpointError where another process has taken the folder over."""
        # Its owner may have ended since, and have taken its claim away; what it wrote stays.
        if any(int(name.split("-")[1]) > self._epoch for name in self.names()):
            raise TakenOverError(self.path, "another process has taken it over")

    def leave(self) -> None:
        """Let others have it at once."""
        self._delete(self._owner_file(self._epoch))

    # ---- files

    def names(self) -> list[str]:
        """The files of checkpoints that there are: what else lies in the folder is somebody else's."""
        return [name for name in self.jvm.list().split("\n") if _MINE.fullmatch(name)]

    def new_name(self, kind: str) -> str:
        """A name that no file of any process has had."""
        self._number += 1
        return f"{kind}-{self._epoch:08d}-{self._number:010d}"

    def write_segment(self, segment: Any) -> tuple[str, int]:
        """Write a segment of elements; the name of its file, and how large that is."""
        name = self.new_name("elements")
        size = int(segment.writeTo(self.jvm, name))
        self._files.add(name)
        return name, size

    def join_segments(self, names: Iterable[str]) -> tuple[str, int]:
        """Write the segments of several files into another one."""
        name = self.new_name("elements")
        size = int(self.jvm.join("\n".join(names), name))
        self._files.add(name)
        return name, size

    def write_part(self, kind: str, content: Any) -> str:
        """Write a part of commits that does not change with each; the name of its file."""
        name = self.new_name(kind)
        self.jvm.writeText(name, json.dumps(content))
        self._files.add(name)
        return name

    def read_part(self, name: str) -> Any:
        """What `write_part` wrote."""
        return json.loads(self._text(name))

    def commit(self, content: Mapping[str, Any], needed: Iterable[str]) -> int:
        """Make a commit of content and of the files that it needs; files that none of the last two does go.

        How many bytes the content is.
        """
        self.check_mine()
        name = self.new_name("commit")
        text = json.dumps({"format": FORMAT, **content})
        self.jvm.writeText(name, text)
        self._files.add(name)
        self._needed = [*self._needed[1 - _KEPT :], {name, *needed}]
        if len(self._needed) == _KEPT:
            for file in self._files - set().union(*self._needed):
                self._delete(file)
        return len(text)

    def _delete(self, name: str) -> None:
        self.jvm.delete(name)
        self._files.discard(name)

    def last_commit(self) -> dict[str, Any] | None:
        """The content of the last commit; None where there is none. Raises CheckpointError.

        One that is not whole is passed over, with a warning, for the one before.
        """
        names = sorted(name for name in self.names() if name.startswith("commit-"))
        problem: CheckpointError | None = None
        for name in reversed(names):
            try:
                content = self._commit(name)
            except UnreadableFormatError:
                raise
            except CheckpointError as error:
                problem = problem or error
                logger.warning("%s; the commit before it is taken", error)
                continue
            self._needed = [{name, *content["files"]}]
            return content
        if problem is not None:
            raise problem
        return None

    def _commit(self, name: str) -> dict[str, Any]:
        try:
            content: dict[str, Any] = json.loads(self._text(name))
        except ValueError as error:
            raise CheckpointError(self.path, f"{name}: {error}") from None
        found = content.get("format")
        if found != FORMAT:
            raise UnreadableFormatError(self.path, found, content.get("written_by"))
        return content

    def _text(self, name: str) -> str:
        try:
            return str(self.jvm.readText(name))
        except Py4JJavaError as error:
            raise CheckpointError(self.path, said(error)) from None


def said(error: Py4JJavaError) -> str:
    """What an error of the JVM says, without its class where the message says it all."""
    message = error.java_exception.getMessage()
    kind = error.java_exception.getClass().getSimpleName()
    return str(message) if message and kind == "TornFile" else f"{kind}: {message}"


class TakenOverError(CheckpointError):
    """A folder that another process has: this one will write to it no more."""


class UnreadableFormatError(CheckpointError):
    """A commit that another version wrote in a format that this one does not know."""

    def __init__(self, path: str, found: object, version: object) -> None:
        super().__init__(
            path,
            f"its commits are of format {found}, written by version {version}; this version reads"
            f" format {FORMAT}: go on with that version, or begin with an empty folder",
        )
