"""Figures are drawn without a screen, and closed after each test."""

import pytest


@pytest.fixture
def plt(require):
    require("matplotlib").use("Agg")
    pyplot = require("matplotlib.pyplot")
    yield pyplot
    pyplot.close("all")
