"""Matplotlib's SVG made fit for a page: small, without styles of its own, its colours named."""

from __future__ import annotations

import re
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from calibrant.plots import palette
from calibrant.report.wording import CONTROL

_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_REFERENCE = re.compile(r"#([\w-]+)")
_DROPPED = {"metadata", "style"}
_TEXT_STYLES = {"font-size", "text-anchor"}


def inlined(markup: str, prefix: str, label: str) -> Element:
    """Return the picture as an element for use inside an HTML page.

    Colours become classes such as ``fill-observed``, which the style sheet of the page gives light and dark values.
    Other styles become attributes, because a strict Content-Security-Policy forbids ``style``. Coordinates keep two
    decimals, a hundredth of a point. Only ids that are referred to stay, and they begin with `prefix`.
    """
    root = ElementTree.fromstring(CONTROL.sub("\ufffd", markup))  # names of the user's may hold anything
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
    """Split ``a: b; c: d`` and take ``font`` apart, of which only the size is kept."""
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
    """Number the ids that are referred to, and drop the others."""
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
    """Replace groups that say nothing by what they hold."""
    children: list[Element] = []
    for child in element:
        _flatten(child)
        empty = child.tag in {"g", "defs"} and not len(child)
        children.extend(child if child.tag == "g" and not child.attrib else [] if empty else [child])
    element[:] = children
