"""Wrong calls: the names and values that other packages use, and the call that was meant."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, NamedTuple, ParamSpec, TypeVar, Union, get_args, get_origin

import numpy as np

from calibrant.core.words import listed
from calibrant.errors import CallError, InputError, closest, shown
from calibrant.inputs.options import check_choice

P = ParamSpec("P")
R = TypeVar("R")

LOOKALIKES = {
    "sample_weight": "weights",
    "n_bins": "bins",
    "num_bins": "bins",
    "labels": "classes",
    "y_true": "y",
    "y_test": "y",
    "target": "y",
    "targets": "y",
    "y_pred": "prediction",
    "y_prob": "prediction",
    "y_score": "prediction",
    "y_proba": "prediction",
    "y_hat": "prediction",
    "preds": "prediction",
    "probs": "prediction",
    "probabilities": "prediction",
    "p": "prediction",
    "prediction": "predictions",
    "predictions": "points",
    "alpha": "level",
    "confidence": "level",
    "confidence_level": "level",
    "random_state": "rng",
    "seed": "rng",
    "n_boot": "resamples",
    "n_bootstrap": "resamples",
    "n_permutations": "resamples",
    "tol": "tolerance",
    "margin": "tolerance",
    "by": "groups",
    "sensitive_features": "groups",
    "metrics": "metric",
    "metric": "verbs",
    "n_calib": "calibration_size",
    "cal_size": "calibration_size",
    "cv": "folds",
    "n_splits": "folds",
}
"""What other packages or other verbs call an option, and its name here; a name that a verb lacks too leads further.

