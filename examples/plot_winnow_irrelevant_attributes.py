"""
Winnow and irrelevant attributes
================================

An example is a row of bits, and it is positive when at least two of the first ten are on. All other
bits say nothing. How much harder do they make it to learn?

Multiplicative updates pay for the *logarithm* of their number: each time it doubles, Winnow makes
a few more mistakes, and always about as many. Additive updates pay for every one of them, because
each mistake leaves a little weight on all bits that happened to be on. Both learners move only on a
mistake, so ``n_updates_`` counts the mistakes they make on a stream that is seen once.
"""

import matplotlib.pyplot as plt
import numpy as np

from kesler import OnlineClassifier

N_RELEVANT, AT_LEAST = 10, 2
N_BATCHES, BATCH = 20, 1000
N_STREAMS = 5
IRRELEVANT = 2 ** np.arange(4, 12)


def count_mistakes(rule, n_irrelevant, seed):
    rng = np.random.default_rng(seed)
    learner = OnlineClassifier(rule=rule, promotion=1.3, average=False)
    for _ in range(N_BATCHES):
        # With one bit in six on, half of the examples are positive.
        bits = rng.random((BATCH, N_RELEVANT + n_irrelevant), dtype=np.float32) < 1 / 6
        y = bits[:, :N_RELEVANT].sum(axis=1) >= AT_LEAST
        learner.partial_fit(bits.astype(np.float32), y)
    return learner.n_updates_


mistakes = {
    rule: np.array(
        [[count_mistakes(rule, n, seed) for n in IRRELEVANT] for seed in range(N_STREAMS)]
    )
    for rule in ("perceptron", "winnow")
}

# %%
# To the right the attributes double from mark to mark, so that a logarithm is a straight line. On
# the left both learners; on the right Winnow alone, one point for each stream, with the line that
# fits it best.

COLOURS = {"perceptron": "#c2410c", "winnow": "#1d4ed8"}
figure, (both, alone) = plt.subplots(ncols=2, figsize=(9, 4), layout="constrained")

for rule, colour in COLOURS.items():
    both.plot(IRRELEVANT, mistakes[rule].mean(axis=0), color=colour, marker="o", markersize=4)
both.text(820, 2600, "perceptron", color=COLOURS["perceptron"], ha="right")
both.text(900, 620, "Winnow", color=COLOURS["winnow"], ha="right")
both.set_ylabel(f"mistakes on {N_BATCHES * BATCH:,} examples")
both.set_title(f"At least {AT_LEAST} of {N_RELEVANT} bits, mean of {N_STREAMS} streams", size=11)

slope, level = np.polyfit(np.log2(IRRELEVANT), mistakes["winnow"].mean(axis=0), 1)
alone.plot(IRRELEVANT, slope * np.log2(IRRELEVANT) + level, color="#6b7280", linestyle="--")
for stream in mistakes["winnow"]:
    alone.plot(IRRELEVANT, stream, "o", color=COLOURS["winnow"], alpha=0.5, markersize=4)
alone.set_title(f"Winnow alone: {slope:.0f} more for each doubling", size=11)

for axes in (both, alone):
    axes.set_xscale("log", base=2)
    axes.set_xticks(IRRELEVANT, [str(n) for n in IRRELEVANT])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set_xlabel("irrelevant attributes")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.3)
plt.show()
