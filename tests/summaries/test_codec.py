"""Bytes: what is foreign, truncated, damaged or of another version is refused, always with one kind of error."""

import json
import struct
import zlib

import numpy as np
import pytest

from calibrant import Summary, SummaryError, summarize
from calibrant.summaries import codec

DATA = summarize("brier_score", [0, 1, 1], [0.25, 0.5, 0.75], weights=[1, 2, 3]).to_bytes()
NESTED = summarize("ece", [0, 1], [[0.5, 0.5], [0.25, 0.75]], notion="classwise", strategy="mass").to_bytes()


def packed(header, body=b"", version=codec.VERSION):
    """Return bytes with a right checksum around a header of one's own making."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    body = text + body
    return codec.MAGIC + struct.pack("<HII", version, len(text), zlib.crc32(body)) + body


class TestRoundTrip:
    def test_values(self):
        values = {"x": np.array([[1.5, np.nan], [np.inf, -0.0]]), "k": np.array([1, 2]), "t": ("a", "b"), "f": 0.1}
        name, back = codec.decode(codec.encode("Thing", values))
        assert name == "Thing"
        np.testing.assert_array_equal(back["x"], values["x"])
        assert back["x"].shape == (2, 2)
        assert back["k"].tolist() == [1, 2]
        assert (back["t"], back["f"]) == (("a", "b"), 0.1)

    def test_bytes_are_little_endian_whatever_the_array(self):
        array = np.array([1.0, 2.0])
        assert codec.encode("X", {"a": array}) == codec.encode("X", {"a": array.astype(">f8")})

    @pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
    def test_any_kind_of_bytes(self, kind):
        assert Summary.from_bytes(kind(DATA)) == Summary.from_bytes(DATA)

    def test_holds_no_pickle(self):
        assert b"numpy" not in DATA
        assert DATA.startswith(b"CALIBRANT\x00")


class TestRefused:
    @pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"CALIBRAN", b"\x80\x04\x95", b"CALIBRANT\x01" + b"x" * 99])
    def test_foreign(self, refusal, data):
        assert "not a calibrant summary" in refusal(Summary.from_bytes, data, error=SummaryError)

    @pytest.mark.parametrize("data", [None, "CALIBRANT", 3, [1, 2]])
    def test_no_bytes(self, refusal, data):
        message = refusal(Summary.from_bytes, data, error=SummaryError)
        assert message == f"expected the bytes of a summary; got {type(data).__name__}"

    @pytest.mark.parametrize("data", [DATA, NESTED], ids=["flat", "nested"])
    def test_truncated_anywhere(self, data):
        for length in range(len(data)):
            with pytest.raises(SummaryError):
                Summary.from_bytes(data[:length])

    def test_one_bit_flipped_anywhere(self):
        for place in range(8 * len(DATA)):
            damaged = bytearray(DATA)
            damaged[place // 8] ^= 1 << place % 8
            with pytest.raises(SummaryError):
                Summary.from_bytes(bytes(damaged))

    def test_trailing_bytes(self, refusal):
        assert "checksum" in refusal(Summary.from_bytes, DATA + b"\x00", error=SummaryError)

    def test_other_version(self, refusal):
        message = refusal(Summary.from_bytes, packed({}, version=2), error=SummaryError)
        assert "format version 2; this calibrant reads version 1" in message
        assert "Read them with the calibrant that wrote them" in message

    def test_unknown_kind(self, refusal):
        data = packed({"name": "Sketch", "values": {}})
        assert "Sketch; expected" in refusal(Summary.from_bytes, data, error=SummaryError)

    def test_fields_missing(self, refusal):
        data = packed({"name": "Ordered", "values": {"dtype": {"plain": "float64"}}})
        assert "do not hold a whole Ordered" in refusal(Summary.from_bytes, data, error=SummaryError)

    def test_type_no_summary_has(self, refusal):
        data = packed({"name": "Grid", "values": {"sums": {"dtype": "|O", "shape": [1]}}}, b"\x00" * 8)
        assert "an array of type |O, which no summary has" in refusal(Summary.from_bytes, data, error=SummaryError)

    @pytest.mark.parametrize(
        "data",
        [
            packed(b"not json"),
            packed(b"\xff\xfe"),
            packed([]),
            packed({"values": {}}),
            packed({"name": "Grid"}),
            packed({"name": "Grid", "values": {"sums": {"dtype": "<f8", "shape": [11, 4150]}}}),
            packed({"name": "Grid", "values": {"sums": {"dtype": "<f8", "shape": [-1]}}}),
            packed({"name": "Grid", "values": {"sums": {"dtype": "<f8"}, "weight_max": {"plain": 1.0}}}),
        ],
        ids=["text", "no text", "list", "no name", "no values", "array cut short", "negative shape", "no shape"],
    )
    def test_right_checksum_around_nonsense(self, data):
        with pytest.raises(SummaryError):
            Summary.from_bytes(data)
