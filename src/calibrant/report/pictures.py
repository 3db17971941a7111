"""Curves as SVG pictures in a page: drawn by the code behind `Curve.plot`, with values shown on hovering."""

from __future__ import annotations

import io
import re
import warnings
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np

from calibrant.core import palette
from calibrant.core import pictures as plots
from calibrant.core.formulas import readable
from calibrant.core.pictures import Mark
from calibrant.core.results import Curve
from calibrant.core.words import without_direction
from calibrant.errors import MissingExtraError, without_control

_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_REFERENCE = re.compile(r"#([\w-]+)")
_DROPPED = {"metadata", "style"}
_TEXT_STYLES = {"font-size", "text-anchor"}


def inlined(markup: str, prefix: str, label: str) -> Element:
    """Return the picture as an element for use inside an HTML page.

    Colours become classes such as ``fill-observed``, for which the style sheet of the page has light and dark values.
    Other styles become attributes, because a strict Content-Security-Policy forbids ``style``. Coordinates keep two
    decimals, a hundredth of a point. Only ids that are referenced are kept, and they begin with `prefix`.
    """
    root = ElementTree.fromstring(without_control(markup))  # names that the user gave may contain anything
    for element in list(root.iter()):
        element.tag = _local(element.tag)
        element.text = element.text.strip() if element.text else None
        element.tail = None
        for child in list(element):
            if _local(child.tag) in _DROPPED:
                element.remove(child)
        _restyle(element)
    _rename(root, prefix)
    _flatten(root)
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.attrib.update({"role": "img", "aria-label": label, "class": "plot"})
    return root


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _restyle(element: Element) -> None:
    attributes = {_local(name): value for name, value in element.attrib.items()}
    styles = dict(_declarations(attributes.pop("style", "")))
    classes = []
    for name in ("fill", "stroke"):
        colour = styles.get(name, "").lower()
        if colour in palette.NAMES:
            classes.append(f"{name}-{palette.NAMES[colour]}")
            del styles[name]
    if element.tag == "text":
        styles = {name: value for name, value in styles.items() if name in _TEXT_STYLES}
    if "font-size" in styles:
        styles["font-size"] = styles["font-size"].removesuffix("px")
    attributes.update(styles)
    if classes:
        attributes["class"] = " ".join(classes)
    for name in attributes.keys() & {"d", "x", "y", "width", "height", "transform", "stroke-dasharray", "viewBox"}:
        attributes[name] = _shortened(attributes[name])
    if attributes.get("transform", "").startswith("rotate(-0 "):
        del attributes["transform"]
    element.attrib.clear()
    element.attrib.update(attributes)


def _declarations(style: str) -> list[tuple[str, str]]:
    """Split ``a: b; c: d`` into pairs; of ``font`` only the size is kept."""
    found = []
    for declaration in filter(None, (part.strip() for part in style.split(";"))):
        name, _, value = declaration.partition(":")
        name, value = name.strip(), value.strip()
        if name == "font":
            name, value = "font-size", next(word for word in value.split() if word.endswith("px"))
        found.append((name, value))
    return found


def _shortened(numbers: str) -> str:
    numbers = _NUMBER.sub(lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), numbers)
    numbers = re.sub(r"\s+", " ", numbers).strip()
    return re.sub(r" ?([A-Za-z]) ", r"\1", numbers) if numbers[:1] == "M" else numbers


def _rename(root: Element, prefix: str) -> None:
    """Number the ids that are referenced, and drop the others."""
    used: dict[str, str] = {}
    for element in root.iter():
        for name in ("href", "clip-path"):
            for identity in _REFERENCE.findall(element.get(name, "")):
                used.setdefault(identity, f"{prefix}-{len(used)}")
    for element in root.iter():
        identity = element.attrib.pop("id", None)
        if identity in used:
            element.set("id", used[identity])
        for name in ("href", "clip-path"):
            if name in element.attrib:
                element.set(name, _REFERENCE.sub(lambda found: "#" + used[found[1]], element.attrib[name]))


