"""One pass of on-line learning: examples per second against scikit-learn and Vowpal Wabbit.

Every learner sees the same float32 training rows once, in the same order, on one thread, and is
timed around its whole fit: reading its input (Vowpal Wabbit: its binary cache), checks and set-up
included. Test accuracy stands beside every time, because a fast pass that learns less is no win.
Kesler's line is `OnlineClassifier` with the settings printed; `ratio` is the peer's best time
over Kesler's best time in this run.

    python benchmarks/online.py                 # all sets, best of 5
    python benchmarks/online.py --sets sorting text-like --repeat 3
    python benchmarks/online.py --strict        # exit 1 if a peer or a set is missing, or a target

The share of the machine: bytes that one scoring of all rows must read, per second of the whole fit,
over the bandwidth of a large copy; and its multiply-adds per second over those of a single-threaded
matrix product.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

import _sets
from kesler import OnlineClassifier, _core

TARGET = 5.0
SETTINGS: dict[str, dict[str, Any]] = {
    "dense": {},
    "sparse": {},
}


class Timing(NamedTuple):
    """Best seconds of one pass, and the accuracy on the test part."""

    seconds: float
    accuracy: float


def best_of(repeat: int, fit: Callable[[], Any]) -> tuple[float, Any]:
    """The shortest of several runs, and what the last one made."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        made = fit()
        times.append(time.perf_counter() - start)
    return min(times), made


def kesler(data: _sets.Split, repeat: int) -> Timing:
    settings = SETTINGS["sparse" if sp.issparse(data.X) else "dense"]

    def fit() -> OnlineClassifier:
        model = OnlineClassifier(**settings, max_iter=1, shuffle=False)
        return model.fit(data.X, data.y)

    seconds, model = best_of(repeat, fit)
    return Timing(seconds, model.score(data.X_test, data.y_test))


