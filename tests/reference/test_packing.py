"""Codes in 32-bit words: QC-6, and the bit order that every packed cache shares."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kvconform_reference import packing

SUPPORTED_BITS = (2, 3, 4, 5, 6, 8)


@st.composite
def rows_of_codes(draw: st.DrawFn) -> tuple[int, list[int]]:
    """Bits, and a row of codes that fills whole words at these bits."""
    bits = draw(st.integers(1, 8))
    count = 32 * draw(st.integers(0, 6))
    codes = draw(st.lists(st.integers(0, (1 << bits) - 1), min_size=count, max_size=count))
    return bits, codes


@pytest.mark.requirement("QC-6")
@pytest.mark.parametrize("bits", SUPPORTED_BITS)
@pytest.mark.parametrize("dim", [32, 64, 96, 128, 160, 192, 256, 576])
def test_a_row_takes_dim_times_bits_over_32_words(bits: int, dim: int) -> None:
    assert len(packing.pack_codes([0] * dim, bits)) == dim * bits // 32


@given(rows_of_codes())
def test_the_words_are_the_little_endian_bit_stream_of_the_codes(row: tuple[int, list[int]]) -> None:
    bits, codes = row
    stream = 0
    for index, code in enumerate(codes):
        stream |= code << index * bits
    words = packing.pack_codes(codes, bits)
    assert list(words) == [stream >> 32 * index & 0xFFFFFFFF for index in range(len(words))]
    assert packing.words_to_bytes(words) == stream.to_bytes(4 * len(words), "little")


@given(rows_of_codes())
def test_unpacking_gives_the_codes_back(row: tuple[int, list[int]]) -> None:
    bits, codes = row
    assert packing.unpack_codes(packing.pack_codes(codes, bits), bits, len(codes)) == codes


@pytest.mark.parametrize(("bits", "count"), [(8, 4), (4, 8), (2, 16), (1, 32), (8, 12)])
def test_rows_that_are_no_multiple_of_32_codes_but_fill_words_are_packed(bits: int, count: int) -> None:
    codes = [index % (1 << bits) for index in range(count)]
    words = packing.pack_codes(codes, bits)
    assert len(words) == count * bits // 32
    assert packing.unpack_codes(words, bits, count) == codes


def test_a_code_that_straddles_two_words_is_split_low_part_first() -> None:
    codes = [0] * 32
    codes[10] = 0b101  # bits 30, 31 and 32 of the stream
    assert packing.pack_codes(codes, 3) == (0b01 << 30, 0b1, 0)


def test_words_survive_the_way_through_bytes() -> None:
    words = (0, 1, 0x80000000, 0xFFFFFFFF, 0x01020304)
    assert packing.words_to_bytes(words)[-4:] == b"\x04\x03\x02\x01"
    assert packing.words_from_bytes(packing.words_to_bytes(words)) == words


def test_rows_that_do_not_fill_whole_words_are_refused() -> None:
    with pytest.raises(ValueError, match="5 codes of 4 bits do not fill whole 32-bit words"):
        packing.pack_codes([0] * 5, 4)


@pytest.mark.parametrize("bits", [0, -1, 9, 16])
def test_bits_that_cannot_be_packed_are_refused(bits: int) -> None:
    with pytest.raises(ValueError, match=f"codes of {bits} bits cannot be packed"):
        packing.pack_codes([0] * 32, bits)


@pytest.mark.parametrize("code", [-1, 16])
def test_a_code_that_does_not_fit_is_refused_not_truncated(code: int) -> None:
    with pytest.raises(ValueError, match="do not fit into 4 bits"):
        packing.pack_codes([0] * 31 + [code], 4)


def test_a_wrong_number_of_words_or_bytes_is_refused() -> None:
    with pytest.raises(ValueError, match="32 codes of 4 bits need 4 words, not 5"):
        packing.unpack_codes([0] * 5, 4, 32)
    with pytest.raises(ValueError, match="7 bytes are no whole number of 32-bit words"):
        packing.words_from_bytes(b"1234567")
