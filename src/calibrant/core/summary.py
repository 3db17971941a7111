"""What all summaries share: merging with `+`, comparison, and conversion to bytes and back."""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from calibrant.errors import CalibrantError, SummaryError
from calibrant.inputs.arrays import field_values, locked
from calibrant.lazy import import_named

TRAILER = struct.Struct("<9sHI")  # after the bytes of the .npz: a mark, the version, and a checksum
MARK = b"CALIBRANT"
VERSION = 2
NOTHING: dict[str, Any] = {"int": 0, "float": 0.0, "bool": False, "str": "", "tuple": ()} | {
    "FloatArray": np.zeros(0),
    "NDArray": np.zeros(0, np.int64),
}
"""What summaries of no rows have, by the type of a field."""
ABOUT = "about"  # the entry of the .npz that describes the others, as the bytes of a JSON text


def encode(name: str, values: Mapping[str, Any]) -> bytes:
    """Return the bytes of a named set of numbers, texts, arrays, and tuples of summaries or of their bytes.

    They are those of an .npz file with a version and a checksum after its end, so ``numpy.load`` opens them too.
    """
    about: dict[str, Any] = {"name": name, "plain": {}, "arrays": [], "parts": {}}
    entries: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, np.ndarray):
            about["arrays"].append(key)
            entries[key] = value
        elif isinstance(value, tuple) and value and isinstance(value[0], (Summary, bytes)):
            about["parts"][key] = len(value)
            for k, part in enumerate(value):
                entries[f"{key}.{k}"] = _bytes(part if isinstance(part, bytes) else part.to_bytes())
        else:
            about["plain"][key] = value
    stream = io.BytesIO()
    entries[ABOUT] = _bytes(json.dumps(about).encode())
    np.savez(stream, **entries)
    content = stream.getvalue()
    return content + TRAILER.pack(MARK, VERSION, zlib.crc32(content))


def decode(data: bytes) -> tuple[str, dict[str, Any]]:
    """Return name and values; nested summaries come back as a tuple of bytes."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise SummaryError(f"expected the bytes of a summary; got {type(data).__name__}")
    data = bytes(data)
    if not data.startswith(b"PK"):
        raise SummaryError("these bytes are not a calibrant summary; expected what to_bytes() wrote")
    content = data[: -TRAILER.size]
    mark, version, checksum = TRAILER.unpack(data[-TRAILER.size :].rjust(TRAILER.size))
    if mark != MARK or zlib.crc32(content) != checksum:
        raise SummaryError("these bytes are truncated or damaged: their checksum does not match")
    if version != VERSION:
        raise SummaryError(
            f"these bytes have format version {version}; this calibrant reads version {VERSION}. "
            "Read them with the calibrant that wrote them"
        )
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            about = json.loads(stored[ABOUT].tobytes())
            values = {key: tuple(each) if isinstance(each, list) else each for key, each in about["plain"].items()}
            for key, array in ((key, stored[key]) for key in about["arrays"]):
                values[key] = array.astype(array.dtype.newbyteorder("="), copy=False)
            for key, many in about["parts"].items():
                values[key] = tuple(stored[f"{key}.{k}"].tobytes() for k in range(many))
            return str(about["name"]), values
    except Exception as problem:  # zipfile and numpy raise many kinds
        raise SummaryError(f"these bytes are damaged: they cannot be read ({problem})") from problem


def _bytes(content: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(content, np.uint8)


class Summary:
    """A frozen value with all that a measurement needs to know of its rows; `a + b` is that of both sets of rows."""

    kinds: ClassVar[dict[str, type[Summary]]] = {}

    def __init_subclass__(cls) -> None:
        Summary.kinds[cls.__name__] = cls

    def __post_init__(self) -> None:
        for name, value in field_values(self).items():
            if isinstance(value, np.ndarray) and value.flags.writeable:
                object.__setattr__(self, name, locked(value.view()))

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
        types = {field.name: str(field.type).partition("[")[0] for field in fields(cls)}  # type: ignore[arg-type]
        return cls(**{name: NOTHING[kind] for name, kind in types.items()})

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
        pairs = zip(field_values(self).values(), field_values(other).values(), strict=True)
        return all(
            np.array_equal(a, b, equal_nan=True) if isinstance(a, np.ndarray) else bool(a == b) for a, b in pairs
        )

    __hash__ = None  # type: ignore[assignment]  # equal by value, and arrays have no hash

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n={self.n})"

    def to_bytes(self) -> bytes:
        """Return the bytes of an .npz file without pickle, with a checksum, which `from_bytes` reads on any machine."""
        return encode(type(self).__name__, field_values(self))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what `to_bytes` wrote; foreign, damaged or truncated bytes are refused.

        `Summary.from_bytes` reads any kind of summary, `Grid.from_bytes` only a grid.
        """
        name, values = decode(data)
        if name not in Summary.kinds:
            import_named(name)
        kind = Summary.kinds.get(name)
        if kind is None or not issubclass(kind, cls):
            raise SummaryError(f"these bytes contain a summary of kind {name}; expected {cls.__name__}")
        try:
            return kind._checked(values)
        except (TypeError, ValueError, KeyError, AttributeError, IndexError) as problem:
            if isinstance(problem, CalibrantError):
                raise
            raise SummaryError(f"these bytes do not contain a whole {name}: {problem}") from None

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
