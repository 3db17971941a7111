"""Bad values on a device: the first one is kept there, and told when a value is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant.errors import InputError
from calibrant.inputs.probabilities import SUM_TOLERANCE, read_probabilities

if TYPE_CHECKING:
    from torch import Tensor

FIELDS = 8
"""A fault is eight numbers: whether there is one; batch and row; what is in that row: the weight, the outcome, the
probability with its column (the first illegal one), and the sum of all probabilities."""


def first_fault(bad: Tensor, place: tuple[int, int], values: tuple[Tensor, Tensor, Tensor, Tensor | None]) -> Tensor:
    """Return the fault of the first bad row.

    `place` is the number of the batch and that of its first row here; `values` are weights, outcomes, probabilities
    and, for class probabilities, their sums.
    """
    import torch

    batch, start = place
    w, y, p, total = values
    row = bad.byte().argmax(0, keepdim=True)
    if total is None:
        shown = [p.gather(0, row), torch.zeros(2, device=row.device)]
    else:
        P = p.index_select(0, row)[0]
        column = (~((P >= 0) & (P <= 1))).byte().argmax(0, keepdim=True)
        shown = [P.gather(0, column), column, total.gather(0, row)]
    return torch.cat(
        [bad.gather(0, row), torch.full_like(row, batch), row + start, w.gather(0, row), y.gather(0, row), *shown]
    )


def refusal(fault: list[float], K: int, pos_label: float | None, where: str = "") -> InputError:
    """Return the error for a fault of predictions with K columns."""
    batch, row = int(fault[1]), int(fault[2])
    return _problem(fault[3:], K, pos_label).within(
        "{where}batch {batch}: ",
        ". Values are checked on their device and told when a result is asked for; call reset() and start again",
        row=row,
        where=where,
        batch=batch,
    )


def _problem(values: list[float], K: int, pos_label: float | None) -> InputError:
    """Return what is wrong with a row, called row 0: the words of the boundary, where tensors need no others."""
    w, y, p, column, total = values
    P = [1 / K] * K
    P[int(column)] = p
    outcome = int(y) if y.is_integer() else y
    fair = 0 <= w < float("inf") and 0 <= p <= 1
    if fair and K > 1:
        if not abs(total - 1) <= SUM_TOLERANCE:
            return InputError(
                "each row of prediction must sum to 1 within {within:g}; {row} sums to {total:.9g}. "
                "Take softmax in float32 or float64: logits.float().softmax(1)",
                within=SUM_TOLERANCE,
                row=0,
                total=total,
            )
        return InputError(
            "y must hold column numbers 0..{last} ({K} columns); {row} is {value}",
            last=K - 1,
            K=K,
            row=0,
            value=outcome,
        )
    try:
        read_probabilities([outcome], P if K == 1 else [P], weights=[w], pos_label=pos_label)
    except InputError as problem:
        return problem
    return InputError(
        "pos_label {label:g} is not among the labels of y, of which there are several; {row} is {value}",
        label=pos_label,
        row=0,
        value=outcome,
    )
