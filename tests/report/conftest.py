"""Findings to make pages of, and what is in a page."""

import runpy
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

from calibrant.report.page import render

SAMPLES = runpy.run_path(str(Path(__file__).with_name("samples.py")))


class Parsed(HTMLParser):
    """The elements of a page in order, each with its attributes and the text directly in it."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.elements = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), []))

    def handle_data(self, data):
        if self.elements:
            self.elements[-1][2].append(data)

    def named(self, *tags):
        return [(attrs, "".join(text)) for tag, attrs, text in self.elements if tag in tags]


@pytest.fixture(scope="session")
def samples():
    """Return functions that make findings, by name."""
    return SAMPLES


@pytest.fixture(scope="session")
def sample(require):
    """Return a function from the name of a sample to its findings; each is made once."""
    require("jinja2")
    require("matplotlib")
    return cache(lambda name: SAMPLES["ALL"][name]())


@pytest.fixture(scope="session")
def page(sample):
    """Return a function from the name of a sample to its page; each is made once."""
    return cache(lambda name: render(sample(name)))


@pytest.fixture(scope="session")
def parse():
    return Parsed
