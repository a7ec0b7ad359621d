"""The file of a golden stream: what was asked, what came out, and what recorded it.

``goldens/streams/<model>/<id>.json``. Numbers that no reader can check by eye stand beside text that one can:
the prompt and the tokens are there in words too. A checksum tells an edited file from a changed behaviour.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from ..errors import UserError
from ..jsondata import first_fault
from ..observation import GenerateObservation
from ..scenario import Document, GenerateScenario
from ..vectors.formatting import compact_data, json_text

VERSION = 1
"""Version of the format. A file of another version is refused."""

MARGIN_DIGITS = 4
"""Decimals of a recorded margin: a float32 logit of 10 is exact to 6, and a person reads 2."""

RECORD = "pytest --snapshot-update tests/goldens"


class Recorded(Document):
    """What recorded a stream."""

    platform: str
    """The class of platforms on which it repeats exactly, e.g. ``cpu linux x86_64``."""
    dtype: str
    """Element type of the model's logits."""
    fingerprint: str | None
    """sha256 of the tiny model's weights or of the model's file; none for folders and hub models."""
    versions: dict[str, str]
    """Versions of mlx and mlx-lm."""


class Golden(Document):
    """One golden stream."""

    version: Literal[1] = VERSION
    id: Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
    comment: str
    """What the stream pins, in a sentence."""
    implementation: Literal["reference", "mlx-lm"]
    dialect: str | dict[str, Any]
    """A named dialect, or the parameters in which it is not the proposal."""
    scenario: GenerateScenario
    prompt_text: tuple[str, ...]
    """The prompt in words; the lines joined are the text."""
    text: tuple[str, ...]
    """The tokens of ``expected`` in words; the lines joined are the text."""
    expected: GenerateObservation
    recorded: Recorded
    sha256: str = ""
    """Checksum of all the rest."""

    @property
    def key(self) -> str:
        """``<model>/<id>``: the file's place and the name in reports."""
        return f"{self.scenario.model}/{self.id}"


def rounded(observation: GenerateObservation) -> GenerateObservation:
    """The observation as a file holds it: margins rounded."""
    margins = tuple(round(margin, MARGIN_DIGITS) for margin in observation.margins)
    return observation.model_copy(update={"margins": margins})


def sealed(golden: Golden) -> Golden:
    """The golden with its checksum."""
    return golden.model_copy(update={"sha256": checksum(golden)})


def checksum(golden: Golden) -> str:
    """sha256 over the canonical JSON of everything but the checksum itself."""
    data = golden.model_dump(mode="json", exclude={"sha256"})
    return hashlib.sha256(json.dumps(data, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


# ---------------------------------------------------------------- text


def lines_of(text: str, *, width: int = 100) -> tuple[str, ...]:
    """The text cut at line ends, and at spaces where a line is longer; joined it is the text again."""
    return tuple(piece for line in text.splitlines(keepends=True) for piece in _cut(line, width))


def _cut(line: str, width: int) -> list[str]:
    pieces = [""]
    for word in re.findall(r"\S*\s*", line):
        if pieces[-1] and len(pieces[-1]) + len(word.rstrip()) > width:
            pieces.append("")
        pieces[-1] += word
    return [piece for piece in pieces if piece]


# ---------------------------------------------------------------- files


def to_text(golden: Golden) -> str:
    """The text of the file."""
    return json_text(compact_data(golden))


def from_text(text: str, *, where: str) -> Golden:
    """The golden in a file's text; UserError names the file when it is none or was edited."""
    try:
        golden = Golden.model_validate(json.loads(text), strict=False)
    except ValidationError as error:
        raise _broken(where, first_fault(error)) from None
    except ValueError as error:
        raise _broken(where, f"it is not JSON ({error})") from None
    if golden.sha256 != checksum(golden):
        raise _broken(where, "its content does not belong to its checksum, so it was edited or damaged")
    return golden


def read(path: Path) -> Golden:
    """The golden in a file; UserError when it is missing, no golden, or edited."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(
            f"golden stream {path}: there is no such file. Record it: {RECORD}, "
            "on Linux x86-64 with the extra mlx"
        ) from None
    return from_text(text, where=str(path))


def read_all(folder: Path) -> dict[str, Golden]:
    """Every golden below a folder of streams by its key; UserError also for one under another's name."""
    goldens: dict[str, Golden] = {}
    for path in sorted(folder.rglob("*.json")):
        golden = read(path)
        if path != folder / f"{golden.key}.json":
            raise _broken(str(path), f"it holds {golden.key}, whose file has that name")
        goldens[golden.key] = golden
    return goldens


def _broken(where: str, problem: str) -> UserError:
    return UserError(
        f"golden stream {where}: {problem}. Bring back the committed file (git checkout), "
        f"or record it again: {RECORD}"
    )


def streams_folder() -> Path:
    """The folder of all streams: inside the installed package, or at the top of a checkout."""
    package = Path(__file__).parents[1]
    for folder in (package / "goldens", package.parents[1] / "goldens"):
        if (folder / "streams").is_dir():
            return folder / "streams"
    raise UserError(
        f"goldens: there are no streams beside {package}. Install kvconform again, or run from a checkout."
    )
