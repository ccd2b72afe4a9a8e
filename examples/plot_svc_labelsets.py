"""
How sure, label by label
========================

Some handwritten digits are laid over each other, one to three of them. Which? An indicator ``y`` is
fitted as calibrated sets: one more label stands between what is in the picture and what is not, so
that the learner knows where a set ends. ``calibration=5`` also finds, on scores that were
cross-validated in five parts, by what to divide them so that they are probabilities.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from kesler import ConstraintSVC

N, SHOWN = 800, (3, 2, 10)
digits = load_digits()
rng = np.random.default_rng(0)
picked = rng.integers(digits.target.size, size=(2 * N, 3))
used = np.arange(3) < rng.integers(1, 4, size=(2 * N, 1))
X = (digits.data[picked] * used[..., None]).max(axis=1) / 16
Y = (np.eye(10, dtype=int)[digits.target[picked]] * used[..., None]).max(axis=1)

model = ConstraintSVC(C=0.3, aggregate="sum", loss="squared_hinge", calibration=5, random_state=0)
model.fit(X[:N], Y[:N])
sure, there = model.predict_proba(X[N:]), Y[N:]
print(f"{(model.predict(X[N:]) == there).mean():.1%} of the answers on new pictures are right")

# %%
# Above are new pictures, and below how likely each digit is said to be in it; those that are in it
# are blue. On the right all answers on all new pictures are put into ten groups by how sure they
# are. Of a hundred answers of "80 %" about eighty should be right.

figure = plt.figure(figsize=(10, 4.2), layout="constrained")
grid = figure.add_gridspec(2, 5, height_ratios=[3, 2])
for column, i in enumerate(SHOWN):
    above, below = (figure.add_subplot(grid[row, column]) for row in range(2))
    above.imshow(X[N + i].reshape(8, 8), cmap="gray_r")
    above.set(xticks=[], yticks=[], title=", ".join(map(str, np.flatnonzero(there[i]))))
    below.bar(range(10), sure[i], color=np.where(there[i], "#1d4ed8", "#9ca3af"))
    below.set(ylim=(0, 1), xticks=range(10), yticks=[0, 1])
    below.spines[["top", "right"]].set_visible(False)

axes = figure.add_subplot(grid[:, 3:])
group = np.minimum((10 * sure).astype(int), 9).ravel()
count = np.bincount(group, minlength=10)
said, seen = (np.bincount(group, v.ravel(), 10) / count for v in (sure, there))
for one in zip(said, seen, count, strict=True):
    print("said {:.2f}, seen {:.2f}, of {}".format(*one))
axes.plot([0, 1], [0, 1], color="#6b7280", linestyle="--")
axes.plot(said, seen, color="#1d4ed8", marker="o")
axes.set(xlabel="said to be in the picture", ylabel="share that is", aspect="equal")
axes.spines[["top", "right"]].set_visible(False)
plt.show()
