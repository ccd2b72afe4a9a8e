"""
An optimum that can be checked
==============================

``ConstraintSVC`` minimises, and says how far from the minimum it is. Every set of dual variables
gives a number that the objective cannot fall below; the relative distance between the two is the
gap. On the left it falls while the handwritten digits are learned. ``fit`` stops at ``tol``, and
what stands in ``duality_gap_`` was computed anew in double precision from the weights and the dual
variables.

On the right are three kinds of iris by two of their measures, and the regions of the classes. The
examples with a ring have dual variables that are not zero. They alone hold the borders: without all
the others the optimum would be the same.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from sklearn.datasets import load_digits, load_iris

from kesler import ConstraintSVC

COLOURS = ["#c2410c", "#1d4ed8", "#15803d"]
figure, (left, right) = plt.subplots(ncols=2, figsize=(10, 4.3), layout="constrained")

X, y = load_digits(return_X_y=True)
for C, colour in zip([0.01, 0.1, 1], ["#93c5fd", "#1d4ed8", "#111827"], strict=True):
    model = ConstraintSVC(C, tol=1e-5, random_state=0).fit(X / 16, y)
    _, seconds, gaps = np.transpose(model.outcome_.history)
    left.plot(1000 * seconds, gaps, color=colour, marker="o", markersize=3, label=f"C = {C}")
    print(
        f"C = {C}: {model.outcome_.status}, "
        f"{model.dual_objective_:.4f} <= minimum <= {model.primal_objective_:.4f}"
    )
left.axhline(1e-5, color="#6b7280", linestyle="--")
left.set(
    yscale="log", xlabel="milliseconds", ylabel="relative duality gap", title="digits, C = 0.1"
)
left.spines[["top", "right"]].set_visible(False)
left.legend(frameon=False)

# %%
# ``dual_coef_`` has a row for each training example. It is sparse, and made when it is asked for.

iris = load_iris()
X, y = iris.data[:, 2:], iris.target
model = ConstraintSVC(C=1, tol=1e-6, random_state=0).fit(X, y)
holds = np.diff(model.dual_coef_.indptr) > 0
print(f"{holds.sum()} of {y.size} irises hold the borders")
others = ConstraintSVC(C=1, tol=1e-6, random_state=0).fit(X[holds], y[holds])
print(f"objective of all {model.primal_objective_:.4f}, of these {others.primal_objective_:.4f}")

side = np.linspace(0.5, 7.2, 300), np.linspace(-0.1, 2.7, 300)
plane = np.stack(np.meshgrid(*side), axis=-1)
regions = model.predict(plane.reshape(-1, 2)).reshape(300, 300)
right.pcolormesh(*side, regions, cmap=ListedColormap(COLOURS), alpha=0.18, rasterized=True)
for label, colour in enumerate(COLOURS):
    right.plot(*X[y == label].T, "o", color=colour, markersize=4, label=iris.target_names[label])
right.plot(*X[holds].T, "o", markersize=8, markerfacecolor="none", markeredgecolor="#111827")
right.set(xlabel="petal length, cm", ylabel="petal width, cm", title="irises, C = 1")
right.legend(loc="upper left", frameon=False)
plt.show()
