"""Write down what calibrant finds, and compare it with what another version found: numbers bit for bit.

    python scripts/freeze.py write FOLDER [--quick] [--processes 2] [PART...]
    python scripts/freeze.py compare OLD NEW [--relative 1e-12]

`write` makes one JSON document a line, sorted by key, in `audits.jsonl`, `verbs.jsonl` and `signatures.jsonl`. Words
that people read, such as headlines and methods, are kept apart in `words.jsonl`, so that a change of words is one
difference of its own. Data are drawn by the designs of `benchmarks/validity` and by the data and options of the
contract tests, from the working tree that this script lies in. `compare` lists the numbers that differ and the keys
that only one side has; parts that only one side has written are not compared.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import itertools
import json
import math
import os
import sys
import tempfile
import warnings
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields, is_dataclass
from functools import cache, partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from time import process_time
from types import ModuleType
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]
os.environ.update({f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL")})  # sums depend on it

import numpy as np  # noqa: E402

Records = dict[str, Any]
FILES = ("audits.jsonl", "verbs.jsonl", "signatures.jsonl", "words.jsonl")
ABOUT = "about.json"
APART = " | "  # between the parts of a key
RESAMPLES = 99
LONGEST = 64  # entries of an array that are written one by one
PROSE = frozenset(
    (
        *("axes", "axis", "calibrated", "caveats", "code", "headline", "how", "in_words", "intro", "label", "method"),
        *("note", "reading", "sentences", "share_of", "test", "text", "title", "unit", "words", "warnings"),
    )
)
"""Fields that hold words for people."""
UNSTABLE = ("names", "version", "facts")  # fields that name the data or the version, and nothing that was found


# Values as JSON


def plain(value: Any) -> Any:
    """Return a value as JSON; floats keep all their digits, and long arrays are replaced by a digest and sums."""
    if isinstance(value, np.ndarray):
        return array(value)
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, (str, bool, int, float)) or value is None:
        return value
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items() if name not in UNSTABLE}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        numeric = len(value) > LONGEST and all(isinstance(item, (int, float, np.number)) for item in value)
        return array(np.asarray(value)) if numeric else [plain(item) for item in value]
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if hasattr(value, "to_dict"):
        return plain(value.to_dict())
    if is_dataclass(value) and not isinstance(value, type):
        return plain({field.name: getattr(value, field.name) for field in fields(value)})
    return f"<{type(value).__name__}>"


def array(values: np.ndarray) -> Any:
    """Return all entries, or of many a digest, the ends and two sums, by which rounding errors can be told from others.

    >>> array(np.array([0.5, np.nan]))
    [0.5, nan]
    """
    if values.dtype.kind in "OUST":
        return plain(values.tolist())
    if values.size <= LONGEST:
        return values.tolist()
    numbers = np.ascontiguousarray(values.astype(np.float64)) + 0.0
    numbers[np.isnan(numbers)] = np.nan  # of all patterns of bits that are no number one
    finite = numbers[np.isfinite(numbers)].tolist()
    return {
        "shape": list(values.shape),
        "digest": hashlib.sha256(numbers.tobytes()).hexdigest()[:16],
        "finite": len(finite),
        "sum": math.fsum(finite),
        "squares": math.fsum(x * x for x in finite),
        "ends": [numbers.flat[0].item(), numbers.flat[-1].item()],
    }


def apart(value: Any, is_prose: Callable[[str], bool] = PROSE.__contains__) -> tuple[Any, Any]:
    """Return a JSON value without the fields that are words for people, and these words.

    >>> apart({"pvalue": 0.5, "method": "exact", "parts": [{"note": "few rows"}]})
    ({'pvalue': 0.5, 'parts': [{}]}, {'method': 'exact', 'parts': [{'note': 'few rows'}]})
    """
    if isinstance(value, dict):
        pairs = {name: (None, item) if is_prose(name) else apart(item, is_prose) for name, item in value.items()}
        numbers = {name: pair[0] for name, pair in pairs.items() if not is_prose(name)}
        return numbers, {name: pair[1] for name, pair in pairs.items() if pair[1] not in (None, "", [], {})}
    if isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        parts = [apart(item, is_prose) for item in value]
        words = [part[1] for part in parts]
        return [part[0] for part in parts], words if any(word is not None and word != {} for word in words) else None
    return value, None


class Frozen:
    """What is written: records of each file by key. A key that comes twice is numbered."""

    def __init__(self) -> None:
        self.files: dict[str, Records] = {name: {} for name in FILES}
        self.seen: Counter[tuple[str, str]] = Counter()

    def add(self, file: str, key: Iterable[object], value: Any) -> None:
        """Add a value; its words go to the file of words under the same key."""
        name = APART.join(map(str, key))
        self.seen[file, name] += 1
        number = self.seen[file, name]
        name += f"{APART}#{number}" if number > 1 else ""
        numbers, words = apart(plain(value))
        self.files[file][name] = numbers
        if words not in (None, {}, []):
            self.files["words.jsonl"][name] = words

    def found(self, file: str, key: Iterable[object], call: Callable[[], Any]) -> Any:
        """Add the result of a call, or that it was refused."""
        try:
            result = call()
        except Exception as problem:  # a refusal is a result too
            self.refused(file, key, problem)
            return None
        self.add(file, key, {"result": result})
        return result

    def refused(self, file: str, key: Iterable[object], problem: Exception) -> None:
        """Add that a call was refused, with its message among the words."""
        self.add(file, key, {"refused": type(problem).__name__, "text": str(problem)})


# Audits: the only place that knows where they keep what


CLAIM_FIELDS = ("kind", "quantity", "estimate", "low", "high", "level", "rows", "expected", "tolerance", "pvalue")


def claims_of(audit: Any) -> Iterator[tuple[str, Records]]:
    """Yield each claim of a verdict with a name that says what it is about."""
    for claim in audit.verdict.claims:
        evidence = getattr(claim, "evidence", None)
        subject = field_of("subject", claim, evidence)
        subject = field_of("where", claim, evidence) if subject is None else subject
        about = subject.to_dict() if hasattr(subject, "to_dict") else plain(subject)
        found = {name: field_of(name, claim, evidence) for name in (*CLAIM_FIELDS, "row_numbers", "unit", "test")}
        named = json.dumps(about, sort_keys=True) if isinstance(about, dict) else str(about)
        words = {"share_of": field_of("share_of", claim, evidence), "text": str(subject)}
        yield f"{found['quantity']} of {named}", {**found, "subject": about, **words}


def field_of(name: str, *sources: Any) -> Any:
    """Return the field of the first source that has it."""
    return next((getattr(source, name) for source in sources if hasattr(source, name)), None)


def freeze_audit(frozen: Frozen, key: tuple[object, ...], audit: Any) -> None:
    """Write the verdict, its claims, the measurements, the tables and the curves of an audit."""
    verdict, found = audit.verdict, getattr(audit, "findings", audit)
    add = partial(frozen.add, "audits.jsonl")
    at = [[step.tolerance, step.status] for step in verdict.at]
    add((*key, "verdict"), {"status": verdict.status, "tolerance": verdict.tolerance, "at": at})
    words = {name: getattr(verdict, name, "") for name in ("headline", "sentences", "lines")}
    frozen.files["words.jsonl"][APART.join(map(str, (*key, "verdict")))] = plain(
        {**words, "at": [step.words for step in verdict.at], "caveats": getattr(found, "caveats", ())}
    )
    for name, claim in claims_of(audit):
        add((*key, "claim", name), claim)
    for section in getattr(found, "sections", ()):
        for measurement in section.measurements:
            add((*key, "measurement", measurement.name), measurement)
        for table in section.tables:
            add((*key, "table", table.name), table)
        for figure in section.figures:
            add((*key, "curve", figure.name), figure)
        add((*key, "section", section.name), {"title": section.title, "intro": section.intro, "code": section.code})
    if getattr(found, "groups", None) is not None:
        add((*key, "table", "groups"), found.groups)
    for figure in getattr(found, "group_figures", ()):
        add((*key, "curve", figure.name), figure)
    add((*key, "pairs"), getattr(audit, "pairs", ()))


def audited(frozen: Frozen, key: tuple[object, ...], call: Callable[[np.random.Generator], Any]) -> None:
    """Write what an audit finds, and where its random numbers were afterwards."""
    rng = np.random.default_rng(5)
    try:
        audit = call(rng)
    except Exception as problem:
        frozen.refused("audits.jsonl", key, problem)
        return
    freeze_audit(frozen, key, audit)
    frozen.add("audits.jsonl", (*key, "next random number"), rng.random())


# Audits of data whose truth is known


def rng_of(*names: object) -> np.random.Generator:
    """Return random numbers that belong to a name."""
    return np.random.default_rng(zlib.crc32(APART.join(map(str, names)).encode()))


def labels(n: int, *of: object) -> Any:
    """Return a group for each row."""
    return np.array(["a", "b", "c"])[rng_of("groups", *of).integers(3, size=n)]


def draw_design(name: str, n: int) -> tuple[Any, Any, Mapping[str, Any]]:
    """Return outcomes, predictions and options of a design of `benchmarks/validity`."""
    designs = import_module("benchmarks.validity.claim_designs").DESIGNS
    data = designs[name].draw(rng_of(name, n), n)
    return data.y, data.prediction, data.options


def _draws(kind: str, n: int) -> tuple[Any, Any, Mapping[str, Any]]:
    """Draws that are wrong in their shape, or of several coordinates with weights."""
    cb, rng = import_module("calibrant"), rng_of(kind, n)
    M = 40
    place = rng.normal(size=n)
    noise, y = rng.normal(size=(n, M)), place + rng.normal(size=n)
    if kind == "skewed":
        noise = rng.gamma(2.0, size=(n, M)) - 2.0
    elif kind == "missed mode":
        y += np.where(rng.random(n) < 0.15, 5.0, 0.0)
    elif kind == "dependent":
        for k in range(1, M):
            noise[:, k] = 0.9 * noise[:, k - 1] + math.sqrt(1 - 0.81) * noise[:, k]
    elif kind == "failed":
        noise[rng.random(n) < 0.05] += 6.0
    drawn = place[:, None] + noise
    if kind == "vectors with weights":
        both = np.stack([drawn, drawn + rng.normal(size=(n, M))], axis=2)
        return np.column_stack([y, y + rng.normal(size=n)]), cb.Samples(both), {"weights": rng.uniform(1, 2, n)}
    more: dict[str, Any] = {}
    if kind == "with covariates":
        more = {"covariates": {"x": place, "z": rng.normal(size=n)}}
    elif kind == "with quantities":
        more = {"quantity": {"square": lambda z: z**2}, "draws": 20}
    return y, cb.Samples(drawn), more


def _others(kind: str, n: int) -> tuple[Any, Any, Mapping[str, Any]]:
    """Predictions and options of audits that no design has."""
    cb, rng = import_module("calibrant"), rng_of(kind, n)
    y, place = rng.normal(size=n), 0.3 * rng.normal(size=n)
    if kind == "mixture":
        return y, cb.Mixture([cb.Normal(place - 1, 0.7), cb.Normal(place + 1, 0.7)], [0.5, 0.5]), {}
    if kind == "two vectors":
        mean = np.stack([place, place], axis=1)
        covariance = np.tile(np.array([[1.0, 0.5], [0.5, 1.0]]), (n, 1, 1))
        return np.column_stack([y, y + rng.normal(size=n)]), cb.MvNormal(mean, covariance), {}
    if kind == "intervals, less":
        return y, cb.Intervals(place - 1.5, place + 1.5, 0.9), {"alternative": "less"}
    if kind == "two columns of groups":
        p = rng.random(n)
        groups = {"first": labels(n, 1), "second": labels(n, 2)}
        q = np.where(groups["first"] == "a", p**2, p)
        return (rng.random(n) < q).astype(int), p, {"groups": groups, "intersections": 2}
    return y, cb.Laplace(place, 0.8), {}


DRAWS = ("skewed", "missed mode", "dependent", "failed", "vectors with weights", "with covariates", "with quantities")
OTHERS = ("laplace", "mixture", "two vectors", "intervals, less", "two columns of groups")


def freeze_designs(frozen: Frozen, name: str, quick: bool) -> None:
    """Audit the data of a design with and without tolerance and groups."""
    kind, _, design = name.partition(": ")
    draw = {"draws": _draws, "others": _others, "contract": _contract, "design": draw_design}[kind]
    many = "300 classes" in design
    for n in (300,) if quick or many or kind != "design" else (300, 1500):
        y, prediction, options = draw(design, n)
        settings = _settings(options, len(y), is_binary=getattr(prediction, "ndim", 0) == 1, few=quick or many)
        for words, more in settings.items():
            given = {**options, **more, "resamples": RESAMPLES}
            audited(
                frozen,
                ("designs", name, f"n = {n}", words),
                lambda rng, y=y, prediction=prediction, given=given: _calibrant().audit(
                    y, prediction, rng=rng, **given
                ),
            )


def _settings(options: Mapping[str, Any], n: int, *, is_binary: bool, few: bool) -> dict[str, Records]:
    """Return the tolerances and groups with which data are audited, by words for the key."""
    asked = [None] if "tolerance" in options else [None, 0.02, 0.05]
    found: dict[str, Records] = {}
    for tolerance in asked[::2] if few else asked:
        of_tolerance = {} if tolerance is None else {"tolerance": tolerance}
        for grouped in (False, True):
            if (grouped and "groups" in options) or (few and grouped != (tolerance is None)):
                continue
            words = f"tolerance {tolerance}" + (", groups" if grouped else "")
            found[words] = {**of_tolerance, **({"groups": labels(n)} if grouped else {})}
    if is_binary and "tolerance" not in options:
        found["tolerance 0.2, relative"] = {"tolerance": 0.2, "relative": True}
    return found


def _contract(name: str, n: int) -> tuple[Any, Any, Mapping[str, Any]]:
    """Return the contract data of a name."""
    case = import_module("calibrant.testing.data").DATA[name].make(rng_of(name, n), n)
    return case.y, case.prediction, {}


@cache
def _calibrant() -> ModuleType:
    return import_module("calibrant")


def designs(quick: bool) -> list[str]:
    """Return the names of all data that are audited."""
    of_claims = import_module("benchmarks.validity.claim_designs").DESIGNS
    data = import_module("calibrant.testing.data").DATA
    found = [f"design: {name}" for name in of_claims if "large" not in name]
    found += [f"contract: {name}" for name in data if name != "cdf"]
    return found + [f"draws: {name}" for name in DRAWS] + [f"others: {name}" for name in OTHERS]


# Audits of examples, batches, files, sets of points; comparisons


EXAMPLES: dict[str, dict[str, str]] = {
    "churn": {"prediction": "p", "groups": "segment"},
    "digits": {"prediction": "P"},
    "house_prices": {"prediction": "prediction", "calibration_size": "calibration_size", "groups": "size"},
    "demand": {"prediction": "prediction", "groups": "product"},
    "posterior": {"prediction": "prediction", "columns": "parameters", "log_density_y": "log_density_y"},
    "ensemble": {"prediction": "prediction", "covariates": "start", "groups": "lead"},
    "generated": {},
}
"""Which attributes of the examples are which arguments of `audit`, as in `calibrant demo`."""


def freeze_example(frozen: Frozen, name: str, quick: bool) -> None:
    """Audit an example as `calibrant demo` does."""
    cb = _calibrant()
    example = getattr(cb.examples, name)()
    if name == "generated":
        freeze_audit(frozen, ("examples", name), cb.points.compare(example.y, example.points, columns=example.columns))
        return
    given = {argument: getattr(example, attribute) for argument, attribute in EXAMPLES[name].items()}
    if "groups" in given:
        given["groups"] = {EXAMPLES[name]["groups"]: given["groups"]}
    if name == "posterior":
        given["covariates"] = np.log1p(example.reported)
    freeze_audit(frozen, ("examples", name), cb.audit(example.y, **given))


def freeze_batches(frozen: Frozen, name: str, quick: bool) -> None:
    """Audit files of probabilities in one pass, and measure verbs in batches."""
    pl, cb = import_module("polars"), _calibrant()
    design, _, exact = name.partition(", exact = ")
    y, prediction, options = draw_design(design, 1500)
    columns = {"y": y, "group": options.get("groups", labels(len(y)))}
    several = prediction.ndim == 2
    scores = [f"p{k}" for k in range(prediction.shape[1])] if several else "p"
    columns |= dict(zip(scores, prediction.T, strict=True)) if several else {"p": prediction}
    if "weights" in options:
        columns["w"] = options["weights"]
    weights = {"weights": "w"} if "w" in columns else {}
    with tempfile.TemporaryDirectory() as folder:
        frame = pl.DataFrame(columns)
        for k in range(3):
            frame[500 * k : 500 * (k + 1)].write_parquet(Path(folder) / f"{k}.parquet", row_group_size=200)
        for groups, tolerance in itertools.product((None, "group"), (None, 0.02, 0.05)):
            scan = cb.scan(folder, y="y", prediction=scores, groups=groups, **weights)
            words = f"tolerance {tolerance}" + (", groups" if groups else "")
            given = {"exact": exact == "True", "tolerance": tolerance, "resamples": RESAMPLES}
            audited(
                frozen,
                ("batches", name, words),
                lambda rng, scan=scan, given=given: scan.audit(rng=rng, **given),
            )
        verbs = ["ece", "brier_score", "log_score", "calibration_test", "cutoff_error", "smooth_ece", "decompose"]
        for verb in verbs:
            scan = cb.scan(folder, y="y", prediction=scores, **weights)
            call = lambda scan=scan, verb=verb: scan.measure([verb], exact=exact == "True")  # noqa: E731
            frozen.found("verbs.jsonl", ("batches", name, verb), call)


BATCHES = (
    "uniform, shift .3",
    "92 % zeros, wave",
    "rare events, shift .3",
    "lognormal weights, slope .8",
    "4 groups, one group",
    "3 classes, overconfident",
    "10 classes, one class",
)


def freeze_points(frozen: Frozen, truth: str, quick: bool) -> None:
    """Compare sets of points."""
    drawn, compare = import_module("benchmarks.validity.point_designs"), _calibrant().points.compare
    y, points = drawn.varied(rng_of(truth), truth, 120, 3)
    audited(frozen, ("points", truth), lambda rng: compare(y, points, resamples=399, rng=rng))
    if not quick:
        sets = {"first": points, "second": y + 0.2}
        audited(frozen, ("points", truth, "two sets"), lambda rng: compare(y, sets, rng=rng))
        audited(frozen, ("points", truth, "no truth"), lambda rng: compare(None, sets, resamples=399, rng=rng))


POINTS = ("same", "sd 0.7", "shift 2", "30 points x 10", "half of 8 modes", "lognormal")


def freeze_comparison(frozen: Frozen, name: str, quick: bool) -> None:
    """Compare predictions of the same rows."""
    cb, rng, n = _calibrant(), rng_of("comparisons", name), 400
    given: dict[str, Any] = {}
    if name in ("binary", "clusters", "time", "weights"):
        q = rng.random(n)
        y = (rng.random(n) < q).astype(int)
        models: dict[str, Any] = {
            "right": q,
            "flat": 0.5 + 0.5 * (q - 0.5),
            "noisy": np.clip(q + 0.1 * rng.normal(size=n), 0, 1),
        }
        by_name = {"clusters": np.arange(n) // 8, "time": np.arange(n), "weights": rng.uniform(1, 2, n)}
        given = {name: by_name[name]} if name in by_name else {}
        metrics: list[Any] = [
            "brier_score",
            "ece",
            "cutoff_error",
            "smce",
            "kuiper_test",
            ["brier_score", "cutoff_error"],
        ]
    else:
        y, first, _ = draw_design(COMPARED[name], n)
        second = draw_design(COMPARED[name], n)[1]
        second, metrics = _shifted(first, second), _METRICS[name]
        models = {"a": first, "b": second}
    for metric, tolerance in itertools.product(metrics, (None, 0.02)):
        key = ("comparisons", name, metric, f"tolerance {tolerance}")
        call = partial(cb.compare_predictions, y, models, metric=metric, tolerance=tolerance, **given)
        try:
            freeze_audit(frozen, key, call())
        except Exception as problem:
            frozen.refused("audits.jsonl", key, problem)


COMPARED = {
    "classes": "3 classes, calibrated",
    "intervals": "90 % intervals, calibrated",
    "sets": "sets of likely labels",
    "quantiles": "quantiles, calibrated",
    "distributions": "Normal, calibrated",
    "samples": "19 draws, D = 1, calibrated",
}
_METRICS: dict[str, list[Any]] = {
    "classes": ["brier_score", "log_score", "cutoff_error", "ece"],
    "intervals": ["interval_score", "coverage", "width", "skce"],
    "sets": ["coverage", "width"],
    "quantiles": ["weighted_interval_score", "quantile_score"],
    "distributions": ["crps", "log_score", "skce"],
    "samples": ["crps", "energy_score"],
}


def _shifted(first: Any, second: Any) -> Any:
    """Return predictions like the first, but worse."""
    cb = _calibrant()
    match first:
        case cb.Intervals():
            return cb.Intervals(np.asarray(first.lower) + 0.3, np.asarray(first.upper) + 0.3, first.levels)
        case cb.Sets():
            return cb.Sets(np.roll(np.asarray(first.mask), 1, axis=0), first.levels)
        case cb.Quantiles():
            return cb.Quantiles(np.asarray(first.values) + 0.3, first.levels)
        case cb.Normal():
            return cb.Normal(np.asarray(first.mean) + 0.3, np.asarray(first.std))
        case cb.Samples():
            return cb.Samples(np.asarray(first.draws) + 0.3)
        case _:
            P = 0.7 * first + 0.3 / first.shape[1]
            return P / P.sum(axis=1, keepdims=True)


# Verbs


@cache
def tests_module(name: str) -> ModuleType:
    """Return a module of the contract tests, which have the options with which verbs are tried."""
    path = ROOT / "tests" / "contract" / f"{name}.py"
    spec = spec_from_file_location(f"frozen_{name}", path)
    if spec is None or spec.loader is None or not path.exists():
        raise SystemExit(f"{path} is missing: the options of verbs are read there")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def freeze_verb(frozen: Frozen, name: str, quick: bool) -> None:
    """Call a verb on the contract data, with the options of the contract tests, without and with weights."""
    module = tests_module("test_properties")
    subjects = [subject for subject in module.SUBJECTS if subject.entry.name == name]
    for subject in subjects[:3] if quick else subjects:
        given, weighted = subject.cases(rng_of(subject.data))
        described = module.described(subject)
        frozen.found("verbs.jsonl", ("verbs", described), partial(subject.measure, given))
        if not quick:
            frozen.found("verbs.jsonl", ("verbs", described, "weights"), partial(subject.measure, weighted))


def verbs(quick: bool) -> list[str]:
    """Return the names of all verbs of the catalogue."""
    return sorted(import_module("calibrant.core.catalogue").entries())


def freeze_point_verb(frozen: Frozen, name: str, quick: bool) -> None:
    """Call a verb of sets of points."""
    module = tests_module("test_points")
    for verb in module.VERBS:
        if verb.name == name:
            for shape in ("plane",) if quick else module.SHAPES:
                if module.applies(verb, shape):
                    y, points = module.points_of(shape)
                    arguments = (points,) if verb.of_one_set else (y, points)
                    call = partial(verb.verb, *arguments, **verb.options)
                    frozen.found("verbs.jsonl", ("verbs of points", verb, shape), call)


def point_verbs(quick: bool) -> list[str]:
    """Return the names of all verbs of sets of points."""
    return sorted({verb.name for verb in tests_module("test_points").VERBS})


def freeze_limits(frozen: Frozen, data: str, quick: bool) -> None:
    """Call `interval`, `per_row` and `equivalence_test` with every metric of a kind of prediction."""
    cb, catalogue = _calibrant(), import_module("calibrant.core.catalogue")
    source = import_module("calibrant.testing.data").DATA[data]
    for n in (210,) if quick else (60, 210, 900):
        case = source.make(rng_of(data, n), n)
        weights = rng_of("weights", data, n).uniform(1, 2, n)
        for name, entry in sorted(catalogue.entries().items()):
            if source.kind not in entry.predictions or entry.kind != "metric":
                continue
            if (n > 210 and name in ("skce", "ucme", "skce_test", "cme_test")) or "covariates" in entry.defaults:
                continue
            arguments = (case.y, case.prediction) if entry.outcome else (case.prediction,)
            add = partial(frozen.found, "verbs.jsonl")
            for side in ("both", "lower", "upper") if entry.limits else ("both",):
                key = ("limits", data, f"n = {n}", name, side)
                add((*key, "interval"), partial(cb.interval, name, *arguments, side=side))
                add((*key, "interval, weights"), partial(cb.interval, name, *arguments, side=side, weights=weights))
            if entry.row_scores:
                add(("limits", data, f"n = {n}", name, "per_row"), partial(cb.per_row, name, *arguments))
            if entry.limits or name == "coverage":
                for tolerance in (0.02, 0.1):
                    key = ("limits", data, f"n = {n}", name, "equivalence_test", tolerance)
                    add(key, partial(cb.equivalence_test, *arguments, tolerance=tolerance, metric=name))


def tables(quick: bool) -> list[str]:
    """Return the names of all contract data."""
    return list(import_module("calibrant.testing.data").DATA)


def freeze_map(frozen: Frozen, data: str, quick: bool) -> None:
    """Fit every map to the contract data, apply it and measure its gain."""
    cb, kind = _calibrant(), import_module("calibrant.testing.data").DATA[data].kind
    methods = import_module("calibrant.recalibrating.methods").METHODS.get(kind, {})
    case = import_module("calibrant.testing.data").DATA[data].make(rng_of(data, 210), 210)
    weights = rng_of("weights", data).uniform(1, 2, 210)
    clip = {"clip": 0.01} if kind in ("binary", "classes") else {}
    for method in (*methods, "auto"):
        for words, more in {"": {}, "weights": {"weights": weights}, "clip": clip}.items():
            if words == "clip" and not clip:
                continue
            key = ("maps", data, method, words)
            fitted = frozen.found(
                "verbs.jsonl", key, partial(cb.recalibrate, case.y, case.prediction, method=method, **more)
            )
            if fitted is not None:
                frozen.found("verbs.jsonl", (*key, "applied"), partial(_applied, fitted, case.prediction))
            if method in ("auto", "logistic", "temperature", "shift", "location-scale") and not (quick and words):
                call = partial(cb.recalibration_gain, case.y, case.prediction, method=method, repeats=1, **more)
                frozen.found("verbs.jsonl", (*key, "gain"), call)


def _applied(fitted: Any, prediction: Any) -> Any:
    """Return the numbers of mapped predictions."""
    found = fitted.apply(prediction)
    if isinstance(found, np.ndarray):
        return found
    names = ("lower", "upper", "mask", "values", "draws", "mean", "std", "at", "below")
    return {name: np.asarray(getattr(found, name)) for name in names if hasattr(found, name)}


def _other_calls() -> dict[str, Callable[[], Any]]:
    """Return calls of public verbs that the catalogue does not have."""
    cb, data = _calibrant(), import_module("calibrant.testing.data").DATA
    binary, classes, normal, samples, vectors, intervals = (
        data[name].make(rng_of(name, 150), 150)
        for name in ("binary", "classes", "distributions", "samples", "vectors", "one interval")
    )
    scores, x = rng_of("power").random(600), rng_of("features").normal(size=(150, 2))
    of_samples, of_vectors = (samples.y, samples.prediction), (vectors.y, vectors.prediction)
    ranking = cb.ranking
    calls: dict[str, Callable[[], Any]] = {
        "ranks": partial(cb.ranks, *of_samples, rng=0),
        "ranks of vectors": partial(cb.ranks, *of_vectors, rng=0),
        "ranks of a quantity": partial(cb.ranks, *of_vectors, quantity={"sum": lambda z: z.sum(axis=-1)}, rng=0),
        "joint_ranks": partial(ranking.joint_ranks, *of_vectors, rng=0),
        "joint_ranks, average": partial(ranking.joint_ranks, *of_vectors, method="average", rng=0),
        "tarp_ranks": partial(ranking.tarp_ranks, *of_vectors, rng=0),
        "recovery": partial(ranking.recovery, *of_samples),
        "z_scores": partial(ranking.z_scores, normal.y, normal.prediction),
        "z_score_contraction": partial(ranking.z_score_contraction, *of_samples),
        "explain": partial(cb.explain, *of_samples, rng=0),
        "explain vectors": partial(cb.explain, *of_vectors, rng=0),
        "pit": partial(cb.pit, normal.y, normal.prediction),
        "pit of draws": partial(cb.pit, *of_samples, rng=0),
        "top_label": partial(cb.top_label, classes.y, classes.prediction),
        "one_vs_rest": partial(cb.one_vs_rest, classes.y, classes.prediction, 1),
        "worst_slab_coverage": partial(
            cb.regions.worst_slab_coverage, intervals.y, intervals.prediction, features=x, directions=50, rng=0
        ),
        "interval of worst_slab_coverage": partial(
            cb.interval, "worst_slab_coverage", intervals.y, intervals.prediction, features=x, directions=50, rng=0
        ),
        "skill_test": partial(cb.skill_test, *of_samples),
    }
    for metric in ("ece", "cutoff_error", "smooth_ece", "mmce"):
        call = partial(cb.consistency_test, binary.y, binary.prediction, metric=metric, resamples=RESAMPLES)
        calls[f"consistency_test, {metric}"] = call
    for options in ({}, {"error": 0.05}, {"tolerance": 0.05}, {"error": 0.02, "target": 0.9}):
        calls[f"power, {options}"] = partial(cb.power, scores, resamples=RESAMPLES, **options)
    for method in ("joint", "scan", "trend"):
        call = partial(cb.conditional_test, *of_samples, covariates=x, method=method, resamples=RESAMPLES)
        calls[f"conditional_test, {method}"] = call
    calls["conditional_map"] = partial(cb.conditional_map, *of_samples, covariates=x, resamples=RESAMPLES)
    return calls


def freeze_others(frozen: Frozen, name: str, quick: bool) -> None:
    """Call verbs that the catalogue does not have."""
    frozen.found("verbs.jsonl", ("other verbs", name), _other_calls()[name])


def others(quick: bool) -> list[str]:
    """Return the names of calls of verbs that the catalogue does not have."""
    return list(_other_calls())


# Signatures

INTEGRATIONS = ("sklearn", "torch", "mlflow", "arviz", "sbi", "bayesflow", "pymc", "numpyro")
SPACES = (
    "calibrant",
    *(f"calibrant.{name}" for name in ("points", "kernels", "results", "summaries", "errors", "examples")),
    *(f"calibrant.{name}" for name in ("probabilities", "kernel_errors", "regions", "ranking", "testing")),
    *(f"calibrant.{name}" for name in ("dask", "spark")),
    *(f"calibrant.integrations.{name}" for name in INTEGRATIONS),
)


def freeze_space(frozen: Frozen, space: str, quick: bool) -> None:
    """Write the public names of a namespace and their signatures."""
    add = partial(frozen.add, "signatures.jsonl")
    try:
        module = import_module(space)
    except ImportError as problem:
        add(("signatures", space), {"missing": type(problem).__name__})
        return
    listed = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    for name in sorted(listed):
        found = getattr(module, name)
        if isinstance(found, ModuleType):
            continue
        key = ("signatures", space, name)
        add(key, {"is": type(found).__name__, "signature": _signature(found)})
        if inspect.isclass(found):
            for member in sorted(member for member in dir(found) if not member.startswith("_")):
                kind = inspect.getattr_static(found, member)
                add((*key, member), {"is": type(kind).__name__, "signature": _signature(kind)})


def _signature(found: Any) -> str:
    try:
        return str(inspect.signature(found)) if callable(found) else ""
    except (TypeError, ValueError):
        return ""


def freeze_commands(frozen: Frozen, name: str, quick: bool) -> None:
    """Write the options of the command line."""
    commands = import_module("calibrant.cli.commands").commands
    for command in commands.commands.values():
        for parameter in command.params:
            about = parameter.to_info_dict()
            kept = {
                key: about.get(key) for key in ("opts", "secondary_opts", "required", "multiple", "is_flag", "nargs")
            }
            kept["default"], kept["type"] = repr(about.get("default")), repr(about.get("type"))
            frozen.add("signatures.jsonl", ("command line", command.name, parameter.name), kept)


# Writing


class Part(NamedTuple):
    """What can be written alone: how one task of it is frozen, and the names of its tasks."""

    freeze: Callable[[Frozen, str, bool], None]
    tasks: Callable[[bool], Iterable[str]]


def _compared(quick: bool) -> list[str]:
    return ["binary", "clusters", "time", "weights", *COMPARED]


PARTS = {
    "examples": Part(freeze_example, lambda quick: EXAMPLES),
    "designs": Part(freeze_designs, designs),
    "batches": Part(
        freeze_batches,
        lambda quick: [
            f"{name}, exact = {exact}" for name in BATCHES for exact in ((False,) if quick else (False, True))
        ],
    ),
    "points": Part(freeze_points, lambda quick: POINTS[:3] if quick else POINTS),
    "comparisons": Part(freeze_comparison, _compared),
    "verbs": Part(freeze_verb, verbs),
    "point-verbs": Part(freeze_point_verb, point_verbs),
    "other-verbs": Part(freeze_others, others),
    "limits": Part(freeze_limits, tables),
    "maps": Part(freeze_map, tables),
    "signatures": Part(freeze_space, lambda quick: SPACES),
    "commands": Part(freeze_commands, lambda quick: ["all"]),
}


HEADS = {"point-verbs": "verbs of points", "other-verbs": "other verbs", "commands": "command line"}
"""The first words of the keys of a part, where they are not its name."""


def run_task(task: tuple[str, str, bool]) -> tuple[str, dict[str, Records], float]:
    """Return the part, the records of each file and the seconds that one task took."""
    part, name, quick = task
    start, frozen = process_time(), Frozen()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            PARTS[part].freeze(frozen, name, quick)
        except Exception as problem:  # the other tasks are worth having
            print(f"{part} {name}: {type(problem).__name__}: {problem}", file=sys.stderr)
            frozen.refused("audits.jsonl", (HEADS.get(part, part), name, "the whole task"), problem)
    return part, frozen.files, process_time() - start


def tasks_of(parts: Iterable[str], *, quick: bool, only: str = "") -> list[tuple[str, str, bool]]:
    """Return the tasks of these parts."""
    return [(part, name, quick) for part in parts for name in PARTS[part].tasks(quick) if only in name]


def write_tasks(folder: Path, tasks: list[tuple[str, str, bool]], *, processes: int) -> None:
    """Write the files with what these tasks find."""
    files: dict[str, Records] = {name: {} for name in FILES}
    seconds: dict[str, float] = defaultdict(float)
    for part, found, took in _results(tasks, processes):
        seconds[part] += took
        for file, records in found.items():
            twice = files[file].keys() & records.keys()
            assert not twice, f"two tasks have the key {sorted(twice)[0]}"
            files[file].update(records)
    folder.mkdir(parents=True, exist_ok=True)
    for name, records in files.items():
        found = [{"key": key, "value": value} for key, value in sorted(records.items())]
        lines = [f"{json.dumps(record, ensure_ascii=False, sort_keys=True)}\n" for record in found]
        (folder / name).write_text("".join(lines), encoding="utf-8")
    about = {"parts": sorted(seconds), "quick": tasks[0][2], "python": sys.version.split()[0], **_versions()}
    (folder / ABOUT).write_text(json.dumps(about, indent=1) + "\n")
    for part, took in seconds.items():
        print(f"{part:<14}{took:6.1f} s")
    print(", ".join(f"{len(records):,} in {name}" for name, records in files.items()))


def _results(tasks: list[tuple[str, str, bool]], processes: int) -> Iterator[tuple[str, dict[str, Records], float]]:
    if processes == 1:
        yield from map(run_task, tasks)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(run_task, tasks)


def _versions() -> dict[str, str]:
    found = {}
    for package in ("numpy", "scipy", "numba", "scikit-learn", "polars"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


# Comparing


def read(path: Path) -> Records:
    """Return the records of a file by key."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {record["key"]: record["value"] for record in map(json.loads, lines)}


