"""What all summaries share: merging with `+`, comparison, and conversion to bytes and back."""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import fields
from itertools import pairwise
from types import ModuleType
from typing import Any, ClassVar, Self

import numpy as np

from calibrant.errors import CalibrantError, SummaryError

MAGIC = b"CALIBRANT\x00"
VERSION = 1
PREFIX = struct.Struct("<HII")
DTYPES = {"<f8", "<i8"}
MAX_ROWS = 2.0**53  # larger counts are not exact in float64


def encode(name: str, values: dict[str, Any]) -> bytes:
    """Return the bytes of a named set of numbers, texts, arrays and nested bytes."""
    header: dict[str, Any] = {"name": name, "values": {}}
    buffers: list[bytes] = []
    for key, value in values.items():
        if isinstance(value, np.ndarray):
            array = np.ascontiguousarray(value)
            array = array.astype("<i8" if array.dtype.kind == "i" else array.dtype.newbyteorder("<"), copy=False)
            header["values"][key] = {"dtype": array.dtype.str, "shape": list(array.shape)}
            buffers.append(array.tobytes())
        elif isinstance(value, tuple) and value and hasattr(value[0], "to_bytes") and not isinstance(value[0], int):
            parts = [part.to_bytes() for part in value]
            header["values"][key] = {"parts": [len(part) for part in parts]}
            buffers.extend(parts)
        else:
            header["values"][key] = {"plain": value}
    text = json.dumps(header).encode()
    body = text + b"".join(buffers)
    return MAGIC + PREFIX.pack(VERSION, len(text), zlib.crc32(body)) + body


