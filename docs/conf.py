"""Sphinx settings; `make docs` builds with warnings as errors."""

from importlib.metadata import version as installed_version

project = "Kesler"
author = "The Kesler developers"
copyright = "2026, The Kesler developers"
version = release = installed_version("kesler")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.py", "gallery/*.md5"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3

autosummary_ignore_module_all = False  # what a module lists in __all__ is what is documented
default_role = "py:obj"  # `from_classes` is a link where there is such a thing, else just code
highlight_options = {"pycon": {"stripnl": True}}  # doctest wants an empty line after output
autodoc_typehints = "none"  # the docstrings say them in words
autodoc_member_order = "bysource"
napoleon_google_docstring = False
# Fields as plain lists: typed ones would make links of n_samples and classes_ in "shape (...)".
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"[\\/]plot_",
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "remove_config_comments": True,
}

html_theme = "furo"
html_title = f"Kesler {release}"


def skip_what_scikit_learn_documents(app, what, name, obj, skip, options):
    """Leave out inherited methods: their text refers to pages that are not here."""
    return True if str(getattr(obj, "__module__", "")).startswith("sklearn.") else None


def setup(app):
    """Connect the filter above."""
    app.connect("autodoc-skip-member", skip_what_scikit_learn_documents)
