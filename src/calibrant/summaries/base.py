"""What all summaries share: merging with `+`, comparing, and travelling as bytes."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np

from calibrant.errors import CalibrantError, SummaryError
from calibrant.summaries import codec


class Summary:
    """A frozen value that holds all a measurement needs of its rows; `a + b` is that of both sets of rows."""

    kinds: ClassVar[dict[str, type[Summary]]] = {}

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
        """Whether it takes more room the more rows it is of."""
        return False

    @classmethod
    def zero(cls) -> Self:
        """Return the summary of no rows."""
        raise NotImplementedError

    def merged(self, other: Self) -> Self:
        """Return the summary of the rows of both."""
        raise NotImplementedError

    def __add__(self, other: object) -> Self:
        if type(other) is not type(self):
            if isinstance(other, Summary):
                raise SummaryError(
                    f"summaries of different kinds do not merge: {type(self).__name__} and {type(other).__name__}; "
                    "make all of them with the same verb and options"
                )
            return NotImplemented
        return self.merged(other)

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
        """Return bytes that `from_bytes` reads back, on any machine, with no pickle in them."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        return codec.encode(type(self).__name__, values)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what `to_bytes` wrote; foreign, damaged or truncated bytes are refused.

        `Summary.from_bytes` reads any kind, `Grid.from_bytes` a grid only.
        """
        name, values = codec.decode(data)
        kind = Summary.kinds.get(name)
        if kind is None or not issubclass(kind, cls):
            raise SummaryError(f"these bytes hold the summary kind {name}; expected {cls.__name__}")
        try:
            return kind._checked(values)
        except (TypeError, ValueError, KeyError, AttributeError, IndexError) as problem:
            if isinstance(problem, CalibrantError):
                raise
            raise SummaryError(f"these bytes do not hold a whole {name}: {problem}") from None

    @classmethod
    def _checked(cls, values: dict[str, Any]) -> Self:
        """Build from decoded values, refusing names that do not belong to this kind."""
        expected = {f.name for f in fields(cls)}  # type: ignore[arg-type]
        if set(values) != expected:
            raise SummaryError(f"these bytes do not hold a whole {cls.__name__}: fields {sorted(values)}")
        return cls(**values)
