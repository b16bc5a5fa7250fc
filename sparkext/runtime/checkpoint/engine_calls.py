"""The part of an engine that goes on after a restart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sparkext.argument_checks import check
from sparkext.errors import CheckpointError, CqelsError
from sparkext.runtime.checkpoint.change_log import LoggedChange
from sparkext.runtime.checkpoint.keeper import Keeper, Kept
from sparkext.runtime.checkpoint.resumption import Resumption
from sparkext.runtime.checkpoint.writer import WriterReport
from sparkext.runtime.lateness.recollection import Recollection

if TYPE_CHECKING:
    from sparkext.runtime.parts.engine_parts import EngineParts


class Changes(Protocol):
    """The changes of static graphs, made again."""

    def redo(self, logged: LoggedChange) -> None: ...

    def wait_again(self, number: int, logged: LoggedChange) -> None: ...


class Registered(Kept, Protocol):
    """What an engine has registered."""

    @property
    def graph_versions(self) -> Changes: ...

    def stream_again(self, iri: str, on_error: str, lateness: Mapping[str, Any]) -> object: ...

    def is_made(self, iri: str) -> bool: ...

    def to_recall(self) -> Iterable[Recollection]: ...

    def start_commits(self, at_rest: Callable[[], object]) -> None: ...


RegisterAgain = Callable[[str, str, Any, Mapping[str, str] | None], object]
"""Registers a query by text, name, report policy and parameters."""


class CheckpointCalls:
    """The calls of an engine about its checkpoint."""

    parts: EngineParts
    _keeper: Keeper | None

    def evaluate_due(self) -> None:
        """Evaluate what is due."""
        raise NotImplementedError

    def _opened(self, path: str | Path | None) -> Keeper | None:
        """The keeper of a folder, None without one."""
        if path is None:
            return None
        try:
            made = Keeper(self.parts, str(path))
        except BaseException:
            self.parts.release()  # nobody gets the engine, to close it
            raise
        self.parts.keeper = made
        self.parts.is_kept = True
        return made

    def _take_up(self, registered: Registered, again: RegisterAgain) -> None:
        """Have what the checkpoint has be taken up before anything comes in, and commits be made from then on."""
        keeper = self._keeper
        if keeper is None:
            return
        keeper.keep(registered)
        registered.start_commits(keeper.at_rest)
        if keeper.restored is not None:
            graphs = registered.graph_versions
            keeper.resumption = Resumption(
                keeper.path,
                keeper.restored,
                again,
                registered.stream_again,
                registered.is_made,
                registered.to_recall,
                graphs.redo,
                graphs.wait_again,
            )

    def _leave_checkpoint(self) -> None:
        """Make a last commit; called without the engine's lock."""
        keeper = self._keeper
        if keeper is None or self.parts.keeper is None:
            return
        commit = None
        try:
            with self.parts.lock:
                self.parts.keeper = None  # what is ended from now on is still in the checkpoint
                commit = keeper.commit()
        finally:
            keeper.close(commit)

    def restore(self) -> list[str]:
        """Register the queries that the checkpoint has and this program has not, and take up all else in it.

        The first element or promise does the same, and a change of a graph once a query was registered again. Gives
        the names of those queries. Raises CheckpointError for one that cannot be registered without the program, and
        what `register_query` raises.
        """
        with self.parts.in_use():
            return self._kept().resume()

    def commit(self) -> None:
        """Return when all that has come in so far, and all that was answered, is in the checkpoint.

        Must not be called by a subscriber. Raises CheckpointError.
        """
        self._kept()
        self.parts.check_open()
        with self.parts.in_use():
            self.parts.take_up()
            self.evaluate_due()  # what an interruption has left
        self.parts.wait_kept()

    def forget_query(self, name: str) -> None:
        """Forget a query that the checkpoint has and nobody has registered again; raises CheckpointError for others."""
        check.text("name", name)
        with self.parts.in_use():
            keeper = self._kept()
            if not keeper.forget_query(name):
                raise CheckpointError(
                    keeper.path, f"it has no query {name} that is still to be registered"
                )

    @property
    def checkpoint_report(self) -> WriterReport:
        """What has been written: commits, bytes, seconds of the last commit, and why the last try failed."""
        return self._kept().report

    def _kept(self) -> Keeper:
        if self._keeper is None:
            raise CqelsError("this engine has no checkpoint: Engine(spark, checkpoint=folder)")
        return self._keeper
