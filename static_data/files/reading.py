"""How the text of files is to be read, the same for all files of a load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from static_data.errors import MalformedRdfError, MissingFileError
from static_data.files.on_error import OnError
from static_data.files.rdf_version import RdfVersion
from static_data.limits.expansion import MOST_EXPANSION


@dataclass(frozen=True)
class Reading:
    """How quoted triples are read, what becomes of what is malformed, the JSON-LD contexts by IRI, as text, and how
    many times its size a packed file may unpack to.
    """

    version: RdfVersion = RdfVersion.STAR
    on_error: OnError = OnError.FAIL
    contexts: Mapping[str, str] = field(default_factory=dict)
    most_expansion: float = MOST_EXPANSION

    @property
    def skips(self) -> bool:
        """Whether what is malformed is left out."""
        return self.on_error is OnError.SKIP

    @property
    def accepts(self) -> bool:
        """Whether IRIs are taken as they stand."""
        return self.on_error is OnError.ACCEPT


@dataclass(frozen=True)
class ReadingOptions:
    """What a user says of how files are to be read: see `StaticStore.load` for each."""

    on_error: OnError = OnError.FAIL
    skipped_file: str | Path | None = None
    contexts: Mapping[str, str | Path] = field(default_factory=dict)

    def reading(self, version: RdfVersion, most_expansion: float = MOST_EXPANSION) -> Reading:
        """The same with the contexts read; raises MissingFileError, MalformedRdfError."""
        return Reading(version, self.on_error, read_contexts(self.contexts), most_expansion)


def read_contexts(files: Mapping[str, str | Path]) -> dict[str, str]:
    """The texts of JSON-LD contexts that are given as local files; raises MissingFileError, MalformedRdfError."""
    texts = {}
    for iri, file in files.items():
        try:
            texts[iri] = Path(file).read_bytes().decode("utf-8-sig")
        except OSError as error:
            raise MissingFileError(str(file), error.strerror or str(error)) from error
        except UnicodeDecodeError as error:
            raise MalformedRdfError(str(file), None, None, f"not UTF-8: {error.reason}") from None
    return texts
