"""How Sphinx builds these pages: ``sphinx-build -W -b html docs docs/_build/html``."""

import logging
from importlib.metadata import distribution

import calibrant

project = "calibrant"
copyright = "the calibrant authors"
release = version = calibrant.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "numpydoc", "sphinx.ext.mathjax"]
exclude_patterns = ["_build", "skeletons"]

# A section of the landing page may be empty. That warning has no type, so suppress_warnings cannot name it.
toctree_log = logging.getLogger("sphinx.sphinx.directives.other")
toctree_log.addFilter(lambda record: "toctree glob" not in str(record.msg))

# Pages: Markdown whose code cells are run on every build, and must not fail.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_execution_in_temp = True  # what a cell writes is not left among the pages
nb_merge_streams = True

# Docstrings: they name the types in words, so the signature shows names and defaults only.
autodoc_typehints = "none"
default_role = "py:obj"  # a name in backticks becomes a link where there is something to link to
maximum_signature_line_length = 90
numpydoc_show_class_members = False

# Formulas are set by one script that is part of the pages, so that they can be read without a network.
mathjax = distribution("sphinx-mathjax-offline").locate_file("sphinx-mathjax-offline/static/mathjax")
mathjax_path = "tex-svg-full.js"

html_theme = "pydata_sphinx_theme"
html_title = f"calibrant {release}"
html_static_path = ["_static", f"{mathjax}/{mathjax_path}"]
html_css_files = ["calibrant.css"]
templates_path = ["_templates"]
html_sidebars = {"**": ["contents"]}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": html_title},
    "navbar_center": [],
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
}
