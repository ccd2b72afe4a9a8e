"""
The worst pair, or all of them
==============================

Each row ranks eight labels by their scores, to which noise was added first. A long ranking is then
seldom right in every pair, and ``aggregate="max"`` looks at nothing but the worst one. Where it
cannot be put in order, the rest of the ranking counts for nothing. With some noise this is so of
nearly all rows, and then the optimum, certified, is weights of zero. ``aggregate="sum"`` counts
every pair, and learns from those that are right.

With either of them ``pairs="adjacent"`` stores the seven pairs of neighbours, and ``"all"`` all 28.
"""

import matplotlib.pyplot as plt
import numpy as np

from kesler import Constraints, ConstraintSVC
from kesler.metrics import kendall_tau

NOISE, N, SEEDS = np.array([0, 0.1, 0.2, 0.5, 1, 2]), 200, range(3)
STYLES = {
    ("sum", "all"): ("#1d4ed8", "-"),
    ("sum", "adjacent"): ("#1d4ed8", "--"),
    ("max", "all"): ("#c2410c", "-"),
    ("max", "adjacent"): ("#c2410c", "--"),
}
tau, norm = ({style: np.zeros(NOISE.size) for style in STYLES} for _ in range(2))
for seed in SEEDS:
    rng = np.random.default_rng(seed)
    X, sorter = rng.normal(size=(2 * N, 10)), rng.normal(size=(10, 8)) / np.sqrt(10)
    scores, wild = X @ sorter, rng.normal(size=(2 * N, 8))
    clean = Constraints.from_rankings(orders=np.argsort(-scores, axis=1), pairs="all")
    for i, noise in enumerate(NOISE):
        orders = np.argsort(-(scores + noise * wild), axis=1)
        for aggregate, pairs in STYLES:
            c = Constraints.from_rankings(orders=orders[:N], pairs=pairs)
            model = ConstraintSVC(0.1, aggregate=aggregate, tol=1e-2, random_state=0).fit(X[:N], c)
            found = kendall_tau(clean[N:], model.decision_function(X[N:]))
            tau[aggregate, pairs][i] += found / len(SEEDS)
            norm[aggregate, pairs][i] += np.linalg.norm(model.coef_) / len(SEEDS)

# %%
# Learned with noise, judged without it: on the left Kendall's tau with the rankings of new rows, on
# the right how large the weights became.

figure, (left, right) = plt.subplots(ncols=2, figsize=(10, 4), layout="constrained")
for style, (colour, line) in STYLES.items():
    name = f'"{style[0]}", {style[1]} pairs'
    print(f"{name:22} tau", *(f"{t:5.2f}" for t in tau[style]))
    look = {"color": colour, "linestyle": line, "marker": "o", "markersize": 4, "label": name}
    left.plot(range(NOISE.size), tau[style], **look)
    right.plot(range(NOISE.size), norm[style], **look)
left.set(ylim=(-0.05, 1), ylabel="Kendall's tau")
right.set(yscale="log", ylabel="norm of the weights")
for axes in (left, right):
    axes.set_xlabel("noise, in standard deviations of a score")
    axes.set_xticks(range(NOISE.size), [f"{noise:g}" for noise in NOISE])
    axes.spines[["top", "right"]].set_visible(False)
left.legend(frameon=False, loc="center right")
plt.show()
