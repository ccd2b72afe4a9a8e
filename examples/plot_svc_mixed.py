"""
Four kinds of answers, one optimum
==================================

Of the same handwritten digits some have their class, some a set of three that the digit is one of,
some a comparison ("rather an 8 than a 3"), and some a ranking of four. ``Constraints.concatenate``
puts them into one training set, and ``ConstraintSVC`` finds the one best sorter for all of it.

"One of these three" is a ranking of two tiers here: the three above the seven others, with nothing
said among the three. What matters then is C, so the picture shows a range of it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from kesler import Constraints, ConstraintSVC

GRID, COUNTS = 10.0 ** np.arange(-2, 1.5, 0.5), (30, 200, 200, 200)
X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X / 16, y, test_size=600, random_state=0)
parts = np.split(np.arange(sum(COUNTS)), np.cumsum(COUNTS)[:-1])
rng = np.random.default_rng(0)


def others(labels, n):
    """n wrong digits for each label, all different."""
    order = np.argsort(rng.random((labels.size, 9)), axis=1)[:, :n] + 1
    return (labels[:, None] + order) % 10


known, tiers, compared, ranked = (y[rows] for rows in parts)
three = np.hstack([tiers[:, None], others(tiers, 2)])
ranks = np.full((tiers.size, 10), 2.0)
np.put_along_axis(ranks, three, 1.0, axis=1)
pairs = np.hstack([compared[:, None], others(compared, 1)])
four = np.hstack([ranked[:, None], others(ranked, 3)])
kinds = {
    "classes": Constraints.from_classes(known, labels=range(10)),
    "one of three": Constraints.from_rankings(ranks=ranks, labels=range(10)),
    "comparisons": Constraints.from_pairs(
        np.arange(compared.size), *pairs.T, n_samples=compared.size, labels=10
    ),
    "above three others": Constraints.from_rankings(
        orders=[[winner, losers] for winner, *losers in four.tolist()], labels=range(10)
    ),
}
kinds["all of them"] = Constraints.concatenate(list(kinds.values()))
print(kinds["all of them"])

# %%
# A class is worth nine pairs, "one of these three" twenty-one, a comparison one. Each answer weighs
# 1 over the number of its pairs, so that all answers count the same.

COLOURS = ["#6b7280", "#0d9488", "#eab308", "#7c3aed", "#c2410c"]
figure, axes = plt.subplots(figsize=(7.5, 4.3), layout="constrained")
for name, colour, rows in zip(kinds, COLOURS, [*parts, slice(sum(COUNTS))], strict=True):
    percent = []
    for C in GRID:
        model = ConstraintSVC(C, aggregate="sum", tol=1e-2, random_state=0)
        model.fit(X[rows], kinds[name], sample_weight=1 / kinds[name].sizes)
        percent.append(100 * np.mean(model.predict_ranking(X_test)[:, 0] != y_test))
    print(f"{name:20}", *(f"{value:5.1f}" for value in percent))
    width = 2.5 if name == "all of them" else 1.2
    label = f"{len(kinds[name])} {name}" if width < 2 else name
    axes.plot(GRID, percent, color=colour, linewidth=width, marker="o", markersize=4, label=label)
axes.set(xscale="log", xlabel="C", ylabel="% errors on 600 other digits", ylim=(0, None))
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
plt.show()