def scikit_learn(data: _sets.Split, repeat: int, shuffle: bool) -> Timing:
    from sklearn.linear_model import SGDClassifier

    def fit() -> SGDClassifier:
        model = SGDClassifier(
            loss="perceptron",
            learning_rate="constant",
            eta0=1.0,
            penalty=None,
            max_iter=1,
            tol=None,
            shuffle=shuffle,
            random_state=0,
        )
        return model.fit(data.X, data.y)

    seconds, model = best_of(max(1, repeat // 2), fit)
    return Timing(seconds, model.score(data.X_test, data.y_test))


def vowpal_wabbit(data: _sets.Split, repeat: int) -> Timing:
    from vowpalwabbit import Workspace

    with tempfile.TemporaryDirectory() as folder:
        train, test = Path(folder, "train.vw"), Path(folder, "test.vw")
        write_vw(train, data.X, data.y)
        write_vw(test, data.X_test, data.y_test)
        # Enough bits that features of different classes rarely share a weight.
        bits = max(18, int(np.ceil(np.log2(data.X.shape[1] * data.n_labels))))
        model = Path(folder, "model")
        common = f"--oaa {data.n_labels} -b {bits} --quiet"
        cached = f"{common} --cache_file {folder}/train.cache"
        Workspace(f"{cached} -d {train}").finish()  # writes the cache

        def fit() -> None:
            Workspace(f"{cached} -d {train} -f {model}").finish()  # reads the cache

        seconds, _ = best_of(max(1, repeat // 2), fit)
        answers = Path(folder, "answers")
        Workspace(f"-t -i {model} -d {test} -p {answers} --quiet").finish()
        predicted = np.loadtxt(answers).astype(int) - 1
    return Timing(seconds, float(np.mean(predicted == data.y_test)))


def write_vw(path: Path, X: Any, y: np.ndarray) -> None:
    """Rows as `class | feature:value ...`, classes from 1; zeros are left out."""
    rows = sp.csr_matrix(X)
    parts = np.char.add(
        np.char.add(rows.indices.astype("U"), ":"), np.char.mod("%.6g", rows.data)
    ).tolist()
    with path.open("w") as out:
        for label, begin, end in zip(y + 1, rows.indptr[:-1], rows.indptr[1:], strict=True):
            out.write(f"{label} | {' '.join(parts[begin:end])}\n")


def machine() -> tuple[float, float]:
    """Bytes per second of a large copy, and multiply-adds per second of a matrix product."""
    source = np.ones(64 << 20, dtype=np.uint8)
    target = np.empty_like(source)
    copy, _ = best_of(5, lambda: np.copyto(target, source))
    a = np.ones((2048, 1024), dtype=np.float32)
    with threadpool_limits(1):
        product, _ = best_of(5, lambda: a @ a.T)
    return 2 * source.size / copy, 2048 * 2048 * 1024 / product


def bytes_read(data: _sets.Split) -> int:
    """Bytes that scoring every row once must read: X, and for sparse rows, whose weights do not
    stay in the nearest caches, the weights of all labels for each non-zero.
    """
    if not sp.issparse(data.X):
        return data.X.nbytes
    row = _core.lanes_for(data.n_labels) * data.X.data.itemsize
    return data.X.data.nbytes + data.X.indices.nbytes + data.X.nnz * row


def main() -> int:
    sets: dict[str, Callable[[], _sets.Split]] = {
        "sorting": _sets.sorting,
        "letter": _sets.letter,
        "mnist": _sets.mnist,
        "text-like": _sets.text_like,
    }
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", choices=sets, default=list(sets))
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--strict", action="store_true")
    options = parser.parse_args()

    bandwidth, arithmetic = machine()
    print(
        f"instruction set {_core.isa()}, load {os.getloadavg()[0]:.2f}, copy "
        f"{bandwidth / 1e9:.1f} GB/s, product {arithmetic / 1e9:.0f} G multiply-adds/s, one thread"
    )
    for kind, settings in SETTINGS.items():
        print(f"Kesler on {kind} rows: OnlineClassifier({settings})")
    peers: dict[str, Callable[[_sets.Split, int], Timing]] = {
        "SGDClassifier": lambda data, repeat: scikit_learn(data, repeat, shuffle=False),
        "SGDClassifier, shuffled": lambda data, repeat: scikit_learn(data, repeat, shuffle=True),
        "Vowpal Wabbit --oaa": vowpal_wabbit,
    }
    print(
        f"\n{'set':<11} {'learner':<24} {'seconds':>8} {'examples/s':>11} {'accuracy':>8} "
        f"{'ratio':>6}"
    )
    problems = []
    for name in options.sets:
        if name in ("letter", "mnist") and _sets.missing_data():
            problems.append(f"{name}: {_sets.missing_data()}")
            continue
        data = sets[name]()
        ours = kesler(data, options.repeat)
        results = {"Kesler": ours}
        for peer, measure in peers.items():
            try:
                results[peer] = measure(data, options.repeat)
            except ImportError as error:
                problems.append(f"{name}: {peer} is missing ({error})")
        again = kesler(data, options.repeat)  # after the peers: the machine may have changed
        ours = results["Kesler"] = Timing(min(ours.seconds, again.seconds), ours.accuracy)
        for learner, timing in results.items():
            ratio = "" if learner == "Kesler" else f"{timing.seconds / ours.seconds:6.1f}"
            print(
                f"{name:<11} {learner:<24} {timing.seconds:8.4f} "
                f"{data.X.shape[0] / timing.seconds:11.0f} {timing.accuracy:8.4f} {ratio:>6}",
                flush=True,
            )
            if learner != "Kesler":
                if timing.seconds < TARGET * ours.seconds:
                    problems.append(f"{name}: less than {TARGET:g} x {learner}")
                if timing.accuracy > ours.accuracy:
                    problems.append(f"{name}: {learner} is more accurate")
        stored = data.X.nnz if sp.issparse(data.X) else data.X.size
        print(
            f"{name:<11} share of the machine: "
            f"{bytes_read(data) / ours.seconds / bandwidth:.0%} of the copy bandwidth, "
            f"{stored * data.n_labels / ours.seconds / arithmetic:.0%} of the product's arithmetic"
        )
    for problem in problems:
        print(problem)
    return 1 if options.strict and problems else 0


if __name__ == "__main__":
    sys.exit(main())
