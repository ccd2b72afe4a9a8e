"""
This rather than that
=====================

Four drinks, and people who were asked once each, at some hour of the day, which of *two* of them
they would rather have. Nobody ranked all four, nobody gave a mark, and one answer in ten is a whim.

An answer is one pair of labels. Many answers together rank all four drinks at every hour.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

from kesler import Constraints, OnlineClassifier

DRINKS = np.array(["beer", "coffee", "milk", "tea"])
COLOURS = ["#eab308", "#78350f", "#bfdbfe", "#15803d"]
PEAKS = np.array([20, 9, 6, 16])  # the hour at which each is wanted most
N = 3000


def clock(hour):
    angle = 2 * np.pi * np.asarray(hour) / 24
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1)


rng = np.random.default_rng(0)
hour, rows = rng.uniform(0, 24, N), np.arange(N)
wanted = clock(hour) @ clock(PEAKS).T  # the nearer to its hour, the more
one, other = np.argsort(rng.random((N, 4)), axis=1)[:, :2].T
prefers_one = (wanted[rows, one] > wanted[rows, other]) ^ (rng.random(N) < 0.1)
over, under = np.where(prefers_one, [one, other], [other, one])
answers = Constraints.from_pairs(rows, DRINKS[over], DRINKS[under], n_samples=N, labels=DRINKS)
print(*np.asarray(answers)[:3], sep="\n")

model = OnlineClassifier(max_iter=20, random_state=0).fit(clock(hour), answers)
print(f"from 6 to 22 o'clock: {', '.join(model.predict(clock(range(6, 23, 4))))}")

# %%
# Each row of a picture is a place: the favourite on top, the least wanted at the bottom. The orders
# on the right come from the answers alone.

day = np.linspace(0, 24, 500)
orders = {
    "as wanted": DRINKS[np.argsort(-clock(day) @ clock(PEAKS).T, axis=1)],
    "as learned": model.predict_ranking(clock(day)),
}
figure, panels = plt.subplots(ncols=2, figsize=(9, 3.4), sharey=True, layout="constrained")
for axes, (title, order) in zip(panels, orders.items(), strict=True):
    places = np.searchsorted(DRINKS, order).T
    picture = {"aspect": "auto", "extent": (0, 24, 4.5, 0.5), "interpolation": "nearest"}
    axes.imshow(places, ListedColormap(COLOURS), **picture)
    axes.set(xlabel="hour of the day", xticks=range(0, 25, 6), yticks=range(1, 5), title=title)
    axes.hlines([1.5, 2.5, 3.5], 0, 24, color="white")
panels[0].set_ylabel("place")
patches = [plt.Rectangle((0, 0), 1, 1, color=colour) for colour in COLOURS]
figure.legend(patches, DRINKS, loc="outside lower center", ncols=4, frameon=False)
plt.show()
