"""Which columns hold the draws of the outcome, or of each of its coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from calibrant.cli.list_columns import depth
from calibrant.cli.messages import tell
from calibrant.cli.options import Request
from calibrant.cli.patterns import each_once, matching, pairs, wild_parts
from calibrant.errors import InputError, listing, shown

if TYPE_CHECKING:
    import polars as pl

Named = tuple[tuple[str, ...], list[tuple[str, tuple[str, ...]]]]
"""The columns of the outcome, and those of the prediction with the option that names them."""


def named_draws(names: Sequence[str], path: Path, request: Request, lists: Mapping[str, pl.DataType]) -> Named:
    """Return the columns that --y, --draws and --draw-cols name, which fit together."""
    known = list(dict.fromkeys((*lists, *names)))
    flat = [name for name in names if name not in lists]
    y = matching(str(request.y), known, path, option="--y", among=flat)
    if request.draw_cols is not None:
        found = matching(request.draw_cols, names, path, option="--draw-cols", among=flat)
        if len(y) > 1 or y[0] in lists:
            raise InputError(
                f"--draw-cols names the draws of one number, and --y {shown(request.y)} is a vector; "
                "name lists of draws with --draws, one for each column of --y"
            )
        return y, [(f"--draw-cols {shown(request.draw_cols)}", each_once(found, "--draw-cols"))]
    draws = matching(str(request.draws), known, path, option="--draws", among=lists)
    for name in draws:
        if name not in lists:
            raise InputError(
                f"column {shown(name)} of {path} (--draws) holds no lists; --draws names lists of numbers, the draws "
                "of each row, and --draw-cols a column for each draw. CSV holds no lists: use Parquet, NDJSON or NPZ"
            )
    _check_vectors(each_once(y, "--y"), each_once(draws, "--draws"), request, lists)
    return y, [("--draws", draws)]


def _check_vectors(
    y: tuple[str, ...], draws: tuple[str, ...], request: Request, lists: Mapping[str, pl.DataType]
) -> None:
    """Refuse outcomes and draws of different numbers of coordinates, as far as the names and types tell."""
    drawn, outcome = ([depth(lists[name]) if name in lists else 0 for name in names] for names in (draws, y))
    side_by_side = set(drawn) == {1} and set(outcome) == {0} and len(y) == len(draws)
    whole = drawn == [2] and (set(outcome) == {0} or outcome == [1])  # one column holds the draws of all coordinates
    if not (side_by_side or whole):
        raise InputError(
            f"--y names {_described(y, lists)} and --draws {_described(draws, lists)}; name one list of draws for each "
            "number of the outcome, such as --y a,b --draws draws_of_a,draws_of_b"
        )
    if len(draws) > 1:
        _check_order(y, draws, request)


def _described(names: tuple[str, ...], lists: Mapping[str, pl.DataType]) -> str:
    kinds = ("numbers", "lists", "lists of lists")
    held = {kinds[min(2, depth(lists[name]))] if name in lists else "numbers" for name in names}
    return f"{len(names)} column{'s' * (len(names) > 1)} of {' and '.join(sorted(held))} ({listing(names, most=6)})"


def _check_order(y: tuple[str, ...], draws: tuple[str, ...], request: Request) -> None:
    """Say which draws belong to which coordinate, and refuse an order that the names contradict."""
    own, other = wild_parts(y, str(request.y)), wild_parts(draws, str(request.draws))
    if own == other:
        return
    if sorted(own) == sorted(other):
        raise InputError(
            f"the columns are paired in their order, {pairs(y, draws)}, and their names say otherwise; "
            "give --y and --draws in the same order, with commas between"
        )
    tell("draws: " + ", ".join(f"{b} are of {a}" for a, b in zip(y, draws, strict=True)))
