"""Codes in 32-bit words: a little-endian bit stream, as packed KV caches store it.

Code i of a row starts at bit i * bits of the stream; the stream is cut into 32-bit words, so codes of 3, 5, 6
and 7 bits straddle words. Source: QC-6 and the packing that MLX was measured to use.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

WORD_BITS = 32
PACKABLE_BITS = range(1, 9)
CODES_AT_A_TIME = 8  # eight codes of b bits fill exactly b bytes, whatever b is


def words_per_row(count: int, bits: int) -> int:
    """How many 32-bit words hold `count` codes of `bits` bits: count * bits / 32 (QC-6).

    ValueError for bits outside 1..8 and for a count that does not fill whole words.
    """
    if bits not in PACKABLE_BITS:
        raise ValueError(f"codes of {bits!r} bits cannot be packed; use 1 to 8 bits")
    if count < 0 or count * bits % WORD_BITS:
        raise ValueError(
            f"{count} codes of {bits} bits do not fill whole {WORD_BITS}-bit words; "
            f"give a row whose length times {bits} is a multiple of {WORD_BITS}"
        )
    return count * bits // WORD_BITS


def code_shifts(bits: int) -> tuple[int, ...]:
    """The bit where each of eight successive codes starts: the first code lowest."""
    return tuple(index * bits for index in range(CODES_AT_A_TIME))


def pack_codes(codes: Sequence[int], bits: int) -> tuple[int, ...]:
    """A row of codes (each 0 .. 2^bits - 1) as 32-bit words; ValueError when they do not fit."""
    words = words_per_row(len(codes), bits)
    if codes and not 0 <= min(codes) <= max(codes) < 1 << bits:
        raise ValueError(
            f"codes {min(codes)} to {max(codes)} do not fit into {bits} bits; "
            f"clip them to 0..{(1 << bits) - 1}"
        )
    padded = [*codes, *[0] * (-len(codes) % CODES_AT_A_TIME)]
    return words_from_bytes(_bit_stream(padded, bits)[: words * 4])


def unpack_codes(words: Sequence[int], bits: int, count: int) -> list[int]:
    """The `count` codes that the words hold, in order; ValueError when the number of words is wrong."""
    expected = words_per_row(count, bits)
    if len(words) != expected:
        raise ValueError(
            f"{count} codes of {bits} bits need {expected} words, not {len(words)}; check bits and head dim"
        )
    mask = (1 << bits) - 1
    shifts = code_shifts(bits)
    stream = words_to_bytes(words)
    chunks = (int.from_bytes(stream[start : start + bits], "little") for start in range(0, len(stream), bits))
    return [chunk >> shift & mask for chunk in chunks for shift in shifts][:count]


def words_to_bytes(words: Sequence[int]) -> bytes:
    """32-bit words as little-endian bytes, four a word."""
    return struct.pack(f"<{len(words)}I", *words)


def words_from_bytes(data: bytes) -> tuple[int, ...]:
    """The 32-bit words that little-endian bytes hold; ValueError when they are no whole words."""
    if len(data) % 4:
        raise ValueError(f"{len(data)} bytes are no whole number of 32-bit words; give a multiple of 4")
    return struct.unpack(f"<{len(data) // 4}I", data)


def _bit_stream(codes: Sequence[int], bits: int) -> bytes:
    s0, s1, s2, s3, s4, s5, s6, s7 = code_shifts(bits)
    eights = zip(*(codes[offset::CODES_AT_A_TIME] for offset in range(CODES_AT_A_TIME)), strict=True)
    return b"".join(
        (a << s0 | b << s1 | c << s2 | d << s3 | e << s4 | f << s5 | g << s6 | h << s7).to_bytes(
            bits, "little"
        )
        for a, b, c, d, e, f, g, h in eights
    )
