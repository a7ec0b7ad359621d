"""The rotating (sliding-window) cache: KC-2."""

from __future__ import annotations

from .. import protocol, tensor
from . import base, quantized


class RotatingCache(base.RowCache):
    """Keeps its first `keep` rows and the newest, `max_size` in all, in an order of its own.

    One append of several rows puts the stored rows in time order first and may leave up to
    max_size + m - 1 rows; single rows overwrite the oldest one in place once max_size rows are stored.
    """

    kind = protocol.ROTATING

    def __init__(self, *, max_size: int, keep: int = 0) -> None:
        super().__init__()
        if not 0 <= keep < max_size:
            raise ValueError(
                f"keep {keep} is not below max size {max_size}; a rotating cache needs room for new rows"
            )
        self.max_size = max_size
        self.keep = keep
        self.oldest = keep
        """Index of the row that the next overwrite hits: rows from `keep` on are in time order from here."""

    def append(self, block: tensor.Block) -> tensor.Rows | None:
        self.shape = base.common_shape(self.shape, block.shape)
        new = tensor.rows_of(block)
        if block.count == 1:
            self._write_one(new)
        else:
            self._write_many(new)
        self.offset += block.count
        self.allocate()
        return self.fetch()

    def allocate(self) -> None:
        """In growth steps up to max_size; exactly the rows stored beyond that."""
        grown = min(self.max_size, base.grown(self.capacity, self.stored.count))
        self.capacity = max(self.stored.count, grown)

    def fetch(self) -> tensor.Rows | None:
        """All stored rows, in the order they are stored."""
        return None if self.shape is None else self.stored

    def trim(self, rows: int) -> int:
        """Only while no row has been overwritten: 0 otherwise (KC-2)."""
        if not self.trimmable:
            return 0
        trimmed = super().trim(rows)
        self.stored = self.stored.part(0, self.offset)
        return trimmed

    @property
    def trimmable(self) -> bool:
        return self.offset < self.max_size

    @property
    def rows(self) -> int:
        return self.stored.count

    def in_time_order(self) -> tensor.Rows:
        """The stored rows, oldest first (the kept ones are the oldest)."""
        if self.oldest == self.keep:
            return self.stored
        return self._join(
            self.stored.part(0, self.keep),
            self.stored.part(self.oldest, self.stored.count),
            self.stored.part(self.keep, self.oldest),
        )

    def to_quantized(
        self, *, group_size: int, bits: int, resolver: str = "nearest"
    ) -> quantized.QuantizedCache:
        """Dialect `rotating = convert`: the rows in time order, while none has been dropped.

        Afterwards rows and offset differ, so that the layer stays as it is (QP-2). The quantized cache keeps
        every row: the window is up to the reader's mask from there on.
        """
        return quantized.quantized_cache(self, group_size=group_size, bits=bits, resolver=resolver)

    def _write_many(self, new: tensor.Rows) -> None:
        """At most max_size - 1 old rows stay before the new ones."""
        self.stored = self._newest(self.max_size - 1).plus(new)
        self.oldest = self.keep

    def _write_one(self, new: tensor.Rows) -> None:
        if self.stored.count > self.max_size:
            self.stored, self.oldest = self._newest(self.max_size), self.keep
        if self.stored.count < self.max_size:
            self.stored = self.stored.plus(new)
            return
        at = self.oldest
        self.stored = self._join(self.stored.part(0, at), new, self.stored.part(at + 1, self.stored.count))
        self.oldest = at + 1 if at + 1 < self.max_size else self.keep

    def _newest(self, limit: int) -> tensor.Rows:
        """In time order, cut to `limit` rows: the first `keep` and the newest of the others."""
        rows = self.in_time_order()
        surplus = rows.count - limit
        if surplus <= 0:
            return rows
        return rows.part(0, self.keep).plus(rows.part(self.keep + surplus, rows.count))

    @staticmethod
    def _join(*parts: tensor.Rows) -> tensor.Rows:
        return tensor.Rows(tuple([segment for part in parts for segment in part.segments]))