def differences(old: Any, new: Any, relative: float, place: str = "") -> Iterator[str]:
    """Yield where two values differ; numbers may differ by a relative amount.

    >>> list(differences({"p": 0.5, "low": math.nan}, {"p": 0.25, "low": math.nan}, 0.0))
    ['p: 0.5 -> 0.25']
    >>> list(differences([1.0, 2.0], [1.0, 2.0 + 1e-15], 1e-12)), list(differences(1, 1.0, 0.0))
    ([], [': 1 -> 1.0'])
    """
    if isinstance(old, dict) and isinstance(new, dict):
        digests = "digest" in old and "digest" in new and relative > 0
        for name in sorted(old.keys() | new.keys()):
            if digests and name == "digest":
                continue
            path = f"{place}.{name}" if place else name
            if name not in old or name not in new:
                which = "new" if name in new else "old"
                yield f"{path}: {_shown(old.get(name))} -> {_shown(new.get(name))} (only {which})"
            else:
                yield from differences(old[name], new[name], relative, path)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for k, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from differences(one, other, relative, f"{place}[{k}]")
    elif not _same(old, new, relative):
        yield f"{place}: {_shown(old)} -> {_shown(new)}"


def _same(old: Any, new: Any, relative: float) -> bool:
    """Tell whether two leaves are the same; NaN is equal to NaN, and -0.0 differs from 0.0."""
    if relative and all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in (old, new)):
        return repr(old) == repr(new) or math.isclose(old, new, rel_tol=relative, abs_tol=1e-300)
    return type(old) is type(new) and repr(old) == repr(new)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:300]}..."


