"""A batch of tensors: what the host can see is checked at once, the values on their device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from calibrant.errors import InputError, shown
from calibrant.inputs.arrays import HEAVIEST, LIGHTEST, NEGLIGIBLE
from calibrant.inputs.probabilities import SUM_TOLERANCE
from calibrant.integrations.torch.faults import first_fault

if TYPE_CHECKING:
    from torch import Tensor

ROWS, PROBABILITIES = 1 << 20, 1 << 22  # taken at a time, so that float64 copies of them stay small
PRECISIONS = ("bfloat16", "float16", "float32", "float64")


class Rows(NamedTuple):
    """Rows on a device; those of weight 0 hold no number that could spoil a sum."""

    y: Tensor  # float64, 0 and 1; or int64, column numbers
    p: Tensor  # (n,) or (n, K), in the precision it came in
    w: Tensor  # float64


class Batch(NamedTuple):
    """Outcomes, predictions and weights (None: all 1) whose shapes and dtypes are legal."""

    y: Tensor
    prediction: Tensor
    weights: Tensor | None

    @property
    def columns(self) -> int:
        """The number of classes, or 1 for a 1-D prediction."""
        return 1 if self.prediction.ndim == 1 else int(self.prediction.shape[1])

    def to(self, device: Any) -> Batch:
        """Return the batch on this device."""
        return Batch(*(None if tensor is None else tensor.to(device) for tensor in self))

    def parts(self, number: int, pos_label: float | None) -> Iterator[tuple[Rows, Tensor]]:
        """Return some rows at a time and the first fault among them; nothing waits for the device."""
        size = max(1, min(ROWS, PROBABILITIES // self.columns))
        for start in range(0, len(self.prediction), size):
            part = Batch(*(None if tensor is None else tensor[start : start + size] for tensor in self))
            yield part._rows((number, start), pos_label)

    def _rows(self, place: tuple[int, int], pos_label: float | None) -> tuple[Rows, Tensor]:
        y, p = self.y.double(), self.prediction
        given = y.new_ones(len(y)) if self.weights is None else self.weights.double()
        w, weighed = (given, given > 0) if self.weights is None else _weights(given)
        live = w > 0
        within, total = _probabilities(p)
        outcome, known = _outcomes(y, live, self.columns, pos_label)
        fault = first_fault(~weighed | (live & ~(within & known)), place, (given, y, p, total))
        if self.weights is not None:  # 0 times nan is nan
            p = p.masked_fill(~(live if p.ndim == 1 else live[:, None]), 0)
            outcome = outcome.masked_fill(~live, 0)
        return Rows(outcome, p, w), fault


def read_batch(y: Any, prediction: Any, weights: Any) -> Batch:
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
        raise InputError(f"y must hold {wanted}; got values of type {_name(y)}")
    if weights is None:
        return Batch(y, P, None)
    w = _tensor("weights", weights)
    if w.shape != y.shape:
        raise InputError(f"weights must have one value per row: expected {len(P)} rows, got shape {tuple(w.shape)}")
    if w.dtype.is_complex or w.dtype is torch.bool:
        raise InputError(f"weights must be numbers; got values of type {_name(w)}")
    return Batch(y, P, w)


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


def _outcomes(y: Tensor, live: Tensor, K: int, pos_label: float | None) -> tuple[Tensor, Tensor]:
    """Return events, or column numbers; and which are legal."""
    if K > 1:
        legal = (y >= 0) & (y < K) & (y == y.floor())
        return y.masked_fill(~legal, 0).long(), legal
    if pos_label is None:
        return y, (y == 0) | (y == 1)
    event = y == pos_label
    first = y.gather(0, live.byte().argmax(0, keepdim=True))
    # One label alone may be a batch without events; two others are a misspelt label.
    return event.double(), ((event & live).any() | (y == first)) & ~y.isnan()
