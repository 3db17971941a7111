"""A measurement of tensors that stay on their device, in one process or in many."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrant.core.bins import GRID_ORDER
from calibrant.core.catalogue import Entry, entries, find
from calibrant.core.grid import Grid
from calibrant.core.moments import Moments
from calibrant.core.ordered import Ordered
from calibrant.core.summary import Summary
from calibrant.errors import InputError, MissingExtraError, SummaryError, shown
from calibrant.inputs.probabilities import Binary, Classes
from calibrant.integrations.torch.rows import fault_error, read_batch
from calibrant.integrations.torch.sums import (
    SCORES,
    GridSums,
    ScoreSums,
    State,
    Sums,
    Whole,
    check_label,
    empty,
    of_rows,
    over_processes,
    read_device,
    read_state,
    together,
)

if TYPE_CHECKING:
    from torch import Tensor


class TorchMetric:
    """A verb over batches of tensors: `update`, `compute`, `reset`, as in torchmetrics, but outcomes come first.

    No row is kept: the state is a few float64 tensors of a fixed size (365 kB for binned errors, under 200 bytes for
    scores) on the device of the predictions, and `update` never waits for that device. If there is a process group
    of ``torch.distributed``, `compute` gives every process the value of the rows of all.

    Parameters
    ----------
    metric
        A verb or its name: `ece`, `mce`, `direction` (up to 100 width bins), `kuiper_test`, `kolmogorov_smirnov_test`
        (from a grid, with a stated rounding), `brier_score`, `log_score`, `spiegelhalter_test`. Others need more than
        sums: `StreamingMetric` serves them.
    pos_label
        The number in y that marks the event, for a 1-D prediction.
    device
        Where the sums are kept; batches are moved there. None for the device of the predictions.
    **options
        Options of the verb. Class probabilities (n, K) are judged by ``notion="confidence"``, the default.

    Examples
    --------
    >>> import torch
    >>> metric = TorchMetric("ece", bins=2)
    >>> for y, p in [([0, 1], [0.25, 0.5]), ([1, 1], [0.75, 0.5])]:
    ...     metric.update(torch.tensor(y), torch.tensor(p))
    >>> metric
    TorchMetric('ece', n=4)
    >>> metric.compute()  # (0, 0.5]: mean 1.25/3, two of three happened; (0.5, 1]: 0.75, one of one
    0.25
    """

    def __init__(self, metric: Any = "ece", *, pos_label: Any = None, device: Any = None, **options: Any) -> None:
        try:
            import torch  # noqa: F401
        except ImportError:
            raise MissingExtraError("TorchMetric", extra="torch") from None
        if "classes" in options:
            raise InputError("TorchMetric takes no classes=; y contains column numbers, or 0 and 1, or pos_label=")
        if not (pos_label is None or isinstance(pos_label, Real)):
            raise InputError(f"pos_label must be a number, as tensors contain no text; got {shown(pos_label)}")
        entry = find(metric)
        self._name = entry.name  # an entry itself cannot be pickled
        entry.parse(options)  # refuses what is wrong
        self._options = {**entry.defaults, **options}
        self._pos_label: float | None = None if pos_label is None else float(pos_label)
        self._device = read_device(device)
        self._sums = {0: self._first_sums(entry)}  # by the number of columns, 0 while it is not known
        self._state: State | None = None
        self._columns = self._batches = 0

    def update(self, y: Tensor, prediction: Tensor, weights: Tensor | None = None) -> None:
        """Add a batch, which may be empty; `torch.compile` leaves this method as it is."""
        import torch

        if torch.compiler.is_compiling():
            torch.compiler.disable(self._update)(y, prediction, weights)
        else:
            self._update(y, prediction, weights)

    def _update(self, y: Tensor, prediction: Tensor, weights: Tensor | None) -> None:
        import torch

        batch = read_batch(y, prediction, weights)
        K = batch.columns
        self._check_columns(K)
        if K > 1 and self._pos_label is not None:
            raise InputError("pos_label= belongs to a 1-D prediction; for (n, K) y contains column numbers")
        sums = self._sums_for(K)
        with torch.inference_mode(False), torch.no_grad():  # what is made in inference mode cannot be used outside
            device = self._device or prediction.device
            state = empty(sums, device) if self._state is None else self._state.to(device)
            for rows, labels, fault in batch.to(device).parts(self._batches, self._pos_label):
                state = together(sums, state, of_rows(sums, rows, labels, fault))
        self._state, self._columns, self._batches = state, K, self._batches + 1

    def compute(self, group: Any = None) -> Any:
        """Return what the verb returns for all rows so far.

        Parameters
        ----------
        group
            The process group whose rows are put together; None for the default one, of all processes.
        """
        return find(self._name).of_summary(self.sync(group), find(self._name).parse(self._options))

    def sync(self, group: Any = None) -> Summary:
        """Return the summary of the rows of all processes; the state of this one does not change."""
        import torch.distributed as dist

        if not (dist.is_available() and dist.is_initialized()):
            return self.summary
        whole = over_processes(self._sums_for(self._columns), self._local(), self._columns, group)
        return self._summary(whole, f"rank {whole.rank}, ")

    @property
    def summary(self) -> Summary:
        """The summary of the rows of this process, for other verbs that read it."""
        return self._summary(Whole(self._local(), self._columns, self._columns, 0))

    @property
    def n(self) -> int:
        """Number of rows of this process so far."""
        return self._sums_for(self._columns).count(self._local().sums)

    def reset(self) -> None:
        """Forget all rows."""
        self._state = None
        self._columns = self._batches = 0

    def merge(self, other: TorchMetric) -> None:
        """Add all rows of another metric of this process."""
        if not isinstance(other, TorchMetric):
            raise InputError(f"a TorchMetric takes in another one; got {shown(other)} ({type(other).__name__})")
        check_label(self._sums[0].label, other._sums[0].label)
        if other._state is not None:
            self._check_columns(other._columns)
            mine = self._state or empty(other._sums[0], self._device or other._state.sums.device)
            self._state = together(self._sums_for(other._columns), mine, other._state.to(mine.sums.device))
            self._columns = other._columns

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the rows of this process, for ``torch.save``."""
        tensors = {name: tensor.clone() for name, tensor in self._local()._asdict().items()}
        return {"holds": self._sums[0].label, "columns": self._columns, "batches": self._batches, **tensors}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`, forgetting all rows so far."""
        loaded, columns, batches = read_state(state, self.state_dict())
        self._sums_for(columns)  # refuses columns that the verb does not serve
        self._state = loaded if self._device is None else loaded.to(self._device)
        self._columns, self._batches = columns, batches

    def to(self, device: Any) -> Self:
        """Move the sums to a device, and later batches with them."""
        if device is None:
            raise InputError("device must be one that torch knows, such as 'cpu' or 'cuda:0'; got None")
        self._device = read_device(device)
        self._state = None if self._state is None else self._state.to(self._device)
        return self

    def __repr__(self) -> str:
        return f"TorchMetric({self._name!r}, n={self.n})"

    def _first_sums(self, entry: Entry[Any, Any]) -> Sums:
        """Return the sums for the first kind of prediction that these options allow."""
        try:
            return sums_for(entry, self._options, 1)
        except InputError:
            if "classes" not in entry.predictions:
                raise
            return sums_for(entry, self._options, 2)

    def _local(self) -> State:
        return self._state or empty(self._sums[0], self._device or "cpu")

    def _sums_for(self, K: int) -> Sums:
        if K not in self._sums:
            self._sums[K] = sums_for(find(self._name), self._options, K)
        return self._sums[K]

    def _summary(self, whole: Whole, where: str = "") -> Summary:
        sums, spread, weight_max, (event, largest, smallest), fault = whole.state.to("cpu")
        if fault[0] > 0:
            raise fault_error(fault.tolist(), whole.most, self._pos_label, where)
        if whole.most != whole.fewest:
            got = f"{whole.fewest} and {whole.most} columns"
            raise InputError(f"all processes must give predictions of one kind; got {got}")
        if not event > 0 and largest > -smallest:
            labels = f"{-float(smallest):g}, {float(largest):g}"
            raise InputError(f"pos_label {self._pos_label:g} is not among the labels of y, which has {labels}")
        return self._sums_for(whole.most).summary(sums, spread, float(weight_max))

    def _check_columns(self, K: int) -> None:
        if self._columns not in (0, K):
            words = f"prediction has {K} columns (1: a 1-D tensor), that of earlier batches {self._columns}"
            raise InputError(f"{words}; use one TorchMetric for each kind of prediction")


def sums_for(entry: Entry[Any, Any], options: Mapping[str, Any], K: int) -> Sums:
    """Return the sums that serve a verb with these options for K classes, or one probability per row if K is 1.

    The verb is tried on a few rows, so that it raises its own errors.
    """
    if Grid not in entry.reads and entry.name not in SCORES:
        raise _unsupported(entry, {})
    few = (np.zeros(4, int), np.full((4, K), 1 / K)) if K > 1 else (np.arange(200) % 4 == 0, np.full(200, 0.25))
    rows = entry.read(*few)
    without_redraws = {"null": "asymptotic"} if options.get("null") == "auto" else {}
    summary = entry.summarise(rows, entry.parse({**options, **without_redraws}))
    if isinstance(summary, Moments):
        entry.finish(summary, entry.parse(options))
        return ScoreSums(entry.name, options, summary.names)
    if Grid not in entry.reads or not isinstance(summary, (Grid, Ordered)):
        raise _unsupported(entry, options)
    assert isinstance(rows, (Binary, Classes))
    try:
        entry.finish(Grid.of(rows.pairs()), entry.parse(options))
    except SummaryError:
        raise _unsupported(entry, options) from None
    return GridSums()


def _unsupported(entry: Entry[Any, Any], options: Mapping[str, Any]) -> InputError:
    changed = {name: value for name, value in options.items() if value != entry.defaults[name]}
    words = ", ".join([repr(entry.name), *(f"{name}={shown(value)}" for name, value in changed.items())])
    served = ", ".join(sorted(name for name, other in entries().items() if Grid in other.reads or name in SCORES))
    return InputError(
        f"{words} needs more than the sums of a fixed size that TorchMetric keeps; use StreamingMetric({words}). "
        f"TorchMetric serves {served}, with up to {GRID_ORDER} width bins"
    )
