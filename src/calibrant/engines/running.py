"""The total of a job while its batches come, and how it survives the process that counts it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from calibrant.core import summary as codec
from calibrant.core.summary import Summary
from calibrant.engines.totals import Place, Plain, Total, resumed, total_of
from calibrant.errors import SummaryError

NAME = "Running"


class Running:
    """The summaries of a stream of batches, merged as they come.

    Parameters
    ----------
    spill
        Whether sorted rows that outgrow memory are kept on disk, in a temporary folder. There is no `state` then.
    folder
        A folder for them instead, which is made when it is needed and stays until `remove`: a `state` names its files.

    Examples
    --------
    >>> from calibrant import Grid
    >>> running = Running()
    >>> for _ in range(3):
    ...     running.add(Grid.zero())
    >>> again = Running.resumed(running.state())
    >>> again.parts, again.total()
    (3, Grid(n=0))
    """

    def __init__(self, *, spill: bool = False, folder: Path | None = None) -> None:
        self.parts, self.folder = 0, folder
        self._place = Place(folder) if spill or folder is not None else None
        self._total: Total | None = None

    def add(self, part: Summary) -> None:
        """Take in the summary of the next batch."""
        if self._total is None:
            self._total = total_of(part, self._place)
        self._total.add(part)
        self.parts += 1

    def total(self) -> Summary | None:
        """Return the summary of all batches, None if there were none."""
        return None if self._total is None else self._total.total()

    def state(self) -> bytes:
        """Return all that is known, as bytes without pickle in them: whoever goes on from them gets the same bits.

        Files that it names stay until `settle`.
        """
        if self._place is not None and self.folder is None and self._total is not None:
            raise SummaryError("rows that are kept in a temporary folder have no state to go on from")
        summaries: list[Summary] = []
        plain = self._total.plain(summaries) if self._total is not None else None
        about = json.dumps({"parts": self.parts, "total": plain})
        return codec.encode(NAME, {"about": about, "summaries": tuple(summaries)})

    def settle(self, states: Sequence[bytes]) -> None:
        """Forget what is needed to go on from anything but these states, which are written down."""
        if self._total is not None and self.folder is not None:
            self._total.settle(_plain_totals(states))

    @classmethod
    def resumed(cls, state: bytes, *, folder: Path | None = None, beside: Sequence[bytes] = ()) -> Running:
        """Go on from a `state`; of the files in the folder, those that it or states `beside` it name stay."""
        about, summaries = _decoded(state)
        running = cls(folder=folder)
        running.parts = about["parts"]
        if about["total"] is not None:
            found = [Summary.from_bytes(summary) for summary in summaries]
            running._total = resumed(about["total"], found, Place(folder), _plain_totals(beside))
        return running

    def remove(self) -> None:
        """Leave nothing on disk."""
        if self._total is not None and self.folder is not None:
            self._total.remove()
            for folder in sorted(self.folder.rglob("*/"), reverse=True):
                with suppress(OSError):  # somebody else's files are in it
                    folder.rmdir()
            with suppress(OSError):
                self.folder.rmdir()


def _plain_totals(states: Sequence[bytes]) -> list[Plain]:
    totals = (_decoded(state)[0]["total"] for state in states)
    return [total for total in totals if total is not None]


def _decoded(state: bytes) -> tuple[dict[str, Any], tuple[bytes, ...]]:
    name, values = codec.decode(state)
    if name != NAME:
        raise SummaryError(f"these are the bytes of a {name}; expected the state of a run")
    return json.loads(values["about"]), values["summaries"]
