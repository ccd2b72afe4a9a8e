"""
Weak labels beside strong ones
==============================

"What digit is this?" has an answer worth nine pairs of labels: the right digit stands above nine
others. "Is it a 3 or an 8?" has an answer of one pair. ``Constraints.concatenate`` puts answers of
both kinds into one training set.

Here 50 handwritten digits have their class, and more and more others one comparison each, of the
right digit and a wrong one.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from kesler import Constraints, OnlineClassifier

N_STRONG, SEEDS = 50, range(5)
WEAK = np.array([50, 100, 200, 400, 800, 1200])
X, y = load_digits(return_X_y=True)
X = X / 16


def errors(seed):
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=500, random_state=seed)
    strong = Constraints.from_classes(y_train[:N_STRONG], labels=range(10))
    right = y_train[N_STRONG:]
    wrong = (right + np.random.default_rng(seed).integers(1, 10, right.size)) % 10
    rows = range(right.size)
    weak = Constraints.from_pairs(rows, right, wrong, n_samples=right.size, labels=10)

    def error(first, last, c):
        model = OnlineClassifier("pa1", C=0.1, max_iter=20, random_state=0)
        return np.mean(model.fit(X_train[first:last], c).predict(X_test) != y_test)

    for n in WEAK:
        yield (
            error(0, N_STRONG, strong),
            error(N_STRONG, N_STRONG + n, weak[:n]),
            error(0, N_STRONG + n, Constraints.concatenate([strong, weak[:n]])),
        )


percent = 100 * np.mean([list(errors(seed)) for seed in SEEDS], axis=0)
names = [f"{N_STRONG} classes", "comparisons", "both"]
print("comparisons ", *(f"{n:5}" for n in WEAK))
for name, values in zip(names, percent.T, strict=True):
    print(f"{name:12}", *(f"{value:5.1f}" for value in values))

figure, axes = plt.subplots(figsize=(7, 4.3), layout="constrained")
for name, values, colour in zip(names, percent.T, ["#6b7280", "#c2410c", "#1d4ed8"], strict=True):
    axes.plot(WEAK, values, color=colour, marker="o", markersize=5, label=name)
axes.set(xscale="log", xlabel="comparisons", ylabel="% errors on 500 other digits", ylim=(0, 50))
axes.set_xticks(WEAK, WEAK)
axes.minorticks_off()
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
plt.show()
