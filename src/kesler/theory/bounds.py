"""Bounds on mistakes and on true error (Har-Peled, Roth and Zimak 2002, section 4).

Formulas of the paper and nothing more: a bound above 1 on an error is true and says nothing.
Corollary 4.2 is left out, because a sample size up to an unnamed constant is no number. Logarithms
are natural.
"""

from __future__ import annotations

from math import e, log, sqrt

from kesler._checks import real, whole


def mistake_bound(radius: float, margin: float) -> float:
    """Most moves that the perceptron makes on separable data: ``2 radius² / margin²``.

    Novikoff's theorem on the Kesler expansion, whose points have squared norm ``2 ‖x‖²``. It holds
    for the updates "all" and "worst", in any order and any number of passes.

    Parameters
    ----------
    radius : float
        Largest norm of an example, the constant feature of an intercept counted.
    margin : float
        Constraint margin of the sample by any W of Frobenius norm 1.

    Examples
    --------
    >>> from kesler.theory import mistake_bound
    >>> mistake_bound(radius=2.0, margin=0.1)
    800.0
    """
    real("radius", radius, above=0)
    real("margin", margin, above=0)
    return 2 * (radius / margin) ** 2


def vc_bound(
    training_error: float, n_samples: int, n_features: int, n_labels: int, delta: float = 0.05
) -> float:
    """Bound on the true error of any linear sorter, by its training error (Theorem 4.1).

    Parameters
    ----------
    training_error : float
        Constraint error on the sample, 0 to 1.
    n_samples : int
    n_features : int
        One more where there are thresholds.
    n_labels : int
    delta : float, default=0.05
        The probability that the bound fails.

    Examples
    --------
    >>> from kesler.theory import vc_bound
    >>> round(vc_bound(0.01, n_samples=1_000_000, n_features=10, n_labels=3), 4)
    0.0516
    """
    if not 0 <= training_error <= 1:
        raise ValueError(f"training_error must be a share, 0 to 1, not {training_error!r}")
    for name, value in (("n_samples", n_samples), ("n_features", n_features)):
        whole(name, value, at_least=1)
    whole("n_labels", n_labels, at_least=2)
    real("delta", delta, above=0, below=1)
    if 2 * n_samples * n_labels < n_features:
        raise ValueError(
            f"{n_samples} examples are too few for {n_features} features and {n_labels} labels: "
            "the growth function behind the bound needs 2 n_samples n_labels >= n_features"
        )
    capacity = n_labels * n_features * log(2 * e * n_samples * n_labels / n_features)
    return training_error + sqrt(4 * (capacity - log(delta / 4)) / n_samples) + 1 / n_samples


def margin_bound(
    n_samples: int, n_pairs: int, radius: float, margin: float, delta: float = 0.05
) -> float:
    """Bound on the true error of a linear sorter with a margin on the sample (Theorem 4.4).

    Parameters
    ----------
    n_samples : int
    n_pairs : int
        Most pairs that an example may have, whether in the sample or not.
    radius : float
        Of a ball around the origin that holds all examples there may be.
    margin : float
        Constraint margin of the sample when the norms of the weight vectors sum to 1; fixed
        beforehand, as the theorem has it.
    delta : float, default=0.05
        The probability that the bound fails.

    Raises
    ------
    ValueError
        Where a condition of the theorem fails: ``256 radius² / margin² < n_samples``, and
        ``n_samples > 2 / bound``.

    Notes
    -----
    The theorem is applied to ``x / radius``, whose margin is ``margin / radius``: two of its
    logarithms, as printed, depend on the unit in which x is measured, which the error cannot.

    Examples
    --------
    >>> from kesler.theory import margin_bound
    >>> round(margin_bound(10_000_000, n_pairs=2, radius=1.0, margin=0.5), 4)
    0.1113
    """
    whole("n_samples", n_samples, at_least=1)
    whole("n_pairs", n_pairs, at_least=1)
    real("radius", radius, above=0)
    real("margin", margin, above=0)
    real("delta", delta, above=0, below=1)
    if margin > radius:
        raise ValueError(
            f"no weight vectors whose norms sum to 1 have a margin of {margin!r} on examples of "
            f"norm {radius!r} or less; divide the margin by the sum of the norms"
        )
    gamma = margin / radius
    dimension = 256 / gamma**2
    if dimension >= n_samples:
        raise ValueError(
            f"the theorem needs more than 256 radius² / margin² = {dimension:.6g} examples, "
            f"not {n_samples}"
        )
    capacity = dimension * log(e * n_samples * gamma / 32) * log(32 * n_samples / gamma**2)
    bound = 2 * n_pairs / n_samples * (capacity + log(4 / delta))
    if n_samples * bound <= 2:
        raise ValueError(
            f"the theorem needs more than 2 / bound = {2 / bound:.6g} examples, not {n_samples}"
        )
    return bound
