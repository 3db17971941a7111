"""What comes from outside, a device or the state of another run, before it is believed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from calibrant.errors import InputError, SummaryError, shown
from calibrant.integrations.torch.state import State
from calibrant.integrations.torch.sums import CellSums, Sums

if TYPE_CHECKING:
    from torch import Tensor

MOST_COLUMNS = 1 << 24
AGAIN = "Load what state_dict() returned"


def read_device(device: Any) -> Any:
    """Return a device of this machine; None stays None."""
    import torch

    if device is None:
        return None
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError, ValueError):
        raise InputError(
            f"device must be one that torch knows, such as 'cpu' or 'cuda:0'; got {shown(device)}"
        ) from None
    if found.type in ("cuda", "mps", "xpu"):
        backend = torch.get_device_module(found.type)
        count = backend.device_count() if found.type == "mps" or backend.is_available() else 0
        if (found.index or 0) >= count:
            raise InputError(
                f"device {shown(str(found))} is not there: torch sees {count} of type {found.type!r} here. "
                "Pass device='cpu', or None for that of the predictions"
            )
    return found


def read_state(state: Any, wanted: Mapping[str, Any], sums: Sums) -> tuple[State, int, int]:
    """Return the tensors, the number of columns and that of batches; refuse what no TorchMetric has written."""
    if not isinstance(state, Mapping) or set(state) != set(wanted):
        got = ", ".join(map(str, state)) if isinstance(state, Mapping) else shown(state)
        raise SummaryError(f"the state of a TorchMetric has {', '.join(wanted)}; got {got}")
    if state["holds"] != wanted["holds"]:
        raise SummaryError(f"this TorchMetric keeps the sums of {wanted['holds']}; got those of {state['holds']}")
    columns, batches = (_count(state, name) for name in ("columns", "batches"))
    for name in State._fields:
        _check_tensor(state[name], name)
    loaded = State(*(state[name].detach().clone() for name in State._fields))
    if any(tensor.shape != wanted[name].shape for name, tensor in loaded._asdict().items()):
        shapes = [tuple(tensor.shape) for tensor in loaded]
        raise SummaryError(f"this is not the state of a TorchMetric: its tensors have shapes {shapes}")
    if loaded.sums.device.type != "meta":  # where tensors have no values
        _check_values(loaded.to("cpu"), columns, sums)
    return loaded, columns, batches


def _count(state: Mapping[str, Any], name: str) -> int:
    value = state[name]
    if type(value) is not int or not 0 <= value <= (MOST_COLUMNS if name == "columns" else 1 << 62):
        raise SummaryError(f"{name} of a state must be a whole number, 0 or more; got {shown(value)}. {AGAIN}")
    return value


def _check_tensor(value: Any, name: str) -> None:
    import torch

    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
        raise SummaryError(f"{name} of a state must be a dense tensor; got {shown(value)}. {AGAIN}")
    if value.dtype is not torch.float64:
        raise SummaryError(f"{name} of a state must be of type float64; got {str(value.dtype)[6:]}. {AGAIN}")


def _check_values(state: State, columns: int, sums: Sums) -> None:
    """Refuse sums that no rows have; where a bad row is remembered, the sums are of no consequence."""
    flag = float(state.fault[0])
    if flag not in (0.0, 1.0):
        raise SummaryError(f"fault of a state must begin with 0 or 1; got {flag:g}. {AGAIN}")
    if flag:
        _check_fault(state.fault)
        return
    parts = {"sums": state.sums, "spread": state.spread, "weight_max": state.weight_max}
    for name, tensor in parts.items():
        if not bool(tensor.isfinite().all()):
            raise SummaryError(f"{name} of a state must be finite; got {_first(tensor, ~tensor.isfinite())}. {AGAIN}")
    counts, weights, positive = _signed(state.sums, sums)
    for name, tensor in {"sums": positive, "spread": state.spread, "weight_max": state.weight_max}.items():
        if bool((tensor < 0).any()):
            raise SummaryError(f"{name} of a state must not be negative; got {_first(tensor, tensor < 0)}. {AGAIN}")
    if bool((counts != counts.floor()).any()):
        raise SummaryError(f"counts of a state must be whole; got {_first(counts, counts != counts.floor())}. {AGAIN}")
    if bool(((counts > 0) != (weights > 0)).any()):
        raise SummaryError(f"a state must have weight exactly where it has rows. {AGAIN}")
    n, heaviest = float(counts.sum()), float(state.weight_max)
    if (n > 0) != (heaviest > 0) or (n > 0 and columns == 0):
        raise SummaryError(
            f"a state of {n:g} rows cannot have {columns} columns and {heaviest:g} as its largest weight. {AGAIN}"
        )


def _check_fault(fault: Tensor) -> None:
    batch, row, column = (float(fault[k]) for k in (1, 2, 6))
    if not all(value >= 0 and value.is_integer() for value in (batch, row, column)):
        raise SummaryError(f"fault of a state must name a batch, a row and a column; got {fault.tolist()}. {AGAIN}")


def _signed(values: Tensor, sums: Sums) -> tuple[Tensor, Tensor, Tensor]:
    """Return counts of rows, their weights, and all that cannot be negative."""
    if isinstance(sums, CellSums):
        return values[0], values[sums.order.index("w")], values
    s = sums.scores
    return values[:1], values[1:2], values[[0, 1, *range(2 + s, 3 + 2 * s)]]  # not the sums of scores


def _first(tensor: Tensor, bad: Tensor) -> str:
    return f"{float(tensor[bad][0]):g}"
