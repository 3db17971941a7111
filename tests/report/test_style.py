"""Colours that can be read, in the light and in the dark."""

import re

import pytest

from calibrant.core import palette
from calibrant.report.page import style_sheet

STYLE = style_sheet("page.css", "pictures.css")
LIGHT, DARK = (
    dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))
    for block in re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)[:2]
)
SCHEMES = {"light": LIGHT, "dark": LIGHT | DARK}


def luminance(colour):
    channels = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    """Return the contrast ratio of WCAG 2."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_of_known_colours():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("scheme", SCHEMES)
class TestContrast:
    @pytest.mark.parametrize("colour", ["ink", "quiet", "link"])
    @pytest.mark.parametrize("ground", ["page", "card", "bad-tint", "good-tint", "unsure-tint"])
    def test_text(self, scheme, colour, ground):
        assert contrast(SCHEMES[scheme][colour], SCHEMES[scheme][ground]) >= 4.5

    @pytest.mark.parametrize("tone", ["bad", "good", "unsure"])
    def test_status(self, scheme, tone):
        assert contrast(SCHEMES[scheme][tone], SCHEMES[scheme][f"{tone}-tint"]) >= 4.5

    @pytest.mark.parametrize("colour", ["observed", "edge", "reference", "second", "third", "fourth"])
    def test_what_is_drawn(self, scheme, colour):
        assert contrast(SCHEMES[scheme][colour], SCHEMES[scheme]["card"]) >= 3

    @pytest.mark.parametrize("ground", ["page", "card"])
    def test_focus(self, scheme, ground):
        assert contrast(SCHEMES[scheme]["focus"], SCHEMES[scheme][ground]) >= 3


def test_light_colours_are_those_of_plots():
    assert {name: LIGHT[name] for name in palette.NAMES.values()} == {n: c for c, n in palette.NAMES.items()}


@pytest.mark.parametrize("name", palette.NAMES.values())
def test_every_colour_of_plots_has_its_classes(name):
    assert f".fill-{name} {{ fill: var(--{name}); }}" in STYLE
    assert f".stroke-{name} {{ stroke: var(--{name}); }}" in STYLE
    assert name in SCHEMES["dark"]


@pytest.mark.parametrize(
    "name", ["observed", "edge", "reference", "second", "third", "fourth", "bad", "good", "unsure"]
)
@pytest.mark.parametrize("ground", ["#ffffff", "#1e1e1e", "#111111"])
def test_notebooks_do_not_say_whether_they_are_dark(name, ground):
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", style_sheet("notebook.css")))
    assert contrast(colours[name], ground) >= 3
