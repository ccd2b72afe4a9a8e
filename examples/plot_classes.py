"""
Where one-vs-all cannot win
===========================

Three classes in the plane. The large points count ten times, the small one once. Some weights sort
every point rightly, so sorting can win. One-vs-all cannot. It wants for each class a line between
that class and the rest, and no line has the squares alone on its side: the small one stands in the
midst of large points of other classes.

Both learners are the same network under the perceptron rule. Only the update differs. In
one-vs-all each class learns its own line, drawn dashed, and the largest score wins. In constraint
classification a mistake moves two classes at once: the right one up, its strongest rival down.

One-vs-all goes round in a circle here, so its picture shows the mean of its weights over 1000
passes, which is kinder to it than its last weights. The other learner stops by itself.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

from kesler import OnlineClassifier
from kesler.datasets import make_ova_counterexample

COLOURS, MARKERS = ["#c2410c", "#1d4ed8", "#15803d"], ["s", "o", "^"]

X, y = make_ova_counterexample()
models = {
    "one-vs-all": OnlineClassifier(update="independent", max_iter=1000, random_state=0),
    "constraint classification": OnlineClassifier(average=False, max_iter=1000, random_state=0),
}
side = np.linspace(-7.5, 9.5, 300)
plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)

figure, panels = plt.subplots(ncols=2, figsize=(9, 4.9), layout="constrained")
for axes, (name, model) in zip(panels, models.items(), strict=True):
    model.fit(X, y)
    wrong = int((model.predict(X) != y).sum())
    print(f"{name}: {model.n_iter_} passes, {model.outcome_.status}, {wrong} of {y.size} wrong")

    scores = model.decision_function(plane).reshape(side.size, side.size, 3)
    regions = scores.argmax(axis=-1)
    axes.pcolormesh(side, side, regions, cmap=ListedColormap(COLOURS), alpha=0.18, rasterized=True)
    for label, (colour, marker) in enumerate(zip(COLOURS, MARKERS, strict=True)):
        if name == "one-vs-all":
            own = scores[..., label]
            axes.contour(side, side, own, levels=[0], colors=colour, linestyles="--")
        heavy = X[1:][y[1:] == label]
        axes.plot(*heavy.T, marker, color=colour, markersize=13, markeredgecolor="white")
    axes.plot(*X[0], "s", color=COLOURS[0], markersize=6)
    axes.plot(*X[0], "s", markersize=13, markerfacecolor="none", markeredgecolor="#111827")
    axes.set_title(f"{name}: {wrong or 'none'} of {y.size} wrong", size=11)
    axes.set(xlim=side[[0, -1]], ylim=side[[0, -1]], aspect="equal", xticks=[], yticks=[])
plt.show()
