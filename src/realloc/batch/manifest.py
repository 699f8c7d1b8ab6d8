"""The manifest of a folder of parts: which files are its content. Written last, in one step.

A file that the manifest does not name is no part of the output, whatever else lies there.
"""

import json
from dataclasses import asdict, dataclass
from typing import Any

from realloc.base.place import Place
from realloc.base.strict_json import parse_object
from realloc.batch.checkpoint import Finished, digest_of

MANIFEST = "_MANIFEST.json"
REFUSED = "_REFUSED.json"
FORMAT = 1


@dataclass(frozen=True)
class OutputFile:
    """A file of the output."""

    name: str
    rows: int
    bytes: int
    sha256: str

    @classmethod
    def of(cls, finished: Finished) -> "OutputFile":
        """The answers of a chunk."""
        part = finished.answers
        return cls(part.name, finished.rows, part.bytes, part.sha256)


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What an output consists of, in the order of the input's rows, and the run behind it."""

    key: str  # of everything the answers depend on
    files: list[OutputFile]
    figures: dict[str, Any]  # of the run, as in a summary
    format: int = FORMAT

    def pack(self) -> bytes:
        """As JSON, with its own digest at the end."""
        record = asdict(self)
        record["digest"] = digest_of(record)
        return json.dumps(record, indent=1, ensure_ascii=False).encode() + b"\n"


def read_manifest(place: Place) -> Manifest | None:
    """The manifest of a place; None where it is missing or was changed."""
    try:
        record = parse_object(place.read(MANIFEST))
        if record.pop("digest") != digest_of(record):
            return None
        files = [OutputFile(**file) for file in record.pop("files")]
        return Manifest(files=files, **record)
    except (OSError, ValueError, KeyError, TypeError):
        return None
