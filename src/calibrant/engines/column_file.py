"""A column of numbers on disk that takes no more room than its values need."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from io import BufferedWriter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.core.dispatch import chunks

WHOLE = ("<i1", "<i2", "<i4", "<i8")
REAL = ("<f8",)
SINGLE = ("<f4", "<f8")

COPIED = 1 << 20  # values at a time


@dataclass(frozen=True)
class Column:
    """What is known of a column that is written: `size` values of a type, or one value that all of them have."""

    size: int
    dtype: str
    constant: float | None = None

    @property
    def nbytes(self) -> int:
        """Bytes on disk."""
        return 0 if self.constant is not None else self.size * np.dtype(self.dtype).itemsize

    def read(self, path: Path, start: int, stop: int) -> NDArray[Any]:
        """Return some of the values."""
        if self.constant is not None:
            return self._repeated(stop - start)
        kind = np.dtype(self.dtype)
        return np.fromfile(path, kind, stop - start, offset=start * kind.itemsize)

    def mapped(self, path: Path) -> NDArray[Any]:
        """Return the values as they lie on disk, read-only."""
        if self.constant is not None:
            return self._repeated(self.size)
        return np.memmap(path, self.dtype, mode="r", shape=(self.size,))

    def plain(self) -> dict[str, Any]:
        """Return the fields as plain values, which `Column(**values)` reads back."""
        return asdict(self)

    def _repeated(self, size: int) -> NDArray[Any]:
        """Return the one value, as often, in the memory of one."""
        return np.broadcast_to(np.dtype(self.dtype).type(self.constant), (size,))


class ColumnFile:
    """A column that grows at its end; its file is made when a second value comes that differs from the first.

    Values are written in the first of `types` that suits all of them so far, and what was written in a narrower one is
    written again. A type suits whole numbers if it holds their squares too: what multiplies two of them need not think
    of their type. Sums of them are taken in 64 bits by NumPy anyway.
    """

    def __init__(self, path: Path, types: tuple[str, ...]) -> None:
        self.path, self.types = path, types
        self.size = 0
        self._constant: Any = None
        self._rung = 0
        self._stream: BufferedWriter | None = None

    def append(self, values: NDArray[Any]) -> None:
        """Write some more values."""
        if not values.size:
            return
        if self._stream is None:
            if self._stays_constant(values):
                self.size += values.size
                return
            self._begin()
        self._widen(values)
        for part in chunks(values.size, COPIED):
            self._write(values[part])
        self.size += values.size

    def finish(self, *, durable: bool = False) -> Column:
        """Close the file, and return what is in it; `durable` waits until the disk has it."""
        if self._stream is None:
            return Column(self.size, self.types[-1], self._constant.item() if self.size else 0)
        self._stream.flush()
        if durable:
            os.fsync(self._stream.fileno())
        self._stream.close()
        return Column(self.size, self.types[self._rung])

    def discard(self) -> None:
        """Close and remove the file, whatever state it is in."""
        if self._stream is not None:
            with suppress(OSError):  # what is still to be written may find no room
                self._stream.close()
        for path in (self.path, self._former):
            path.unlink(missing_ok=True)

    @property
    def _former(self) -> Path:
        return self.path.with_name(self.path.name + ".narrow")

    def _stays_constant(self, values: NDArray[Any]) -> bool:
        first = self._constant if self.size else values[0]
        if values[0] != first or not (values.strides == (0,) or (values == first).all()):
            return False
        self._constant = first
        return True

    def _begin(self) -> None:
        """Make the file, and write the one value that all were so far."""
        if self.size:
            self._widen(np.array([self._constant]))
        self._stream = self.path.open("wb")
        for part in chunks(self.size, COPIED):
            self._write(np.full(part.stop - part.start, self._constant))

    def _widen(self, values: NDArray[Any]) -> None:
        """Move on to the first type that suits these values, and bring what was written into it."""
        former, last = self._rung, len(self.types) - 1
        while self._rung < last and not _suits(self.types[self._rung], values):
            self._rung += 1
        if self._rung == former or self._stream is None:
            return
        self._stream.close()
        self.path.replace(self._former)
        self._stream = self.path.open("wb")
        for part in self._read_again(self.types[former]):
            self._write(part)
        self._former.unlink()

    def _read_again(self, dtype: str) -> Iterator[NDArray[Any]]:
        written = Column(self.size, dtype)
        for part in chunks(self.size, COPIED):
            yield written.read(self._former, part.start, part.stop)

    def _write(self, values: NDArray[Any]) -> None:
        assert self._stream is not None
        self._stream.write(np.ascontiguousarray(values, self.types[self._rung]).data)


def _suits(dtype: str, values: NDArray[Any]) -> bool:
    """Tell whether a type holds these values without loss, and the squares of whole numbers."""
    kind = np.dtype(dtype)
    if kind.kind == "i":
        return max(int(values.max()), -int(values.min())) ** 2 <= np.iinfo(kind).max
    with np.errstate(over="ignore"):
        return bool((values.astype(kind) == values).all())
