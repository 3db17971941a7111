"""What is known of the rows: tensors of a fixed size; of two states, or of many processes, put together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from calibrant.errors import InputError
from calibrant.integrations.torch.faults import FIELDS
from calibrant.integrations.torch.rows import Rows
from calibrant.integrations.torch.sums import ScoreSums, Sums

if TYPE_CHECKING:
    from torch import Tensor


class State(NamedTuple):
    """Float64 tensors on one device."""

    sums: Tensor  # they add up
    spread: Tensor  # (scores,): adds up when taken around a common centre
    weight_max: Tensor  # (1,): the larger stays
    fault: Tensor  # the first stays

    def to(self, device: Any) -> State:
        """Return the state on this device."""
        return State(*(tensor.to(device) for tensor in self))


class Whole(NamedTuple):
    """The state of all processes; the most and the fewest columns of their predictions; whose fault it holds."""

    state: State
    most: int
    fewest: int
    rank: int


def empty(sums: Sums, device: Any) -> State:
    """Return the state of no rows."""
    import torch

    shapes = (sums.shape, (sums.scores,), (1,), (FIELDS,))
    try:
        return State(*(torch.zeros(shape, dtype=torch.float64, device=device) for shape in shapes))
    except TypeError as problem:  # of Apple's GPUs
        raise InputError(
            f"sums are kept in float64, but {problem}. TorchMetric(..., device='cpu') keeps them on the host"
        ) from None


def of_rows(sums: Sums, rows: Rows, fault: Tensor) -> State:
    """Return the state of these rows."""
    return State(*sums.of(rows), rows.w.amax(0, keepdim=True), fault)


def together(sums: Sums, a: State, b: State) -> State:
    """Return the state of the rows of both."""
    total = a.sums + b.sums
    return State(
        total,
        _spread(sums, a, total) + _spread(sums, b, total),
        a.weight_max.maximum(b.weight_max),
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
    extremes = torch.cat([mine.weight_max, mine.fault[:1], mine.sums.new_tensor(bounds)])
    dist.all_reduce(extremes, dist.ReduceOp.MAX, group=group)
    most, fewest = int(extremes[2]), -int(extremes[3]) if extremes[2] else 0
    if not extremes[1] > 0:
        return Whole(State(total, spread, extremes[:1], mine.fault), most, fewest, 0)
    faults = [torch.empty_like(mine.fault) for _ in range(dist.get_world_size(group))]
    dist.all_gather(faults, mine.fault, group=group)  # every process does, as all have the same extremes
    rank = next(rank for rank, fault in enumerate(faults) if fault[0] > 0)
    return Whole(State(total, spread, extremes[:1], faults[rank]), most, fewest, rank)


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
