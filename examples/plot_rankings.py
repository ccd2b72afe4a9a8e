"""
A ranking says more than its winner
===================================

Each example ranks eight labels. What is lost if it names only some of them? A label that an example
does not rank is unknown there, not bad: it stands in no pair, and nothing is learned about it.

Three learners see the same rows: with full rankings, with rankings of four labels drawn anew for
each row, or with the winner only, as a class. All of them then rank all eight labels of rows that
they have not seen.
"""

import matplotlib.pyplot as plt
import numpy as np

from kesler import Constraints, OnlineClassifier
from kesler.datasets import make_rankings
from kesler.metrics import kendall_tau

SIZES, N_TEST, SEEDS = np.array([30, 100, 300, 1000]), 1000, range(5)
COLOURS = {"full rankings": "#1d4ed8", "four labels": "#15803d", "the winner only": "#c2410c"}


def draw(seed, missing):
    return make_rankings(SIZES[-1] + N_TEST, 20, 8, missing=missing, random_state=seed)


tau = {name: np.empty((SIZES.size, len(SEEDS))) for name in COLOURS}
for seed in SEEDS:
    X, full, coef = draw(seed, missing=0.0)
    supervision = {
        "full rankings": full,
        "four labels": draw(seed, missing=0.5)[1],  # the same rows by the same seed
        "the winner only": Constraints.from_classes((X @ coef.T).argmax(axis=1), labels=range(8)),
    }
    for name, c in supervision.items():
        for i, n in enumerate(SIZES):
            model = OnlineClassifier(update="all", max_iter=20, random_state=0).fit(X[:n], c[:n])
            scores = model.decision_function(X[-N_TEST:])
            tau[name][i, seed] = kendall_tau(full[-N_TEST:], scores)

# %%
# Kendall's tau is 1 where all pairs of labels are in order, and 0 for guesses. A hundred full
# rankings lead about as far as three hundred rankings of four labels, or a thousand winners.

figure, axes = plt.subplots(figsize=(7, 4.3), layout="constrained")
for name, colour in COLOURS.items():
    mean = tau[name].mean(axis=1)
    print(f"{name:16}", *(f"{value:.2f}" for value in mean))
    axes.plot(SIZES, mean, color=colour, marker="o", markersize=5, label=name)
axes.legend(loc="lower right", frameon=False)
axes.set(xscale="log", xlabel="training rows", ylabel="Kendall's tau on new rows", ylim=(0, 1))
axes.set_xticks(SIZES, SIZES)
axes.minorticks_off()
axes.spines[["top", "right"]].set_visible(False)
axes.grid(axis="y", alpha=0.3)
plt.show()
