"""
Sets of labels, and where they end
==================================

What to take along today? It depends on the temperature and on the chance of rain, and the answer is
a set: an umbrella, a coat, sunglasses, some of these, or nothing at all.

``calibrate=True`` adds one more label that no one sees. The labels of the set stand above it, all
others below. So the learner finds out where a set ends, and an empty set says something too.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

from kesler import Constraints, OnlineClassifier

LABELS = np.array(["coat", "sunglasses", "umbrella"])
rng = np.random.default_rng(1)
warmth, rain = rng.uniform(-5, 30, 500), rng.uniform(0, 100, 500)
needed = np.stack([warmth < 11, rain < 2 * warmth - 5, rain > 55], axis=1)
sets = [LABELS[row] for row in needed]
print([list(map(str, labels)) for labels in sets[:4]])


def features(warmth, rain):
    return np.stack([(warmth - 12) / 10, (rain - 50) / 30], axis=-1)


X, c = features(warmth, rain), Constraints.from_labelsets(sets, labels=LABELS, calibrate=True)
model = OnlineClassifier("pa1", max_iter=100, random_state=0).fit(X, c)
print(f"{model.score(X, c):.1%} of the sets are exactly right")

# %%
# The model answers with an indicator, a column for each label. Its regions are coloured, and the
# dots are the days that it learned from. In the middle lies the empty set: mild days on which rain
# is neither likely nor out of the question.

BITS = np.array([1, 2, 4])  # a number for each set
COLOURS = ListedColormap(
    ["#9ca3af", "#1d4ed8", "#eab308", "#0d9488", "#c2410c", "#7c3aed", "#15803d", "#111827"]
)
warm, wet = np.meshgrid(np.linspace(-5, 30, 250), np.linspace(0, 100, 250))
answers = model.predict(features(warm, wet).reshape(-1, 2)) @ BITS
answers = answers.reshape(warm.shape)

figure, axes = plt.subplots(figsize=(7, 4.8), layout="constrained")
colours = {"cmap": COLOURS, "vmin": -0.5, "vmax": 7.5}
axes.pcolormesh(warm, wet, answers, alpha=0.25, rasterized=True, **colours)
axes.scatter(warmth, rain, c=needed @ BITS, s=9, **colours)
for number in np.unique(answers):
    here = answers == number
    name = " + ".join(LABELS[(number & BITS) > 0]) or "nothing"
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 2}
    axes.text(warm[here].mean(), wet[here].mean(), name, ha="center", va="center", bbox=box)
axes.set(xlabel="temperature, °C", ylabel="chance of rain, %")
plt.show()
