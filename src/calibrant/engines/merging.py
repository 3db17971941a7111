"""Merging: the summaries of a stream, in pairs of equal size."""

from __future__ import annotations

from typing import Generic, TypeVar

from calibrant.core.summary import Summary

S = TypeVar("S", bound=Summary)


class Merging(Generic[S]):
    """A running total of summaries that come one by one.

    A total of 2^k parts is merged with one of 2^k parts, as digits of a binary number are carried. A summary that grows
    with its rows is then copied log2(parts) times and not once for every part. The order of the parts is kept, and what
    is merged with what depends on their number alone: the same parts give the same bits.

    >>> from calibrant.summaries import Grid
    >>> total = Merging()
    >>> for _ in range(5):
    ...     total.add(Grid.zero())
    >>> total.parts, [many for many, _ in total.stack]
    (5, [4, 1])
    """

    def __init__(self) -> None:
        self.stack: list[tuple[int, S]] = []

    @property
    def parts(self) -> int:
        return sum(many for many, _ in self.stack)

    def add(self, part: S) -> None:
        many = 1
        while self.stack and self.stack[-1][0] == many:
            _, before = self.stack.pop()
            part = before + part
            many *= 2
        self.stack.append((many, part))

    def total(self) -> S | None:
        """Return the summary of all parts, None if there are none; more may follow."""
        found: S | None = None
        for _, part in reversed(self.stack):
            found = part if found is None else part + found
        return found
