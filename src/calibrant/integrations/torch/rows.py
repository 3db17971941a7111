"""Batches of tensors: shapes are checked at once, values on their device; the first bad value is kept for the error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from calibrant.errors import InputError, shown
from calibrant.inputs.arrays import HEAVIEST, LIGHTEST, NEGLIGIBLE
from calibrant.inputs.probabilities import SUM_TOLERANCE, read_probabilities

if TYPE_CHECKING:
    from torch import Tensor

ROWS, PROBABILITIES = 1 << 20, 1 << 22  # taken at a time: their float64 copies stay small
PRECISIONS = ("bfloat16", "float16", "float32", "float64")


class Rows(NamedTuple):
    """Rows on a device; those of weight 0 have no number that could spoil a sum."""

    y: Tensor  # float64, 0 and 1; or int64, column numbers
    p: Tensor  # (n,) or (n, K), in the precision it came in
    w: Tensor  # float64


class TensorBatch(NamedTuple):
    """Outcomes, predictions and weights (None: all 1) whose shapes and dtypes are legal."""

    y: Tensor
    prediction: Tensor
    weights: Tensor | None

    @property
    def columns(self) -> int:
        return 1 if self.prediction.ndim == 1 else int(self.prediction.shape[1])

    def to(self, device: Any) -> TensorBatch:
        return TensorBatch(*(None if tensor is None else tensor.to(device) for tensor in self))

    def parts(self, number: int, pos_label: float | None) -> Iterator[tuple[Rows, Tensor, Tensor]]:
        """Yield some rows at a time, the labels among them, and the first bad row; nothing waits for the device."""
        size = max(1, min(ROWS, PROBABILITIES // self.columns))
        for start in range(0, len(self.prediction), size):
            part = TensorBatch(*(None if tensor is None else tensor[start : start + size] for tensor in self))
            yield part._rows((number, start), pos_label)

    def _rows(self, place: tuple[int, int], pos_label: float | None) -> tuple[Rows, Tensor, Tensor]:
        y, p = self.y.double(), self.prediction
        given = y.new_ones(len(y)) if self.weights is None else self.weights.double()
        w, weighed = (given, given > 0) if self.weights is None else _weights(given)
        live = w > 0
        within, total = _probabilities(p)
        outcome, known = _outcomes(y, self.columns, pos_label)
        labels = _labels(y, live, pos_label)
        fault = first_fault(~weighed | (live & ~(within & known)), place, (given, y, p, total))
        if self.weights is not None:  # 0 times nan is nan
            p = p.masked_fill(~(live if p.ndim == 1 else live[:, None]), 0)
            outcome = outcome.masked_fill(~live, 0)
        return Rows(outcome, p, w), labels, fault


def read_batch(y: Any, prediction: Any, weights: Any) -> TensorBatch:
    """Return tensors apart from any graph, or refuse what shapes and dtypes show to be wrong."""
    import torch

    y, P = _tensor("y", y), _tensor("prediction", prediction)
    if P.ndim not in (1, 2) or (P.ndim == 2 and P.shape[1] < 2):
        remedy = "pass prediction.squeeze(1)" if P.ndim == 2 else "reshape it"
        raise InputError(
            "prediction must be 1-D (probability of the event) or (n, K) with K >= 2 columns (class probabilities); "
            f"got shape {tuple(P.shape)}; {remedy}"
        )
    if not P.dtype.is_floating_point and not P.dtype.is_complex and P.dtype is not torch.bool:
        P = P.double()
    if _name(P) not in PRECISIONS:
        raise InputError(f"prediction must be probabilities of type {', '.join(PRECISIONS)}; got {_name(P)}")
    if y.shape != P.shape[:1]:
        raise InputError(
            f"y must be 1-D, with one outcome for each of the {len(P)} rows of prediction; got shape {tuple(y.shape)}"
        )
    if y.dtype.is_complex or (y.dtype is torch.bool and P.ndim == 2 and P.shape[1] > 2):
        wanted = "0 and 1" if P.ndim == 1 else f"column numbers 0..{P.shape[1] - 1}"
        raise InputError(f"y must contain {wanted}; got values of type {_name(y)}")
    if weights is None:
        return TensorBatch(y, P, None)
    w = _tensor("weights", weights)
    if w.shape != y.shape:
        raise InputError(f"weights must have one value per row: expected {len(P)} rows, got shape {tuple(w.shape)}")
    if w.dtype.is_complex or w.dtype is torch.bool:
        raise InputError(f"weights must be numbers; got values of type {_name(w)}")
    return TensorBatch(y, P, w)


def _tensor(name: str, value: Any) -> Tensor:
    import torch

    if not isinstance(value, torch.Tensor):
        raise InputError(
            f"{name} must be a tensor; got {shown(value)} ({type(value).__name__}). "
            "StreamingMetric takes lists, arrays and frames"
        )
    if value.layout is not torch.strided:
        raise InputError(f"{name} must be a dense tensor; got {value.layout}; pass {name}.to_dense()")
    return value.detach()


def _name(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _weights(w: Tensor) -> tuple[Tensor, Tensor]:
    """Return weights, 0 for those that are illegal or too light to change a digit; and which are legal."""
    legal = w.isfinite() & (w >= 0)
    clean = w.masked_fill(~legal, 0)
    heaviest = clean.amax()
    within = ((heaviest >= LIGHTEST) & (heaviest <= HEAVIEST)) | (w < heaviest) | (w == 0)
    return clean.masked_fill(clean < NEGLIGIBLE * heaviest, 0), legal & within


def _probabilities(p: Tensor) -> tuple[Tensor, Tensor | None]:
    """Return which rows are legal, and the sums of class probabilities."""
    import torch

    within = (p >= 0) & (p <= 1)  # nan is neither
    if p.ndim == 1:
        return within, None
    total = p.sum(1, dtype=torch.float64)
    return within.all(1) & ((total - 1).abs() <= SUM_TOLERANCE), total


def _outcomes(y: Tensor, K: int, pos_label: float | None) -> tuple[Tensor, Tensor]:
    """Return events, or column numbers; and which are legal."""
    if K > 1:
        legal = (y >= 0) & (y < K) & (y == y.floor())
        return y.masked_fill(~legal, 0).long(), legal
    if pos_label is None:
        return y, (y == 0) | (y == 1)
    return (y == pos_label).double(), ~y.isnan()


def _labels(y: Tensor, live: Tensor, pos_label: float | None) -> Tensor:
    """Return whether the event was seen (1 or -inf), the largest other label and minus the smallest, -inf if none.

    A batch may be without the event. Where all batches are, two other labels tell that `pos_label` is misspelt.
    """
    import torch

    if pos_label is None:
        return y.new_full((3,), -torch.inf)
    event, other = live & (y == pos_label), live & (y != pos_label) & ~y.isnan()
    seen = torch.stack([torch.ones_like(y), y, -y])
    return seen.masked_fill(~torch.stack([event, other, other]), -torch.inf).amax(1)


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


def fault_error(fault: list[float], K: int, pos_label: float | None, where: str = "") -> InputError:
    batch, row = int(fault[1]), int(fault[2])
    return _problem(fault[3:], K, pos_label).within(
        "{where}batch {batch}: ",
        ". Values are checked on their device and reported when a result is asked for; call reset() and start again",
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
            "y must contain column numbers 0..{last} ({K} columns); {row} is {value}",
            last=K - 1,
            K=K,
            row=0,
            value=outcome,
        )
    try:
        read_probabilities([outcome], P if K == 1 else [P], weights=[w], pos_label=pos_label)
    except InputError as problem:
        return problem
    raise AssertionError("a row that is refused on a device is refused by the boundary too")
