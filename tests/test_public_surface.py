"""The public names are those listed here; each has a documented example; no estimator is missed."""

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import kesler

# A name comes here when it is meant to stay: users depend on it from the next release on.
PUBLIC = {
    "kesler": [
        "ConstraintSVC",
        "ConstraintSVCCV",
        "Constraints",
        "OnlineClassifier",
        "__version__",
        "load",
        "save",
        "show_versions",
    ],
    "kesler.cli": ["main"],
    "kesler.datasets": [
        "Dataset",
        "load",
        "make_labelsets",
        "make_linear_sorting",
        "make_ova_counterexample",
        "make_partial_orders",
        "make_rankings",
        "names",
    ],
    "kesler.experiments": ["names", "run"],
    "kesler.linear": [
        "ConstraintSVC",
        "ConstraintSVCCV",
        "OnlineClassifier",
        "RegularizationPath",
        "regularization_path",
    ],
    "kesler.metrics": [
        "constraint_accuracy_scorer",
        "constraint_error",
        "kendall_tau",
        "kendall_tau_scorer",
        "precision_at",
        "ranking_loss",
        "ranking_loss_scorer",
    ],
    "kesler.persistence": ["load", "save"],
    "kesler.preparation": ["TablePreparer"],
    "kesler.reporting": ["Page", "certificate_page", "format_table"],
    "kesler.theory": [
        "constraint_margin",
        "kesler_expansion",
        "margin_bound",
        "mistake_bound",
        "vc_bound",
    ],
}
# Where names that `import kesler` gives are written; nobody needs to import these.
HOMES = ["kesler.constraints"]
ESTIMATORS = ["ConstraintSVC", "ConstraintSVCCV", "OnlineClassifier", "TablePreparer"]

MODULES = sorted(m.name for m in pkgutil.walk_packages(kesler.__path__, "kesler."))
SOURCES = sorted(Path(kesler.__file__).parent.rglob("*.py"))
NAMES = [f"{module}.{name}" for module, names in PUBLIC.items() for name in names if name[0] != "_"]


def is_public(module: str) -> bool:
    return not any(part.startswith("_") for part in module.split("."))


@pytest.mark.parametrize("module", PUBLIC)
def test_public_names_are_those_listed(module):
    assert sorted(importlib.import_module(module).__all__) == PUBLIC[module]


def test_public_modules_are_those_listed():
    top = {m for m in MODULES if m.count(".") == 1 and is_public(m)}
    assert top == {*PUBLIC, *HOMES} - {"kesler"}


@pytest.mark.parametrize("name", NAMES)
def test_public_name_has_an_example(name):
    module, _, attribute = name.rpartition(".")
    thing = getattr(importlib.import_module(module), attribute)
    if not (inspect.isclass(thing) or inspect.isroutine(thing)):
        return  # a constant, or a scorer, which scikit-learn documents
    doc = inspect.getdoc(thing) or ""
    assert ">>> " in doc.partition("Examples\n--------\n")[2], f"{name} has no Examples section"


def name_of(path):
    return path.relative_to(SOURCES[0].parent).as_posix()


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_module_opens_with_a_docstring(path):
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", SOURCES[1:], ids=name_of)
def test_module_imports_names_from_where_they_are_written(path):
    """`kesler/__init__.py` is for users: the layers hold only if no module imports from it."""
    names = {
        alias.name
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "kesler"
        for alias in node.names
    }
    assert all(f"kesler.{name}" in MODULES for name in names)


def test_every_estimator_is_public():
    found = {
        value
        for module in MODULES
        for name, value in inspect.getmembers(importlib.import_module(module), inspect.isclass)
        if issubclass(value, BaseEstimator)
        and value.__module__.startswith("kesler.")
        and not name.startswith("_")
    }
    assert sorted(estimator.__name__ for estimator in found) == ESTIMATORS
    for estimator in found:
        homes = [m for m, names in PUBLIC.items() if estimator.__name__ in names]
        assert homes, f"{estimator.__name__} can be imported from no public module"
        estimator()  # scikit-learn's checks begin with the defaults


WITHOUT_EXTRAS = """
import builtins, importlib, sys
real = builtins.__import__

def without_extras(name, globals=None, *rest):
    if name.partition(".")[0] in ("matplotlib", "pandas", "polars", "pyarrow"):
        importer = (globals or {}).get("__name__", "")
        if importer.startswith("kesler"):
            sys.exit(f"{importer} imports {name}")
        raise ModuleNotFoundError(name)  # scikit-learn tries some of them
    return real(name, globals, *rest)

builtins.__import__ = without_extras
for module in sys.argv[1:]:
    importlib.import_module(module)
"""


def test_import_needs_no_extra():
    command = [sys.executable, "-c", WITHOUT_EXTRAS, "kesler", *MODULES]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
