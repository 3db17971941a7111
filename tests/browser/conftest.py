"""Reports in a real browser: Debian's Chromium, offline, driven by playwright."""

import os
import runpy
import shutil
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

import calibrant as cb
from calibrant.report import render
from calibrant.writing import replace_text

SAMPLES = runpy.run_path(str(Path(__file__).parents[1] / "report" / "samples.py"))
QUIET = ("sandbox", "first-run")
DISABLED = ("gpu", "background-networking", "component-update", "sync")
FEW = {"resamples": 99}
# Of each example its prediction, and the options of its audit.
AUDITS = {
    "churn": lambda e: (e.p, {"groups": {"plan": e.segment}, **FEW}),
    "digits": lambda e: (e.P, FEW),
    "house_prices": lambda e: (
        e.prediction,
        {"groups": {"size": e.size}, "calibration_size": e.calibration_size, **FEW},
    ),
    "demand": lambda e: (e.prediction, {"groups": {"product": e.product}, **FEW}),
    "posterior": lambda e: (
        e.prediction,
        {"columns": e.parameters, "log_density_y": e.log_density_y, "covariates": np.log1p(e.reported)},
    ),
    "ensemble": lambda e: (e.prediction, {"groups": {"lead": e.lead}, "covariates": e.start}),
}


def _audited(name):
    example = getattr(cb.examples, name)()
    prediction, options = AUDITS[name](example)
    names = {"outcome": "what happened", "prediction": "stated", "source": f"{name}.parquet"}
    return cb.audit(example.y, prediction, names=names, **options).findings


def _models():
    example = cb.examples.churn()
    models = {"network": example.p, "shrunk": 0.5 + 0.8 * (example.p - 0.5), "a <b>long</b> name " * 3: example.p**1.3}
    return cb.compare_predictions(example.y, models, metric=["ece", "brier_score"], names={"outcome": "left"}).findings


def _generated():
    example = cb.examples.generated()
    names = {"source": "digits.npz"}
    y, points = example.y[:300], example.points[:300]
    return cb.points.compare(y, points, columns=example.columns, names=names, resamples=399).findings


def _named_sets():
    """Several sets, with names and columns that are long, or would run."""
    rng = np.random.default_rng(0)
    hostile, long = SAMPLES["HOSTILE"][0], "a very long name of a column with_nowhere_to_break_it"
    sets = {
        hostile: rng.normal([0.0, 0.0, 1.0], 1.0, size=(150, 3)),
        "$x^$ & <b>a_name_with_nowhere_to_break_it</b>": rng.normal(size=(120, 3)),
    }
    columns = [long, f"{long} {hostile}", "$b^$"]
    return cb.points.compare(rng.normal(size=(150, 3)), sets, columns=columns, resamples=399).findings


MAKERS = {
    **{f"audit-{name}": partial(_audited, name) for name in AUDITS},
    "compare-generated": _generated,
    "models": _models,
    "compare-sets": _named_sets,
    "calm": SAMPLES["calm"],
    "unsure": SAMPLES["digits"],
    "hostile": SAMPLES["hostile"],
}


@pytest.fixture(scope="session")
def report(require, tmp_path_factory):
    """Return a function from the name of a report to its path; each is written once."""
    require("jinja2")
    require("matplotlib")

    @cache
    def path(name):
        written = tmp_path_factory.getbasetemp() / f"{name}.html"
        replace_text(written, render(MAKERS[name]()))
        return written

    return path


@pytest.fixture(scope="session")
def churn(report):
    """Return the path of the report on customers."""
    return report("audit-churn")


@pytest.fixture(scope="session")
def chromium(require):
    """Return a running browser; without one the test is skipped, but fails in CI."""
    playwright = require("playwright.sync_api")
    executable = shutil.which("chromium")
    if executable is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("chromium is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=executable,
            args=[*(f"--no-{what}" for what in QUIET), *(f"--disable-{what}" for what in DISABLED)],
        )
        yield browser
        browser.close()


class Opened:
    """A page, and everything it said and asked for."""

    def __init__(self, page, path):
        self.page, self.messages, self.requests = page, [], []
        page.on("console", lambda message: self.messages.append(message.text))
        page.on("pageerror", lambda error: self.messages.append(str(error)))
        page.on("dialog", lambda dialog: (self.messages.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(path.as_uri())


@pytest.fixture(scope="session")
def opened(chromium):
    """Return a context manager that opens a report without a network."""

    @contextmanager
    def opening(path, *, width=1280, scheme="light", **options):
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True, **options
        )
        try:
            yield Opened(context.new_page(), path)
        finally:
            context.close()

    return opening
