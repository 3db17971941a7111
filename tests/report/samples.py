"""Findings to make pages of, as an audit would find them."""

import numpy as np

import calibrant as cb
from calibrant.core.claims import Claim
from calibrant.core.evidence import ALL_ROWS, Subject
from calibrant.core.findings import Figure, Findings, Line, Measurement, Section, Table, Verdict

READINGS = {
    "reliability": "Each dot is a bin. A dot below the dashed line happens less often than predicted; a dot outside "
    "its grey bar is off by more than chance would make it.",
    "isotonic": "The line is the best rising correction. Where it leaves the grey region, it is off.",
    "cumulative": "Where the line rises, predictions are too low; where it falls, they are too high.",
}


def figures(y, p):
    curves = {
        "reliability": cb.reliability_curve(y, p),
        "isotonic": cb.reliability_curve(y, p, strategy="isotonic", resamples=99),
        "cumulative": cb.cumulative_differences(y, p),
    }
    titles = ("Observed against predicted", "Recalibrated against predicted", "Where the errors add up")
    return tuple(
        Figure(name, title, READINGS[name], curve) for (name, curve), title in zip(curves.items(), titles, strict=True)
    )


def measurements(y, p):
    error = cb.consistency_test(y, p, metric=cb.ece, resamples=199)
    kuiper = cb.kuiper_test(y, p)
    details = {"resamples": 999.0, "variance": 273.8}
    of_error = {"expected": error.details["expected"], "pvalue": error.pvalue, "method": error.method}
    of_kuiper = {"pvalue": kuiper.pvalue, "method": kuiper.method, "details": details, "decides": True}
    return (
        Measurement("ece", "Expected calibration error, 15 bins", error.estimate, **of_error),
        Measurement("kuiper_test", "Range of cumulative differences (Kuiper)", kuiper.estimate, **of_kuiper),
        Measurement("brier_score", "Brier score", cb.brier_score(y, p), method="mean of (p - y)²"),
        Measurement("nothing", "Nothing to measure", float("nan")),
    )


def groups(labels, rows=400):
    n = len(labels)
    pvalues = tuple(np.linspace(0, 1, n).tolist())
    columns = {
        "group": tuple(labels),
        "rows": (rows,) * n,
        "predicted": tuple(np.linspace(0.9, 0.2, n).tolist()),
        "observed": tuple(np.linspace(0.6, 0.2, n).tolist()),
        "pvalue": pvalues,
        "pvalue_adjusted": pvalues,
    }
    return Table("groups", "How each group does", columns, note="P-values are adjusted for the number of groups.")


def error_claim(kind, estimate, low, high, tolerance=None):
    return Claim(kind, ALL_ROWS, "cutoff_error", estimate, low, high, 0.95, 4000, tolerance=tolerance, test="kuiper")


def of_probabilities(y, p, name, title, intro):
    return Section(name, title, intro, measurements(y, p), figures(y, p))


def churn():
    example = cb.examples.churn()
    student = Subject("group", name="student")
    claims = (
        error_claim("miscalibrated", 0.0401, 0.0243, 0.0549),
        Claim("above", student, "frequency", 0.6, 0.55, 0.65, 0.95, 400, 0.9, test="kuiper", pvalue=0.0),
        Claim("description", Subject("scores", low=0.8, high=0.9), "frequency", 0.61, rows=400, expected=0.84),
    )
    headline = "Probabilities are off by 4.0 percentage points (95 % limits: 2.4 to 5.5): miscalibrated."
    lines = (
        Line("shape", "over-confident above 0.7, and under-confident below 0.2"),
        Line("", "Recalibrate before acting on single probabilities; the ranking is not affected."),
    )
    intro = "Does what was predicted happen as often as predicted?"
    return Findings(
        kind="binary",
        n=len(example.y),
        level=0.95,
        verdict=Verdict("miscalibrated", headline, claims, lines),
        sections=(of_probabilities(example.y, example.p, "probabilities", "Probabilities", intro),),
        groups=groups(["student", "business", "family", "basic"]),
        caveats=(
            "412 rows share their score with another row.",
            "With 4,000 rows a miscalibration of 1.2 points or more would have been noticed.",
        ),
        names={"title": "Who leaves next month?", "outcome": "left", "prediction": "score"}
        | {"source": "churn.parquet", "made": "2024-05-01"},
        version="0.1.0",
    )