def _flatten(element: Element) -> None:
    children: list[Element] = []
    for child in element:
        _flatten(child)
        empty = child.tag in {"g", "defs"} and not len(child)
        children.extend(child if child.tag == "g" and not child.attrib else [] if empty else [child])
    element[:] = children


SIZE = (4.3, 4.75)  # inches of 72 units
MIN_MARKS_PER_PANEL = 12
SETTINGS = {
    "font.family": ["DejaVu Sans"],
    "font.size": 10.5,
    "axes.labelsize": 11,
    "svg.fonttype": "none",
    "svg.hashsalt": "calibrant",
}


def picture(curve: Curve, prefix: str, label: str, *, points: int, places: int) -> str:
    """Return a curve as SVG text, with at most so many points drawn, and so many `places` that show values on hovering.

    All ids begin with `prefix`; `label` begins the text for readers who cannot see the picture.
    """
    try:
        import matplotlib
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("a report", extra="cli") from None

    columns, details = plots.thin(curve.kind, curve.columns, points), dict(curve.details)
    if "names" in details:  # written as in the tables and sentences of the page
        details["names"] = tuple(map(readable, details["names"]))
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        figure = Figure(figsize=(SIZE[0], plots.height_of(curve.kind, details, SIZE[1])), layout="constrained")
        canvas = FigureCanvasSVG(figure)
        ax = plots.draw_alone(curve.kind, columns, details, figure)
        backgrounds: list[Any] = [figure, ax, *ax.child_axes]
        for background in backgrounds:
            background.patch.set_visible(False)  # transparent on the page
        stream = io.StringIO()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph", UserWarning)  # text is drawn by the fonts of the reader
            canvas.print_svg(stream, metadata={"Date": None})  # savefig would draw twice
    label = f"{label}. {plots.describe(curve.kind, curve.columns, details)}"
    root = inlined(stream.getvalue(), prefix, label)
    marks = plots.marks(curve.kind, columns, details)
    panels = sorted({mark.panel for mark in marks})
    most = places if len(panels) == 1 else max(MIN_MARKS_PER_PANEL, places // max(1, len(panels)))
    for k in panels:
        of_panel = sorted(mark for mark in marks if mark.panel == k)  # several lines come one after another
        root.append(_hover(ax if k < 0 else ax.child_axes[k], [of_panel[i] for i in _spread(of_panel, most)]))
    return without_direction(tostring(root, encoding="unicode"))  # names of groups are the user's


def _spread(marks: list[Mark], most: int) -> list[int]:
    """Return the indices of at most `most` marks: the highest, the lowest, and others at even distances."""
    if len(marks) <= most:
        return list(range(len(marks)))
    x, y = np.array([mark.x for mark in marks]), np.array([mark.y for mark in marks])
    even = np.searchsorted(x, np.linspace(x[0], x[-1], most - 2)).clip(0, len(x) - 1)
    return sorted({*even.tolist(), int(y.argmin()), int(y.argmax())})


def _hover(ax: Any, marks: list[Mark]) -> Element:
    """Return one strip of the axes per mark, bounded halfway to its neighbours, with a line, a dot and a title."""
    group = Element("g", {"class": "marks"})
    height = 72 * ax.figure.get_figheight()
    scale = 72 / ax.figure.dpi
    left, bottom, right, top = (scale * edge for edge in ax.bbox.extents)
    at = scale * ax.transData.transform([(mark.x, mark.y) for mark in marks])
    edges = np.concatenate(([left], (at[1:, 0] + at[:-1, 0]) / 2, [right]))
    for mark, (x, y), start, stop in zip(marks, at, edges[:-1], edges[1:], strict=True):
        strip = SubElement(group, "g")
        SubElement(strip, "title").text = without_control(mark.text)
        box = {"x": start, "y": height - top, "width": max(0.0, stop - start), "height": top - bottom}
        SubElement(strip, "rect", {name: _short(value) for name, value in box.items()})
        SubElement(strip, "path", {"d": f"M{_short(x)} {_short(height - top)}V{_short(height - bottom)}"})
        SubElement(strip, "circle", {"cx": _short(x), "cy": _short(height - y), "r": "4"})
    return group


def _short(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
