"""The plain cache, and the chunked one that drops rows at its front (KC-1, KC-3)."""

from __future__ import annotations

from .. import protocol
from . import base, quantized


class PlainCache(base.RowCache):
    """Keeps every row; grows in steps of 256 rows (KC-1)."""

    kind = protocol.PLAIN

    def to_quantized(
        self, *, group_size: int, bits: int, resolver: str = "nearest"
    ) -> quantized.QuantizedCache:
        return quantized.quantized_cache(self, group_size=group_size, bits=bits, resolver=resolver)


class ChunkedCache(PlainCache):
    """Can drop its front: then holds the newest `chunk_size` rows, at absolute positions (KC-3)."""

    kind = protocol.CHUNKED

    def __init__(self, *, chunk_size: int) -> None:
        super().__init__()
        if chunk_size < 1:
            raise ValueError(f"chunk size {chunk_size} is not positive; give the number of rows to keep")
        self.chunk_size = chunk_size

    def drop_front(self) -> int:
        """Drop the rows beyond the newest `chunk_size`; how many were dropped."""
        dropped = max(0, self.rows - self.chunk_size)
        if dropped:
            self.stored = self.stored.part(dropped, self.rows)
            self.start_position += dropped
            self.capacity = 0  # the rows kept move to an array of their own
            self.allocate()
        return dropped