Those of the command line are in `cli/group.py`.
"""

VALUES = {
    ("strategy", "quantile"): "Did you mean 'mass'?",
    ("strategy", "uniform"): "Did you mean 'width'?",
    ("multiplicity", "exchange"): "That is a test: ranking.rank_exchange_test(y, samples)",
    ("null", "asymptotic"): "The limit is not offered here: it rejects calibrated predictions too often",
}
"""What to do instead of a choice that an option does not have, by option and value."""

POINTERS = {
    ("audit", "bins"): "It chooses its bins itself; ece and reliability_curve take bins=",
    ("coverage_test", "method"): (
        "Each test has its own verb: coverage_test is the exact binomial test, with groups= the test of groups; "
        "in regions: kupiec_test; christoffersen_test (independence, conditional coverage); multinomial_coverage_test "
        "(several levels at once); coverage_hsic_test (dependence on size)"
    ),
    ("equivalence_test", "level"): "Compare its p-value with the error rate that you accept",
    ("pit", "draw_weights"): "Pass pit(y, Samples(draws, draw_weights=...))",
    ("power", "power"): "The power that is aimed at is target=, 0.8 by default",
    ("power", "n"): "The rows are those of the prediction; .rows of the result is the number that it takes",
    ("power", "relative"): "error= and tolerance= are differences of probabilities: multiply a share by the mean",
    ("to_html", "title"): "The audit takes the heading: audit(y, prediction, names={'title': '...'}).to_html(path)",
}
"""What to do instead of an option that a verb does not have, by verb and option."""

EXAMPLES = {
    "metric": "ece",
    "verbs": "[ece, mce]",
    "tolerance": "0.02",
    "predictions": "{'a': p, 'b': q}",
    "n": "200",
    "draws": "99",
}
"""An argument that works, for parameters whose name does not show what they take."""


class Known(NamedTuple):
    """What a function takes: names of all parameters, of those that can be given by position, of those it needs."""

    verb: str
    names: tuple[str, ...]
    positional: tuple[str, ...]
    needed: tuple[str, ...]

    @classmethod
    def of(cls, verb: Callable[..., Any]) -> Known:
        every = inspect.signature(verb).parameters.values()
        named = [each for each in every if each.kind is not each.VAR_KEYWORD and each.name != "self"]
        return cls(
            verb.__name__,
            tuple(each.name for each in named),
            tuple(each.name for each in named if each.kind is not each.KEYWORD_ONLY),
            tuple(each.name for each in named if each.default is each.empty),
        )

    def meant(self, name: str) -> str:
        """Return the parameter that a name stands for, else the last name that it leads to."""
        while name not in self.names and name in LOOKALIKES:
            name = LOOKALIKES[name]
        return name if name in self.names else closest(name, self.names) or name

    def pointer(self, name: str) -> str:
        return POINTERS.get((self.verb, self.meant(name)), "")

    def corrected(self, given: Mapping[str, Any]) -> dict[str, str]:
        """Return the known names of arguments with their values in words, without those that no parameter takes."""
        found: dict[str, str] = {}
        for name, value in given.items():
            ours = self.meant(name)
            if ours in self.names and (name == ours or ours not in given):
                found[ours] = shown(value) if isinstance(value, (str, int, float, NoneType)) else "..."
                if name == "alpha" and isinstance(value, float) and 0 < value < 1:  # becomes a confidence level
                    found[ours] = f"{1 - value:.10g}"
        return found

    def call(self, given: Mapping[str, Any] = MappingProxyType({}), count: int = 0) -> str:
        """Return a call with what the function needs, and with these arguments, `count` of them by position."""
        options = self.corrected(given)
        in_call = {*self.positional[:count], *self.needed, *options, "prediction"}
        first = [name for name in self.positional if name in in_call]
        lacking = {name: EXAMPLES.get(name, "...") for name in self.needed if name not in first}
        named = [f"{name}={value}" for name, value in (lacking | options).items() if name not in first]
        return f"{self.verb}({', '.join([*(EXAMPLES.get(name, name) for name in first), *named])})"

    def refuse_names(self, unknown: Sequence[str], meaning: str) -> InputError:
        """Return the error for names that no parameter has; `meaning` is the call or the options that were meant."""
        pointers = [pointer for pointer in map(self.pointer, unknown) if pointer]
        sentences = [f"{self.verb} has no option{'s' * (len(unknown) > 1)} {listed(unknown)}", *dict.fromkeys(pointers)]
        if any(self.meant(name) in self.names for name in unknown):
            alpha = ", where level is 1 - alpha" if "alpha" in unknown else ""
            sentences.append(f"Did you mean {meaning}{alpha}?")
        if not pointers:
            options = [name for name in self.names if name not in ("y", "prediction", "predictions")]
            sentences.append(f"Its options are {', '.join(options)}")
        return InputError(". ".join(sentences).replace("?. ", "? "))


def public(verb: Callable[P, R]) -> Callable[P, R]:
    """Let a function refuse wrong names, numbers and choices of arguments with the call that was meant.

    Its signature stays as it is; `Literal` and `bool` annotations are the choices. A verb that passes further options
    on to a metric refuses only those that are other packages' names for one of its own.
    """
    parameters = inspect.signature(verb).parameters
    passes_on = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    bound = int("self" in parameters)
    known = Known.of(verb)

    @functools.wraps(verb)
    def checked(*args: P.args, **given: P.kwargs) -> R:
        count = len(args) - bound
        unknown = [name for name in given if name not in known.names]
        if passes_on:
            unknown = [name for name in unknown if known.meant(name) in known.names or known.pointer(name)]
        if unknown:
            raise known.refuse_names(unknown, known.call(given, count))
        twice = [name for name in given if name in known.positional[:count]]
        if twice:
            given_twice = f"{known.verb} got {listed(twice)} by position and by name"
            raise CallError(f"{given_twice}. Call it as {known.call(given, count)}")
        if count > len(known.positional):
            raise CallError(
                f"{known.verb} has no positional arguments beyond {', '.join(known.positional)}; got {count}. Call "
                f"it as {known.call()}; options are given by name"
            )
        lacking = [name for name in known.needed if name not in given and name not in known.positional[:count]]
        if lacking:
            raise CallError(f"{known.verb} needs {' and '.join(lacking)}. Call it as {known.call()}")
        check_choices(verb, given)
        with np.errstate(under="ignore"):  # what is too small for float64 is 0, also where the caller asks for errors
            return verb(*args, **given)

    return checked


def check_options(verb: Callable[..., Any], names: Collection[str], given: Mapping[str, Any]) -> None:
    unknown = [name for name in given if name not in names]
    if unknown:
        known = Known.of(verb)
        raise known.refuse_names(unknown, ", ".join(map("=".join, known.corrected(given).items())))
    check_choices(verb, given)


def check_choices(verb: Callable[..., Any], given: Mapping[str, Any]) -> None:
    for name, choices in choices_of(verb).items():
        if name not in given:
            continue
        try:
            check_choice(name, given[name], *choices)
        except InputError as refused:
            key = name, given[name] if isinstance(given[name], str) else None
            raise refused.within("", f". {VALUES[key]}" if key in VALUES else "") from None


@functools.cache
def choices_of(verb: Callable[..., Any]) -> dict[str, tuple[Any, ...]]:
    """Return the choices of the options that take nothing else."""
    parameters = inspect.signature(verb, eval_str=True).parameters
    found = {name: _constants(each.annotation) for name, each in parameters.items()}
    return {name: choices for name, choices in found.items() if choices}


def _constants(annotation: Any) -> tuple[Any, ...]:
    """Return the values that an annotation lists, None first; nothing if it allows anything else.

    >>> _constants(Literal["l1", "l2"] | None), _constants(bool), _constants(Literal["median"] | float)
    ((None, 'l1', 'l2'), (False, True), ())
    """
    if annotation is bool:
        return False, True
    if annotation is NoneType:
        return (None,)
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    if get_origin(annotation) in (Union, UnionType):
        parts = [_constants(part) for part in get_args(annotation)]
        return tuple(sorted(sum(parts, ()), key=lambda value: value is not None)) if all(parts) else ()
    return ()
