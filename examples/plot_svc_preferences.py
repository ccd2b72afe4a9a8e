"""
Rather, and much rather
=======================

Four drinks again, and people who were asked at some hour of the day which of two they would rather
have. This time they also say how much: "rather" or "much rather". A pair of labels carries a
*margin*, by how much the two scores should differ, and one of 3 in place of 1 says "much".

The learner minimises hinge losses, so a pair costs nothing once its scores differ by its margin. A
tenth of the answers is a whim; these end up left of zero.
"""

import matplotlib.pyplot as plt
import numpy as np

from kesler import Constraints, ConstraintSVC

DRINKS = np.array(["beer", "coffee", "milk", "tea"])
PEAKS, MUCH, N = np.array([20, 9, 6, 16]), 0.8, 2000


def clock(hour):
    angle = 2 * np.pi * np.asarray(hour) / 24
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1)


rng = np.random.default_rng(0)
X, rows = clock(rng.uniform(0, 24, N)), np.arange(N)
wanted = X @ clock(PEAKS).T
one, other = np.argsort(rng.random((N, 4)), axis=1)[:, :2].T
by = wanted[rows, one] - wanted[rows, other]
prefers_one = (by > 0) ^ (rng.random(N) < 0.1)
over, under = np.where(prefers_one, [one, other], [other, one])
much = np.abs(by) > MUCH

fits = {}
for name, margin in (("all margins 1", np.ones(N)), ("margin 3 for much", np.where(much, 3, 1))):
    answers = Constraints.from_pairs(
        rows, DRINKS[over], DRINKS[under], n_samples=N, labels=DRINKS, margin=margin
    )
    model = ConstraintSVC(C=1, random_state=0).fit(X, answers)
    scores = model.decision_function(X)
    fits[name] = margin, scores[rows, over] - scores[rows, under]
    done = np.mean(fits[name][1] >= margin)
    print(f"{name}: gap {model.duality_gap_:.0e}, {done:.0%} of the answers cost nothing")

# %%
# How far apart the scores of the two drinks of an answer stand. Dashed lines are the margins.

figure, panels = plt.subplots(ncols=2, figsize=(10, 3.9), sharey=True, layout="constrained")
for axes, (name, (margin, difference)) in zip(panels, fits.items(), strict=True):
    bins = np.linspace(-6.5, 6.5, 53)
    for which, label, colour in ((~much, "rather", "#0d9488"), (much, "much rather", "#c2410c")):
        axes.hist(difference[which], bins, color=colour, alpha=0.6, label=label)
        middle = np.median(difference[which])
        print(f"{name}, {label}: half of the differences are above {middle:.1f}")
    for value in np.unique(margin):
        axes.axvline(value, color="#111827", linestyle="--", linewidth=1)
    axes.set(xlabel="score of the one less that of the other", title=name)
    axes.spines[["top", "right"]].set_visible(False)
panels[0].set_ylabel("answers")
panels[0].legend(frameon=False)
plt.show()
