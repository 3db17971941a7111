"""A curve as a picture for a page: drawn by the code behind `Curve.plot`, with values to hover over."""

from __future__ import annotations

import io
import warnings
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np

from calibrant import plots
from calibrant.errors import MissingExtraError
from calibrant.plots.mark import Mark
from calibrant.report.svg import inlined
from calibrant.results.curve import Curve

SIZE = (4.3, 4.75)  # inches of 72 units
SETTINGS = {
    "font.family": ["DejaVu Sans"],
    "font.size": 10.5,
    "axes.labelsize": 11,
    "svg.fonttype": "none",
    "svg.hashsalt": "calibrant",
}


def picture(curve: Curve, prefix: str, label: str, *, points: int, places: int) -> str:
    """Return a curve as SVG text.

    Parameters
    ----------
    curve
        What is drawn.
    prefix
        Begins all ids.
    label
        Begins the text for those who do not see the picture.
    points, places
        The most points that are drawn, and the most that have values to hover over.
    """
    try:
        import matplotlib
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("a report", extra="cli") from None

    columns = plots.thin(curve.kind, curve.columns, points)
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        figure = Figure(figsize=SIZE, layout="constrained")
        FigureCanvasSVG(figure)
        ax = plots.draw_alone(curve.kind, columns, curve.details, figure)
        for ground in (figure, ax, *ax.child_axes):
            ground.patch.set_visible(False)  # the page shows through
        stream = io.StringIO()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph", UserWarning)  # text stays text: the reader's fonts draw it
            figure.savefig(stream, format="svg", metadata={"Date": None})
    label = f"{label}. {plots.describe(curve.kind, curve.columns, curve.details)}"
    root = inlined(stream.getvalue(), prefix, label)
    marks = sorted(plots.marks(curve.kind, columns, curve.details))  # several lines, or groups, come one after another
    root.append(_hover(ax, [marks[k] for k in _spread(marks, places)]))
    return tostring(root, encoding="unicode")


def _spread(marks: list[Mark], most: int) -> list[int]:
    """Return the places of at most `most` marks: the highest, the lowest, and others at even distances."""
    if len(marks) <= most:
        return list(range(len(marks)))
    x, y = np.array([mark.x for mark in marks]), np.array([mark.y for mark in marks])
    even = np.searchsorted(x, np.linspace(x[0], x[-1], most - 2)).clip(0, len(x) - 1)
    return sorted({*even.tolist(), int(y.argmin()), int(y.argmax())})


def _hover(ax: Any, marks: list[Mark]) -> Element:
    """Return one strip of the axes per mark, from half way to half way, with a line, a dot and a title in it."""
    group = Element("g", {"class": "marks"})
    height = 72 * ax.figure.get_figheight()
    scale = 72 / ax.figure.dpi
    left, bottom, right, top = (scale * edge for edge in ax.bbox.extents)
    at = scale * ax.transData.transform([(mark.x, mark.y) for mark in marks])
    edges = np.concatenate(([left], (at[1:, 0] + at[:-1, 0]) / 2, [right]))
    for mark, (x, y), start, stop in zip(marks, at, edges[:-1], edges[1:], strict=True):
        strip = SubElement(group, "g")
        SubElement(strip, "title").text = mark.text
        box = {"x": start, "y": height - top, "width": max(0.0, stop - start), "height": top - bottom}
        SubElement(strip, "rect", {name: _short(value) for name, value in box.items()})
        SubElement(strip, "path", {"d": f"M{_short(x)} {_short(height - top)}V{_short(height - bottom)}"})
        SubElement(strip, "circle", {"cx": _short(x), "cy": _short(height - y), "r": "4"})
    return group


def _short(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