def digits():
    example = cb.examples.digits()
    correct, confidence = cb.top_label(example.y, example.P)
    means = example.P.mean(axis=0)
    columns = {
        "class": tuple(range(10)),
        "share": tuple(np.bincount(example.y, minlength=10) / len(example.y)),
        "predicted": tuple(means),
        "interval": tuple((float(share - 0.01), float(share + 0.01)) for share in means),
    }
    limits = {"expected": 0.01, "interval": (0.008, 0.02), "pvalue": 0.3, "details": {"statistic": 3.25}}
    headline = (
        "Probabilities are off by 1.1 percentage points (95 % limits: 0 to 3.1): 3,000 rows cannot tell whether "
        "that is within the tolerance of 2 points."
    )
    claims, lines = (
        (error_claim("cannot tell", 0.011, 0.0, 0.0307, 0.02),),
        (Line("rows", "about 9,000 rows would tell"),),
    )
    intro = "Is the top class right as often as it says?"
    return Findings(
        kind="classes",
        n=len(example.y),
        level=0.9,
        verdict=Verdict("cannot tell", headline, claims, lines, 0.02),
        sections=(
            of_probabilities(correct, confidence, "confidence", "Confidence", intro),
            Section(
                "classes",
                "Classes",
                "One class against all others.",
                (Measurement("ece", "Classwise error", 0.012, **limits),),
                tables=(Table("classes", "Each class against the rest", columns),),
            ),
        ),
        names={"prediction": "P"},
        version="0.1.0",
    )


def calm():
    rng = np.random.default_rng(1)
    p = rng.uniform(size=5000)
    y = (rng.uniform(size=5000) < p).astype(int)
    headline = "Probabilities are off by 0.8 percentage points (95 % limits: 0 to 1.9): calibrated within 2 points."
    claims, lines = (error_claim("within", 0.008, 0.0, 0.0187, 0.02),), (Line("", "Use them as they are."),)
    verdict = Verdict("within", headline, claims, lines, 0.02)
    sections = (of_probabilities(y, p, "probabilities", "Probabilities", ""),)
    return Findings(kind="binary", n=5000, level=0.95, verdict=verdict, sections=sections, version="0.1.0")


def points():
    rng = np.random.default_rng(4)
    real = rng.normal(size=(250, 3))
    generated = {"wide": rng.normal(0.0, [1.0, 1.0, 1.8], size=(250, 3)), "right": rng.normal(size=(200, 3))}
    columns = ["height", "weight", "age"]
    return cb.points.compare(real, generated, columns=columns, names={"source": "run 7"}, resamples=399).findings


HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    """"quoted" and 'quoted' & <b>bold</b>""",
    "{{ 7 * 7 }}{% raw %}",
    "👩‍👩‍👧‍👦 déjà vu \u202egnp.exe",
    "line\u2028separator\u2029 and \x00 and \ud800",
    "x" * 5000,
)


def hostile(total=100_000):
    """Names that would run, break or flood a page that trusts them."""
    script, image, quoted = HOSTILE[:3]
    labels = [f"{HOSTILE[k % len(HOSTILE)]} {k}" for k in range(total)]
    claims = (Claim("below", Subject("group", name), "bias", 0.5, 0.1, 0.9, 0.95, total) for name in HOSTILE)
    drawn = tuple(
        Figure(script, HOSTILE[k], image, figure.curve) for k, figure in enumerate(churn().sections[0].figures)
    )
    table = Table(script, image, {script: HOSTILE, image: tuple(range(len(HOSTILE)))}, image)
    measured = (Measurement(script, image, 1.0, method=image),)
    return Findings(
        kind=script,
        n=10**9,
        level=0.95,
        verdict=Verdict(script, image, tuple(claims), tuple(Line("", name) for name in HOSTILE)),
        sections=(Section(image, script, quoted, measured, drawn, (table,)),),
        groups=groups(labels),
        caveats=HOSTILE,
        names=dict(zip(("outcome", "prediction", "source", script), HOSTILE, strict=False)),
        version=script,
    )


ALL = {"churn": churn, "digits": digits, "calm": calm, "points": points, "hostile": hostile}
