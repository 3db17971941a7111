"""Sums over rows on a device, from which summaries are made; states that merge, also across processes, and load."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from calibrant.core.bins import COLUMNS, grid_uppers
from calibrant.core.grid import CELLS, Grid
from calibrant.core.moments import Moments
from calibrant.errors import InputError, SummaryError, shown
from calibrant.integrations.torch.rows import FIELDS, Rows
from calibrant.probabilities.spiegelhalter_test import row_terms
from calibrant.scores.brier_and_log import log_score_limits, squared_distance

if TYPE_CHECKING:
    from torch import Tensor

Scores = tuple["Tensor", ...]


def _brier_score(rows: Rows, *, half: bool) -> Scores:
    import torch

    P = rows.p.double()
    outcome = rows.y if P.ndim == 1 else torch.nn.functional.one_hot(rows.y, P.shape[1])
    score = squared_distance(outcome, P)
    return (score / 2 if half else score,)


def _log_score(rows: Rows, *, clip: Any) -> Scores:
    P = rows.p.double()
    happened = P.log().where(rows.y == 1, (-P).log1p()) if P.ndim == 1 else P.gather(1, rows.y[:, None])[:, 0].log()
    return ((-happened).clamp(*((0.0, math.inf) if clip is None else log_score_limits(clip))),)


def _spiegelhalter_test(rows: Rows, **_: Any) -> Scores:
    return row_terms(rows.y, rows.p.double(), rows.w)


SCORES: dict[str, Callable[..., Scores]] = {
    "brier_score": _brier_score,
    "log_score": _log_score,
    "spiegelhalter_test": _spiegelhalter_test,
}


@dataclass(frozen=True)
class GridSums:
    """The sums of a `Grid`, which need no spread."""

    order: ClassVar[tuple[str, ...]] = ("n", "wp", "w", "wy", "wv", "wr2", "w2", "w2y", "w2v", "w2r2", "w2v2")
    label: ClassVar[str] = "a Grid"
    shape: ClassVar[tuple[int, ...]] = (len(order), CELLS)
    scores: ClassVar[int] = 0

    def of(self, rows: Rows) -> tuple[Tensor, Tensor]:
        import torch

        y, p, w = rows if rows.p.ndim == 1 else _top_label(rows)
        q = p.double().contiguous()
        cell = torch.bucketize(q, _uppers(p.dtype, p.device)).clamp_(max=CELLS - 1)  # a bad score has a cell too
        r = y - q
        weighted = w * torch.stack([q, torch.ones_like(q), y, q * (1 - q), r * r])
        columns = torch.cat([(w > 0)[None], weighted, w * weighted[1:], weighted[3:4] ** 2])
        return w.new_zeros(self.shape).index_add_(1, cell, columns), w.new_zeros(0)

    def count(self, sums: Tensor) -> int:
        return int(sums[0].sum())

    def summary(self, sums: Tensor, spread: Tensor, weight_max: float) -> Grid:
        return Grid(sums.numpy()[[self.order.index(name) for name in COLUMNS]], weight_max)


@dataclass(frozen=True)
class ScoreSums:
    """The sums of `Moments`: n, then Σw, Σws and the weight of infinite s, then Σw² and Σw²s, of each score s.

    The spread is Σw²(s - m)² around the mean m of s under w².
    """

    verb: str
    options: Mapping[str, Any]
    names: tuple[str, ...]

    @property
    def label(self) -> str:
        """What is summed, whatever the number of classes."""
        return ", ".join(name.partition("[")[0] for name in self.names)

    @property
    def scores(self) -> int:
        return len(self.names)

    @property
    def shape(self) -> tuple[int, ...]:
        return (3 + 3 * self.scores,)

    def of(self, rows: Rows) -> tuple[Tensor, Tensor]:
        import torch

        s = torch.stack(SCORES[self.verb](rows, **self.options))  # (scores, n)
        infinite = s.isinf()
        s, w = s.masked_fill(infinite, 0), rows.w
        weighted = w * torch.cat([torch.ones_like(w)[None], s, infinite])
        sums = torch.cat([(w > 0)[None], weighted, w * weighted[: 1 + self.scores]]).sum(1)
        step = w * (s - self.second(sums)[1][:, None])
        return sums, (step * step).sum(1)

    def second(self, sums: Tensor) -> tuple[Tensor, Tensor]:
        """Return Σw² and the means under w², 0 of no rows."""
        w2, w2s = sums[-1 - self.scores], sums[-self.scores :]
        return w2, w2s / w2.clamp(min=np.finfo(np.float64).tiny)

    def count(self, sums: Tensor) -> int:
        return int(sums[0])

    def summary(self, sums: Tensor, spread: Tensor, weight_max: float) -> Moments:
        n, w = sums[:2].tolist()
        if n == 0:
            return Moments.zero()
        ws, infinite = sums[2 : 2 + 2 * self.scores].reshape(2, -1).numpy()
        w2, mean2 = self.second(sums)
        return Moments(self.names, int(n), w, float(w2), weight_max, ws / w, mean2.numpy(), spread.numpy(), infinite)


Sums = GridSums | ScoreSums


def _top_label(rows: Rows) -> Rows:
    """Return whether the most probable class (the first of tied ones) came true, and its probability."""
    top = rows.p.argmax(1)
    return Rows((top == rows.y).double(), rows.p.gather(1, top[:, None])[:, 0], rows.w)


@cache
def _uppers(dtype: Any, device: Any) -> Tensor:
    """Return the upper edges of the cells as scores of this dtype see them."""
    import torch

    name = "float32" if dtype is torch.bfloat16 else str(dtype).removeprefix("torch.")  # as the verbs read it
    edges = torch.from_numpy(grid_uppers(name).copy())
    return edges.to(device)


class State(NamedTuple):
    """Float64 tensors on one device."""

    sums: Tensor  # they add up
    spread: Tensor  # (scores,): adds up when taken around a common centre
    weight_max: Tensor  # (1,): the larger stays
    labels: Tensor  # (3,): whether an event was seen, the largest other label, minus the smallest; the larger stays
    fault: Tensor  # the first stays

    def to(self, device: Any) -> State:
        return State(*(tensor.to(device) for tensor in self))


class Whole(NamedTuple):
    """The state of all processes; the most and the fewest columns of their predictions; the rank with the fault."""

    state: State
    most: int
    fewest: int
    rank: int


def empty(sums: Sums, device: Any) -> State:
    import torch

    shapes = (sums.shape, (sums.scores,), (1,), (3,), (FIELDS,))
    try:
        found = State(*(torch.zeros(shape, dtype=torch.float64, device=device) for shape in shapes))
        return found._replace(labels=found.labels.fill_(-torch.inf))
    except TypeError as problem:  # of Apple's GPUs
        raise InputError(
            f"sums are kept in float64, but {problem}. TorchMetric(..., device='cpu') keeps them on the host"
        ) from None


def of_rows(sums: Sums, rows: Rows, labels: Tensor, fault: Tensor) -> State:
    return State(*sums.of(rows), rows.w.amax(0, keepdim=True), labels, fault)


def together(sums: Sums, a: State, b: State) -> State:
    total = a.sums + b.sums
    return State(
        total,
        _spread(sums, a, total) + _spread(sums, b, total),
        a.weight_max.maximum(b.weight_max),
        a.labels.maximum(b.labels),
        a.fault.where(a.fault[:1] > 0, b.fault),
    )


def over_processes(sums: Sums, state: State, columns: int, group: Any) -> Whole:
    """Return the state of the rows of all processes of a group, each of which has to call this."""
    import torch
    import torch.distributed as dist

    mine = state.to(_device_of(group))
    total = mine.sums.clone()
    dist.all_reduce(total, dist.ReduceOp.SUM, group=group)
    spread = _spread(sums, mine, total).clone()
    if sums.scores:
        dist.all_reduce(spread, dist.ReduceOp.SUM, group=group)
    bounds = [columns, -columns] if columns else [0, -torch.inf]
    extremes = torch.cat([mine.weight_max, mine.fault[:1], mine.sums.new_tensor(bounds), mine.labels])
    dist.all_reduce(extremes, dist.ReduceOp.MAX, group=group)
    most, fewest = int(extremes[2]), -int(extremes[3]) if extremes[2] else 0
    if not extremes[1] > 0:
        return Whole(State(total, spread, extremes[:1], extremes[4:], mine.fault), most, fewest, 0)
    faults = [torch.empty_like(mine.fault) for _ in range(dist.get_world_size(group))]
    dist.all_gather(faults, mine.fault, group=group)  # every process does, as all have the same extremes
    rank = next(rank for rank, fault in enumerate(faults) if fault[0] > 0)
    return Whole(State(total, spread, extremes[:1], extremes[4:], faults[rank]), most, fewest, rank)


def _spread(sums: Sums, part: State, total: Tensor) -> Tensor:
    """Return the spread of a part around the centre m of all rows: Σw²(s - m)² = spread + Σw² (centre - m)²."""
    if not isinstance(sums, ScoreSums):
        return part.spread
    w2, centre = sums.second(part.sums)
    step = centre - sums.second(total)[1]
    return part.spread + w2 * step * step


def _device_of(group: Any) -> Any:
    """Return a device on which every process of the group can reduce: the host if it can."""
    import torch
    import torch.distributed as dist

    kinds = [pair.partition(":")[0] for pair in dist.get_backend_config(group).split(",")]
    return torch.device("cpu" if "cpu" in kinds else kinds[0])


def read_device(device: Any) -> Any:
    """Return a device that torch knows; None stays None."""
    import torch

    if device is None:
        return None
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError, ValueError):
        raise InputError(
            f"device must be one that torch knows, such as 'cpu' or 'cuda:0'; got {shown(device)}"
        ) from None
    count = getattr(getattr(torch, found.type, None), "device_count", None)
    if count is not None and found.type != "cpu" and (found.index or 0) >= count():
        raise InputError(
            f"device must be one that is there; got {shown(device)}, and torch finds {count()} devices of type "
            f"{found.type}. Pass another device, or None for that of the predictions"
        )
    return found


LIMITS = {"columns": 1 << 24, "batches": 1 << 62}  # of the counts in a state
LOAD_AGAIN = "Load what state_dict() returned"


def read_state(state: Any, wanted: Mapping[str, Any]) -> tuple[State, int, int]:
    """Return the tensors, the number of columns and that of batches; refuse the state of anything else."""
    if not isinstance(state, Mapping) or set(state) != set(wanted):
        got = ", ".join(map(str, state)) if isinstance(state, Mapping) else shown(state)
        raise SummaryError(f"the state of a TorchMetric has {', '.join(wanted)}; got {got}")
    check_label(wanted["holds"], state["holds"])
    for name, limit in LIMITS.items():
        if type(state[name]) is not int or not 0 <= state[name] <= limit:
            got = shown(state[name])
            raise SummaryError(f"{name} of a state must be a whole number, 0 or more; got {got}. {LOAD_AGAIN}")
    loaded = State(*(_read_tensor(name, state[name], wanted[name]) for name in State._fields))
    if state["columns"] == 0 and loaded.weight_max > 0:
        raise SummaryError(f"a state with rows cannot have 0 columns. {LOAD_AGAIN}")
    return loaded, state["columns"], state["batches"]


def _read_tensor(name: str, value: Any, wanted: Tensor) -> Tensor:
    import torch

    is_dense = isinstance(value, torch.Tensor) and value.layout is torch.strided
    if not is_dense or value.dtype is not torch.float64 or value.shape != wanted.shape:
        got = f"{value.dtype} of shape {tuple(value.shape)}" if is_dense else shown(value)
        raise SummaryError(
            f"{name} of a state must be a dense tensor of type float64 and shape {tuple(wanted.shape)}; got {got}. "
            f"{LOAD_AGAIN}"
        )
    return value.detach().clone()


def check_label(label: str, other: str) -> None:
    if label != other:
        raise SummaryError(f"this TorchMetric keeps the sums of {label}; got those of {other}")