def compare(old: Path, new: Path, *, relative: float, limit: int, files: Iterable[str] = FILES) -> bool:
    """Print all differences of two folders; tell whether there are any."""
    about = [json.loads((folder / ABOUT).read_text()) for folder in (old, new)]
    parts = set(about[0]["parts"]) & set(about[1]["parts"])
    for name in sorted(about[0].keys() | about[1].keys()):
        if about[0].get(name) != about[1].get(name):
            print(f"{name}: {about[0].get(name)} -> {about[1].get(name)}")
    heads = {HEADS.get(part, part) for part in parts}
    any_differ = False
    for file in files:
        before, after = (
            {key: value for key, value in read(folder / file).items() if key.split(APART)[0] in heads}
            for folder in (old, new)
        )
        changed = {
            key: found
            for key in sorted(before.keys() & after.keys())
            if (found := list(differences(before[key], after[key], relative)))
        }
        gone, added = (sorted(one.keys() - other.keys()) for one, other in ((before, after), (after, before)))
        any_differ |= bool(changed or gone or added)
        print(f"{file}: {len(changed):,} of {len(before.keys() & after.keys()):,} keys differ, ", end="")
        print(f"{len(gone):,} only in {old}, {len(added):,} only in {new}")
        for key, lines in itertools.islice(changed.items(), limit):
            print(f"  {key}")
            for line in itertools.islice(lines, limit):
                print(f"      {line}")
        for words, keys in ((f"only in {old}", gone), (f"only in {new}", added)):
            if keys:
                print(f"  {words}:")
            for key in keys[:limit]:
                print(f"      {key}")
    return any_differ


def main(arguments: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    writing = commands.add_parser("write", help="write what calibrant finds")
    writing.add_argument("folder", type=Path)
    writing.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all by default")
    writing.add_argument("--quick", action="store_true", help="fewer data and settings")
    writing.add_argument("--processes", type=int, default=2)
    writing.add_argument("--only", default="", help="only tasks whose name contains this text")
    comparing = commands.add_parser("compare", help="print what differs; exit status 1 if anything does")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    comparing.add_argument("--relative", type=float, default=0.0, help="relative difference that is ignored")
    comparing.add_argument("--limit", type=int, default=200, help="keys and lines that are printed")
    comparing.add_argument("--files", nargs="*", default=FILES, choices=FILES)
    given = parser.parse_args(arguments)
    if given.command == "write":
        unknown = set(given.parts) - set(PARTS)
        if unknown:
            parser.error(f"unknown parts {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
        tasks = tasks_of(given.parts or PARTS, quick=given.quick, only=given.only)
        write_tasks(given.folder, tasks, processes=given.processes)
        return 0
    return int(compare(given.old, given.new, relative=given.relative, limit=given.limit, files=given.files))


if __name__ == "__main__":
    raise SystemExit(main())
