"""Reports in a real browser: Debian's Chromium, offline, driven by playwright."""

import os
import runpy
import shutil
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import calibrant as cb
from calibrant.report import render, replace_text

SAMPLES = runpy.run_path(str(Path(__file__).parents[1] / "report" / "samples.py"))
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def _churn():
    example = cb.examples.churn()
    names = {"outcome": "left", "prediction": "score", "source": "churn.parquet"}
    return cb.audit(example.y, example.p, groups={"plan": example.segment}, names=names, resamples=99).findings


def _digits():
    example = cb.examples.digits()
    return cb.audit(example.y, example.P, names={"outcome": "digit"}, resamples=99).findings


def _house_prices():
    example = cb.examples.house_prices()
    names = {"outcome": "price", "prediction": "lo to hi", "source": "houses.parquet"}
    return cb.audit(
        example.y,
        example.prediction,
        groups={"size": example.size},
        calibration_size=example.calibration_size,
        names=names,
        resamples=99,
    ).findings


def _demand():
    example = cb.examples.demand()
    names = {"outcome": "sold", "prediction": "q*", "source": "days.parquet"}
    return cb.audit(
        example.y, example.prediction, groups={"product": example.product}, names=names, resamples=99
    ).findings


def _posterior():
    example = cb.examples.posterior()
    names = {"outcome": "parameters", "prediction": "draws", "source": "posterior.npz"}
    return cb.audit(
        example.y,
        example.prediction,
        columns=example.parameters,
        log_density_y=example.log_density_y,
        covariates=np.log1p(example.reported),
        names=names,
    ).findings


def _ensemble():
    example = cb.examples.ensemble()
    names = {"outcome": "weather", "prediction": "members", "source": "ensemble.npz"}
    groups = {"lead": example.lead}
    return cb.audit(example.y, example.prediction, groups=groups, covariates=example.start, names=names).findings


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
    "audit-churn": _churn,
    "audit-digits": _digits,
    "audit-house_prices": _house_prices,
    "audit-demand": _demand,
    "audit-posterior": _posterior,
    "audit-ensemble": _ensemble,
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
        browser = driver.chromium.launch(executable_path=executable, args=list(QUIET))
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