def decode(data: bytes) -> tuple[str, dict[str, Any]]:
    """Return name and values; nested summaries come back as a tuple of bytes."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise SummaryError(f"expected the bytes of a summary; got {type(data).__name__}")
    data = bytes(data)
    if not data.startswith(MAGIC):
        raise SummaryError("these bytes are not a calibrant summary; expected what to_bytes() wrote")
    start = len(MAGIC) + PREFIX.size
    if len(data) < start:
        raise SummaryError(f"these bytes are truncated: {len(data)} of at least {start}")
    version, length, crc = PREFIX.unpack(data[len(MAGIC) : start])
    if version != VERSION:
        raise SummaryError(
            f"these bytes have format version {version}; this calibrant reads version {VERSION}. "
            "Read them with the calibrant that wrote them"
        )
    if zlib.crc32(data[start:]) != crc:
        raise SummaryError("these bytes are truncated or damaged: their checksum does not match")
    try:
        header = json.loads(data[start : start + length])
        return str(header["name"]), _values(header["values"], data[start + length :])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise SummaryError(f"these bytes are damaged: their header cannot be read ({problem})") from None


def _values(described: dict[str, Any], body: bytes) -> dict[str, Any]:
    values: dict[str, Any] = {}
    offset = 0
    for key, item in described.items():
        if "plain" in item:
            plain = item["plain"]
            values[key] = tuple(plain) if isinstance(plain, list) else plain
        elif "parts" in item:
            ends = [offset, *(offset := offset + length for length in item["parts"])]
            values[key] = tuple(body[a:b] for a, b in pairwise(ends))
        else:
            if item["dtype"] not in DTYPES:
                raise SummaryError(f"these bytes contain an array of type {item['dtype']}, which no summary has")
            count = int(np.prod(item["shape"], dtype=np.int64))
            array = np.frombuffer(body, item["dtype"], count, offset).reshape(item["shape"])
            values[key] = array.astype(array.dtype.newbyteorder("="), copy=False)
            offset += array.nbytes
    return values


class Summary:
    """A frozen value with all that a measurement needs to know of its rows; `a + b` is that of both sets of rows."""

    kinds: ClassVar[dict[str, type[Summary]]] = {}
    COUNTS: ClassVar[tuple[str, ...]] = ()  # fields that are whole numbers, 0 or more
    POSITIVE: ClassVar[tuple[str, ...]] = ()  # fields that are finite numbers, 0 or more
    FINITE: ClassVar[tuple[str, ...]] = ()  # fields that are finite numbers

    def __init_subclass__(cls) -> None:
        Summary.kinds[cls.__name__] = cls

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray) and value.flags.writeable:
                frozen = value.view()
                frozen.flags.writeable = False
                object.__setattr__(self, field.name, frozen)

    @property
    def n(self) -> int:
        """Number of rows."""
        raise NotImplementedError

    @property
    def grows(self) -> bool:
        """Whether memory grows with the number of rows."""
        return False

    @classmethod
    def zero(cls) -> Self:
        """Return the summary of no rows."""
        raise NotImplementedError

    def merged(self, other: Self) -> Self:
        """Return the summary of the rows of both, neither of which is empty."""
        raise NotImplementedError

    def __add__(self, other: object) -> Self:
        if type(other) is not type(self):
            if isinstance(other, Summary):
                raise SummaryError(
                    f"summaries of different kinds do not merge: {type(self).__name__} and {type(other).__name__}; "
                    "make all of them with the same verb and options"
                )
            return NotImplemented
        if self.is_empty or other.is_empty:
            return other if self.is_empty else self
        return self.merged(other)

    @property
    def is_empty(self) -> bool:
        """Whether it has no rows, so that it merges with any other of its kind."""
        return self.n == 0

    def __radd__(self, other: object) -> Self:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # so that sum(parts) works

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))  # type: ignore[arg-type]
        return all(
            np.array_equal(a, b, equal_nan=True) if isinstance(a, np.ndarray) else bool(a == b) for a, b in pairs
        )

    __hash__ = None  # type: ignore[assignment]  # equal by value, and arrays have no hash

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n={self.n})"

    def to_bytes(self) -> bytes:
        """Return bytes that `from_bytes` reads back on any machine; they contain no pickle."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        return encode(type(self).__name__, values)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what `to_bytes` wrote; foreign, damaged or truncated bytes are refused.

        `Summary.from_bytes` reads any kind of summary, `Grid.from_bytes` only a grid.
        """
        name, values = decode(data)
        if name not in Summary.kinds:
            import_all()
        kind = Summary.kinds.get(name)
        if kind is None or not issubclass(kind, cls):
            raise SummaryError(f"these bytes contain a summary of kind {name}; expected {cls.__name__}")
        try:
            found = kind._checked(values)
            found.check_values()
            return found
        except (TypeError, ValueError, KeyError, AttributeError, IndexError) as problem:
            if isinstance(problem, CalibrantError):
                raise
            raise SummaryError(f"these bytes do not contain a whole {name}: {problem}") from None

    def check_values(self) -> None:
        """Refuse values that no rows can have; only decoded summaries need this check."""
        for name in self.COUNTS:
            value = np.asarray(getattr(self, name))
            if value.dtype.kind != "i" or (value < 0).any() or value.sum(dtype=np.float64) > MAX_ROWS:
                self._refuse(name, "whole numbers of rows, 0 or more")
        for name in (*self.POSITIVE, *self.FINITE):
            value = np.asarray(getattr(self, name))
            if value.dtype.kind not in "if" or not np.isfinite(value).all():
                self._refuse(name, "finite numbers")
            if name in self.POSITIVE and (value < 0).any():
                self._refuse(name, "numbers that are 0 or more")

    def _refuse(self, name: str, expected: str) -> None:
        raise SummaryError(f"{name} of a {type(self).__name__} must be {expected}; these bytes contain other values")

    @classmethod
    def _checked(cls, values: dict[str, Any]) -> Self:
        """Build from decoded values and nested summaries; refuse names that do not belong to this kind."""
        expected = {f.name for f in fields(cls)}  # type: ignore[arg-type]
        if set(values) != expected:
            raise SummaryError(f"these bytes do not contain a whole {cls.__name__}: fields {sorted(values)}")
        return cls(**{name: _nested(value) for name, value in values.items()})


def _nested(value: Any) -> Any:
    """Return summaries in place of their bytes, and other values as they are."""
    if isinstance(value, tuple) and value and isinstance(value[0], bytes):
        return tuple(Summary.from_bytes(part) for part in value)
    return value


def one_precision(a: str, b: str) -> str:
    """Return the common type of the scores of two summaries, of which one may be unknown; refuse different types.

    >>> one_precision("float32", "")
    'float32'
    """
    if a and b and a != b:
        raise SummaryError(
            f"scores of type {a} and {b} fall into different bins at the edges; "
            "convert all batches to one type before they are summarised"
        )
    return a or b


def import_all() -> None:
    """Import every public name, and with it every verb and every kind of summary."""
    import calibrant

    for name in dir(calibrant):
        found = getattr(calibrant, name)
        for inner in dir(found) if isinstance(found, ModuleType) else ():
            getattr(found, inner)
