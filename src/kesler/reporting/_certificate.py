"""The certificate of a fitted constraint machine as a page: how far it can be from the best."""

from __future__ import annotations

from typing import Any

import numpy as np

from kesler.linear import ConstraintSVC, ConstraintSVCCV
from kesler.reporting._page import Page

_REASONS = {
    "converged": "the relative gap fell to the tolerance",
    "max_iter": "all rounds were made",
    "time_budget": "the time was up",
    "precision": "the type of X resolves no smaller gap",
}


def certificate_page(model: ConstraintSVC, title: str = "What was learned") -> Page:
    """A page that shows how good a fitted `kesler.ConstraintSVC` is, and how it became so.

    The primal and the dual objective, between which the smallest objective lies, their relative
    gap, why learning stopped, and a picture of the gap against time; for `kesler.ConstraintSVCCV`
    also the mean scores by which C was chosen. The picture needs matplotlib.

    Parameters
    ----------
    model : ConstraintSVC or ConstraintSVCCV
        Fitted, or loaded from a file.
    title : str, default="What was learned"

    Returns
    -------
    Page

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from kesler import ConstraintSVC
    >>> from kesler.reporting import certificate_page
    >>> model = ConstraintSVC(random_state=0).fit(*load_iris(return_X_y=True))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = certificate_page(model, "Iris").save(Path(folder) / "iris.html")
    ...     "converged" in path.read_text(encoding="utf-8")
    True
    """
    outcome = model.outcome_
    C = model.C_ if isinstance(model, ConstraintSVCCV) else model.C
    page = Page(title).text(
        f"`{type(model).__name__}` with C = {C:.4g}, the {_loss(model)} of each example, on "
        f"{model.n_features_in_} features and {model.classes_.size} labels.\n\n"
        "The smallest objective there is lies between the dual and the primal one. Both were "
        "computed in double precision over all examples, apart from the solver."
    )
    rows: list[list[Any]] = [
        ["primal objective", f"{model.primal_objective_:.6g}"],
        ["dual objective", f"{model.dual_objective_:.6g}"],
        ["relative gap", f"{model.duality_gap_:.2e}"],
        ["tolerance", f"{model.tol:.2e}"],
        ["stopped", f"{outcome.status}: {_REASONS.get(outcome.status, 'see the note')}"],
        ["rounds", outcome.n_iter],
        ["seconds", f"{outcome.history[-1].seconds:.2f}"],
        ["smallest difference of scores", f"{model.margin_:.4g}"],
    ]
    if outcome.note:
        rows.append(["what was done", outcome.note])
    page.table(["", "value"], rows, caption="The certificate")
    page.figure(_gap_against_time(model), "Relative duality gap after each round, against time")
    if isinstance(model, ConstraintSVCCV):
        judged = model.scores_[~np.isnan(model.scores_).all(axis=1)]
        means = judged.mean(axis=0).tolist()
        scores = [[f"{c:.4g}", f"{mean:.4f}"] for c, mean in zip(model.Cs_, means, strict=True)]
        page.table(["C", "mean score"], scores, caption="By what C was chosen")
    return page


def _loss(model: ConstraintSVC) -> str:
    of = "worst pair" if model.aggregate == "max" else "sum over the pairs"
    return f"{'squared ' if model.loss == 'squared_hinge' else ''}hinge loss of the {of}"


def _gap_against_time(model: ConstraintSVC) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("figures need matplotlib: pip install 'kesler[report]'") from error
    shown = [(r.seconds, r.value) for r in model.outcome_.history if r.value > 0]
    figure = Figure(figsize=(5.5, 3.2))
    axes = figure.subplots()
    axes.plot([s for s, _ in shown], [v for _, v in shown], marker=".", color="C0")
    axes.axhline(model.tol, linestyle="--", linewidth=1, color="C1")
    axes.annotate("tolerance", (0.99, model.tol), xycoords=("axes fraction", "data"), ha="right")
    axes.set(xlabel="seconds", ylabel="relative gap", yscale="log")
    axes.spines[["top", "right"]].set_visible(False)
    return figure
