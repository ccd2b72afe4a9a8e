"""Throws random inputs, well-formed and malformed, at the Python API and at the core.

    python tests/fuzz.py --examples 100000 --seed 0

An input is accepted, and then what it made is checked: a fitted model has finite weights and
predicts only labels it knows, constraints agree with themselves. Or it is refused: by one of
`REFUSALS`, with a message, and a refused `fit` leaves the estimator as it was. All else is a fault.
The inputs run in a process of their own, so that a crash or a hang is counted, named and stepped
over. Input number i of a seed is always the same; `--only i` runs it alone and says what it does.

Left out: numbers of labels or examples that are merely large (a billion), because NumPy would try
and the machine would swap; and sample weights above 1000, because a weight of w is up to w
presentations.
"""

from __future__ import annotations

import argparse
import copy
import datetime
import decimal
import faulthandler
import multiprocessing
import pickle
import random
import sys
import traceback
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp

from kesler import Constraints, OnlineClassifier, _core

REFUSALS = (
    ValueError,
    TypeError,
    IndexError,
    MemoryError,
    OverflowError,
    FloatingPointError,
    FutureWarning,  # scikit-learn 1.6 gives one for bytes; later versions refuse them
)
HANG = 60.0  # seconds that one input may take
MOST_CRASHES = 20

ATOMS: list[Any] = [
    0, 1, 2, -1, 7, 2**62, 2**63, 2**64, -(2**63) - 1, 10**30, 0.0, -0.0, 0.5, 1e308, 1e-320,
    float("nan"), float("inf"), -float("inf"), True, False, None, "", "a", "é" * 3, "0", b"", b"a",
    1j, (), [], {}, set(), [[]], [1, [2]], object(), int, Ellipsis, slice(None), len,
    np.int8(-128), np.uint64(2**64 - 1), np.float16(2), np.float32("nan"), np.str_("a"),
    np.bool_(True), np.datetime64("NaT", "D"), np.timedelta64(1, "s"), np.array(3), np.array([]),
    np.array([[1, 2]]), Fraction(1, 2), decimal.Decimal("NaN"), datetime.date(2020, 2, 29), pd.NA,
    pd.NaT, pd.Timestamp("2020-01-01"), pd.DataFrame(), pl.DataFrame(), sp.csr_matrix((2, 2)),
]  # fmt: skip

POOLS: list[list[Any]] = [
    ["a", "b", "c", "dd"],
    [0, 1],
    [0, 1, 2, 3],
    [3, -5, 40, 2**40],
    [0.5, 1.0, -2.0],
    [True, False],
    [b"a", b"b"],
    ["x"],
    [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)],
]


class Fault(Exception):
    """The library did what it must not do."""


class Fuzzer:
    """One input: what is drawn for it, what is asked of the library, whether that was refused."""

    def __init__(self, seed: int, number: int, tell: bool = False) -> None:
        self.r = random.Random(f"{seed}/{number}")
        self.g = np.random.default_rng([abs(seed), number])
        self.asked: list[tuple[str, Any, tuple[Any, ...], dict[str, Any]]] = []
        self.refused = False
        self.tell = tell

    def run(self) -> None:
        _core.use_isa(self.r.choice(_core.available_isas()))
        scenarios = [self.supervision, self.relations, self.learning, self.rows_and_scores]
        weights = [4, 3, 3, 4, 2]
        self.r.choices([*scenarios, self.orders_and_passes], weights)[0]()

    def ask(self, what: str, f: Callable[..., Any], *args: Any, **named: Any) -> tuple[bool, Any]:
        """Call f; (True, answer), or (False, None) where it refused."""
        owner = getattr(f, "__self__", None)
        self.asked.append((what, owner, args, named))
        if self.tell:
            print(describe(*self.asked[-1]), flush=True)
        try:
            return True, f(*args, **named)
        except REFUSALS as error:
            if self.tell:
                print(f"  refused: {type(error).__name__}: {error}", flush=True)
            if not str(error).strip():
                raise Fault(f"{type(error).__name__} without a message") from error
            self.refused = True
            return False, None
        except Exception as error:
            raise Fault(f"{type(error).__name__}: {error}") from error

    def chance(self, share: float) -> bool:
        return self.r.random() < share

    # ---- what is drawn ------------------------------------------------------------------------

    def atom(self) -> Any:
        return self.r.choice(ATOMS)

    def or_atom(self, value: Any, share: float = 0.06) -> Any:
        return self.atom() if self.chance(share) else value

    def entries(self, pool: list[Any], n: int, spoil: float = 0.08) -> list[Any]:
        drawn = [self.r.choice(pool) for _ in range(n)]
        if drawn and self.chance(spoil):
            drawn[self.r.randrange(n)] = self.atom()
        return drawn

    def contained(self, values: list[Any]) -> Any:
        """The list in some container that a user may have it in; a list if that is impossible."""
        kinds: list[Callable[[list[Any]], Any]] = [
            list,
            tuple,
            np.array,
            lambda v: np.array(v, dtype=object),
            lambda v: read_only(np.array(v)),
            lambda v: np.repeat(np.array(v), 2)[::2],
            lambda v: np.array(v)[::-1],
            lambda v: np.array(v).reshape(-1, 1),
            pd.Series,
            lambda v: pd.Series(v, index=range(5, 5 + len(v))),
            pd.Categorical,
            series,
            lambda v: pl.Series(v, dtype=pl.Categorical),
            iter,
            set,
            lambda v: np.array(
                v, dtype=self.r.choice(["i1", "u8", "f4", "f2", ">i4", "S3", "M8[s]"])
            ),
            lambda v: dict.fromkeys(map(str, v)),
        ]
        kind = self.r.choice(kinds)
        return self.drawn(lambda: kind(values), values)

    def length(self) -> int:
        return self.r.choice([0, 1, 1, 2, 3, 3, 4, 5, 8])

    def nested(self, pool: list[Any], n: int, depth: int) -> list[Any]:
        """n lists of labels, with lists inside where depth is 2."""
        made: list[Any] = []
        for _ in range(n):
            row: list[Any] = self.r.sample(pool, self.r.randint(0, len(pool)))
            if depth == 2 and len(row) > 1 and self.chance(0.4):
                row[:2] = [self.r.choice([list, tuple, set, frozenset])(row[:2])]
            if self.chance(0.02):
                row.append(self.or_atom(self.r.choice(pool), 0.5))
            made.append(self.contained(row) if self.chance(0.1) else row)
        if made and self.chance(0.04):
            made[self.r.randrange(n)] = self.atom()
        return made

    def dense(self, n: int, d: int) -> np.ndarray:
        g = self.g
        content = self.r.choices(
            ["normal", "small", "zero", "huge", "tiny", "holes"], [8, 4, 1, 1, 1, 1]
        )
        X = {
            "normal": lambda: g.standard_normal((n, d)),
            "small": lambda: g.integers(-2, 3, (n, d)).astype(float),
            "zero": lambda: np.zeros((n, d)),
            "huge": lambda: (
                g.standard_normal((n, d)) * 10.0 ** self.r.choice([3, 6, 15, 30, 150, 300])
            ),
            "tiny": lambda: g.standard_normal((n, d)) * 10.0 ** -self.r.choice([8, 20, 150, 300]),
            "holes": lambda: np.where(
                g.random((n, d)) < 0.2, self.r.choice([np.nan, np.inf, -np.inf]), 1.0
            ),
        }[content[0]]()
        kind = self.r.choices(
            ["f8", "f4", "i8", "u1", "?", "f2", ">f8", "O", "g", "c8", "U4"],
            [30, 20, 2, 1, 1, 1, 1, 1, 1, 1, 1],
        )[0]
        with np.errstate(all="ignore"):
            return X.astype(kind)

    def laid_out(self, X: np.ndarray) -> np.ndarray:
        layout = self.r.choice(
            ["C", "C", "F", "strided", "reversed", "read-only", "offset", "wide"]
        )
        if layout == "F":
            return np.asfortranarray(X)
        if layout == "strided":
            return np.repeat(X, 2, axis=0)[::2]
        if layout == "reversed":
            return X[::-1]
        if layout == "read-only":
            return read_only(X)
        if layout == "offset":
            raw = np.zeros(X.nbytes + 1, dtype=np.uint8)[1:]
            made = self.drawn(lambda: raw.view(X.dtype).reshape(X.shape), X.copy())
            made[...] = X
            return made
        if layout == "wide":
            return np.concatenate([X, X], axis=1)[:, : X.shape[1]]
        return X

    def sparse(self, X: np.ndarray) -> Any:
        made = self.drawn(lambda: sp.csr_matrix(X * (self.g.random(X.shape) < 0.6)), None)
        if made is None:  # a dtype that SciPy does not have
            made = sp.csr_matrix(np.eye(*X.shape))
        if self.chance(0.3):
            made.indices, made.indptr = made.indices.astype("i8"), made.indptr.astype("i8")
        if self.chance(0.2) and made.nnz > 1:
            order = self.g.permutation(made.nnz)  # rows out of order, columns twice
            made.indices = made.indices[order]
            made.has_sorted_indices = made.has_canonical_format = False
        if self.chance(0.12):
            self.corrupt(made)
        elif self.chance(0.3):
            form = self.r.choice(["csc", "coo", "lil", "bsr", "dok"])
            return self.drawn(lambda: made.asformat(form), made)
        return self.drawn(lambda: sp.csr_array(made), made) if self.chance(0.1) else made

    def corrupt(self, made: Any) -> None:
        """Break one promise of a CSR matrix, in a fresh copy of its arrays."""
        data, indices, indptr = made.data.copy(), made.indices.copy(), made.indptr.copy()
        far = self.r.choice([1, 2, 7, 10**3, 10**6, 2**31 - 100])
        way = self.r.randrange(10)
        if way == 0 and indices.size:
            indices[self.r.randrange(indices.size)] = far + made.shape[1]
        elif way == 1 and indices.size:
            indices[self.r.randrange(indices.size)] = -far
        elif way == 2:
            indptr[0] = self.r.choice([far, -far])
        elif way == 3:
            indptr[-1] = self.r.choice([far, -far])
        elif way in (4, 5) and indptr.size > 2:
            indptr[self.r.randrange(1, indptr.size - 1)] = self.r.choice([far, -far])
        elif way == 6:
            indptr = indptr[::-1].copy()
        elif way == 7:
            data = data[:-1]
        elif way == 8:
            indices = indices[: indices.size // 2]
        else:
            indptr = np.append(indptr, indptr[-1]) if self.chance(0.5) else indptr[:-1]
        made.data, made.indices, made.indptr = data, indices, indptr
        for flag in ("_has_sorted_indices", "_has_canonical_format"):
            vars(made).pop(flag, None)

    def X(self, n: int, d: int) -> Any:
        if self.chance(0.03):
            return self.atom()
        X = self.dense(n, d)
        way = self.r.random()
        if way < 0.3:
            return self.sparse(X)
        if way < 0.35:
            return X.tolist()
        if way < 0.36:
            return [row[: self.r.randint(0, d)] for row in X.tolist()]
        if way < 0.38:
            return X[..., None] if self.chance(0.5) else X.ravel()
        if way < 0.45:
            frames = [pd.DataFrame, lambda v: pl.DataFrame(v.tolist(), orient="row")]
            frame = self.r.choice(frames)
            return self.drawn(lambda: frame(X), X)
        return self.laid_out(X)

    def indicator(self, n: int, k: int) -> Any:
        Y = self.g.integers(0, 2, (n, k))
        if Y.size and self.chance(0.08):
            Y[self.r.randrange(n), self.r.randrange(k)] = self.r.choice([2, -1, 127])
        Y = Y.astype(self.r.choice(["i8", "?", "f8", "f4", "u1", "i1", "O", "U2"]))
        if self.chance(0.4):
            return self.sparse(Y)
        if self.chance(0.15):
            return pd.DataFrame(Y, columns=self.entries(["p", "q", "r", 1], k, 0.0))
        return self.laid_out(Y)

    def labels(self, pool: list[Any]) -> Any:
        """An argument labels= for entries of the pool."""
        way = self.r.random()
        if way < 0.5:
            return None
        if way < 0.9:
            return self.contained(self.r.sample(pool, len(pool)))
        return self.contained(self.entries(pool, self.length(), 0.3)) if way < 0.97 else self.atom()

    def rank_matrix(self, n: int, k: int) -> Any:
        ranks = self.g.integers(1, k + 2, (n, k)).astype(float)
        ranks[self.g.random((n, k)) < 0.2] = np.nan
        if ranks.size and self.chance(0.06):
            ranks.flat[self.r.randrange(ranks.size)] = self.r.choice([np.inf, -1e308])
        way = self.r.random()
        if way < 0.1:
            return pd.DataFrame(ranks)
        return ranks.tolist() if way < 0.2 else self.laid_out(ranks)

    def acyclic(self, pool: list[Any], n: int) -> tuple[list[int], list[Any], list[Any]]:
        rows, over, under = [], [], []
        for _ in range(self.length() if len(pool) > 1 and n else 0):
            a, b = sorted(self.r.sample(range(len(pool)), 2))
            if self.chance(0.02):
                a, b = b, self.r.choice([a, b])
            rows.append(self.r.randrange(n))
            over.append(pool[a])
            under.append(pool[b])
        return rows, over, under

    def constraints(
        self, n: int | None = None, orderly: bool = False, pool: list[Any] | None = None
    ) -> Constraints | None:
        """Constraints from any builder, or None where they were refused."""
        pool = self.r.choice(POOLS) if pool is None else pool
        n = self.length() if n is None else n
        spoil = 0.0 if orderly else 0.08
        builder = self.r.choice(["classes", "sets", "indicator", "orders", "ranks", "pairs"])
        labels = (pool if self.chance(0.5) else None) if orderly else self.labels(pool)
        if builder == "classes":
            y = self.entries(pool, n, spoil)
            y = y if orderly else self.or_atom(self.contained(y), 0.03)
            return self.ask("from_classes", Constraints.from_classes, y, labels)[1]
        if builder in ("sets", "indicator"):
            if builder == "indicator":
                k = len(pool) if labels is not None else self.length()
                Y = self.g.integers(0, 2, (n, k)) if orderly else self.indicator(n, k)
            else:
                Y = self.nested(pool, n, 1)
                Y = Y if orderly else self.or_atom(self.contained(Y), 0.03)
            calibrate = self.r.choice([True, False])
            return self.ask("from_labelsets", Constraints.from_labelsets, Y, labels, calibrate)[1]
        if builder in ("orders", "ranks"):
            how: dict[str, Any] = {
                "labels": labels if builder == "orders" else None,
                "pairs": self.r.choice(["adjacent", "all"]),
            }
            if builder == "orders":
                orders: Any = self.nested(pool, n, 2)
                if not orderly and self.chance(0.2):
                    orders = self.laid_out(
                        np.array([self.entries(pool, 3) for _ in range(n)], dtype="O").reshape(n, 3)
                    )
                how["orders"] = orders if orderly else self.or_atom(orders, 0.03)
            else:
                how["ranks"] = self.rank_matrix(n, self.length())
            if not orderly and self.chance(0.05):
                how[self.r.choice(["pairs", "labels", "ranks", "orders"])] = self.atom()
            return self.ask("from_rankings", Constraints.from_rankings, **how)[1]
        rows, over, under = self.acyclic(pool, n)
        named: dict[str, Any] = {"labels": pool}
        for name in ("margin", "weight"):
            if self.chance(0.4):
                named[name] = [self.r.choice([0, 0.5, 1, 3]) for _ in rows]
        positional: list[Any] = [rows, over, under, n]
        if not orderly:
            positional[:3] = [self.contained(v) if self.chance(0.2) else v for v in positional[:3]]
            if self.chance(0.2):
                positional[self.r.randrange(4)] = self.atom()
            if self.chance(0.1):
                named[self.r.choice(["labels", "margin", "weight"])] = self.atom()
        return self.ask("from_pairs", Constraints.from_pairs, *positional, **named)[1]

    # ---- constraints ----------------------------------------------------------------------------

    def supervision(self) -> None:
        c = self.constraints()
        if c is not None:
            examine(c)

    def relations(self) -> None:
        pool = self.r.choice(POOLS)
        c = self.constraints(orderly=True, pool=pool)
        if c is None:
            return
        n, k = c.n_samples, c.n_labels
        other = self.constraints(n, orderly=True, pool=pool if self.chance(0.9) else None)
        if other is None:
            return
        if self.chance(0.7) and c.labels.dtype == other.labels.dtype:
            labels = sorted({*c.labels.tolist(), *other.labels.tolist()})
            c, other = c.relabelled(labels), other.relabelled(labels)
        scores = self.dense(n, max(0, k + self.r.choice([0, 0, 0, 1, 1, -1, 2])))
        keys = [
            self.atom(),
            self.r.randint(-n - 1, n + 1),
            slice(
                self.r.choice([None, 1, -2]), self.r.choice([None, 9]), self.r.choice([None, -1, 0])
            ),
            self.g.integers(-n - 1, n + 1, self.length()),
            self.g.random(max(0, n + self.r.choice([0, 0, 1]))) < 0.5,
            [self.r.randint(-n, n) for _ in range(self.length())],
            (self.g.integers(0, n + 1, 3) if n else 0, Ellipsis),
            (0, 0),
            [],
            [[0]],
        ]
        asked = [
            ("errors", lambda: c.errors(self.or_atom(self.laid_out(scores)))),
            ("getitem", lambda: c[self.r.choice(keys)]),
            ("consistent", lambda: c.is_consistent_with(self.or_atom(other))),
            ("relabelled", lambda: c.relabelled(self.or_atom(self.contained(self.more(c))))),
            ("concatenate", lambda: Constraints.concatenate(self.or_atom([c, other, c[:1]]))),
            ("array", lambda: np.asarray(c)),
            (
                "array of",
                lambda: np.array(c, dtype=self.r.choice([None, "f8", "O", "i1", "U3", "c8"])),
            ),
            ("indicator", c.indicator),
            ("codes", c.class_codes),
            ("copy", lambda: copy.deepcopy(c)),
            ("pickle", lambda: pickle.loads(pickle.dumps(c))),
            ("repr", lambda: repr(c)),
        ]
        for what, f in self.r.sample(asked, 3):
            _, made = self.ask(what, f)
            if isinstance(made, Constraints):
                examine(made)

    def more(self, c: Constraints) -> list[Any]:
        own: list[Any] = c.labels.tolist()
        if own and self.chance(0.3):
            own.pop(self.r.randrange(len(own)))
        return own + self.entries(self.r.choice(POOLS), self.r.choice([0, 0, 2]))

    # ---- learning -------------------------------------------------------------------------------

    def estimator(self) -> OnlineClassifier:
        r = self.r
        settings: dict[str, Any] = {
            "rule": r.choice(_core.rule_names()),
            "update": r.choice(["all", "worst", "independent"]),
            "average": r.choice([True, False]),
            "C": r.choice([1.0, 0.01, 100, 1e-300, 1e300]),
            "promotion": r.choice([1.1, 2.0, 1 + 1e-12, 1e6]),
            "max_iter": r.choice([1, 2, 3]),
            "shuffle": r.choice([True, False]),
            "fit_intercept": r.choice([True, False]),
            "early_stopping": self.chance(0.15),
            "validation_fraction": r.choice([0.1, 0.5, 1e-9]),
            "warm_start": self.chance(0.2),
            "n_jobs": r.choice([None, 1, 2, -1]),
            "random_state": r.choice([0, None, np.random.RandomState(3)]),
            "class_weight": r.choice([None] * 20 + ["balanced", {0: 2, "a": 0.5}, {1: -1}, {}]),
        }
        if self.chance(0.04):
            settings[r.choice([*settings, "n_iter_no_change", "n_jobs"])] = self.atom()
        return OnlineClassifier(**settings)

    def target(self, n: int, pool: list[Any]) -> Any:
        way = self.r.random()
        if way < 0.4:
            y = self.entries(pool, n, 0.05)
            return self.contained(y) if self.chance(0.4) else y
        if way < 0.6:
            return self.indicator(n, self.r.choice([1, 2, 3]))
        if way < 0.94:
            return self.constraints(n, orderly=True, pool=pool)
        if way < 0.96:
            return self.nested(pool, n, 1)
        return self.g.random(n) if way < 0.98 else self.atom()

    def sample_weight(self, n: int) -> Any:
        if self.chance(0.6):
            return None
        weight = self.r.choice([np.ones(n), self.g.random(n) * 3, np.zeros(n), np.full(n, 1000.0)])
        if n and self.chance(0.15):
            weight[self.r.randrange(n)] = self.r.choice([-1, np.nan, np.inf, -0.0, 1e-320])
        return self.or_atom(
            self.r.choice([weight, weight, weight[1:], weight.tolist(), weight[:, None]])
        )

    def learning(self) -> None:
        n, d = self.r.choice([1, 2, 3, 4, 6, 6, 6, 12]), self.r.choice([0, 1, 2, 2, 3, 3, 5, 5, 5])
        model, pool = self.estimator(), self.r.choice(POOLS)
        known = vars(model)
        for _ in range(self.r.choice([1, 1, 2])):
            rows = n if self.chance(0.97) else self.length()
            X, y, weight = self.X(rows, d), self.target(n, pool), self.sample_weight(n)
            if isinstance(weight, float) and not weight <= 1000:
                weight = None
            if self.chance(0.65):
                before = dict(known)
                fitted, _ = self.ask("fit", model.fit, X, y, weight)
                after = vars(model)
                if not fitted and (
                    before.keys() != after.keys() or any(before[a] is not after[a] for a in before)
                ):
                    raise Fault("a refused fit changed the estimator")
            else:
                classes = None
                if self.chance(0.7):
                    classes = self.or_atom(pool if self.chance(0.6) else self.contained(pool))
                fitted, _ = self.ask("partial_fit", model.partial_fit, X, y, classes, weight)
            known = vars(model)
            if fitted:
                self.prediction(model, X, y, (n, d), pool)

    def prediction(
        self, model: OnlineClassifier, X: Any, y: Any, shape: tuple[int, int], pool: list[Any]
    ) -> None:
        n, d = shape
        for name in ("coef_", "intercept_"):
            if not np.isfinite(getattr(model, name)).all():
                raise Fault(f"{name} is not finite")
        labels = set(model.classes_.tolist())
        new = self.X(self.length(), d if self.chance(0.9) else self.length())
        for rows in (X, new):
            done, predicted = self.ask("predict", model.predict, rows)
            if done:
                check_prediction(predicted, labels)
        done, ranking = self.ask("predict_ranking", model.predict_ranking, new)
        if done and any(set(row) != labels for row in ranking.tolist()):
            raise Fault("a ranking is no permutation of the labels")
        self.ask("decision_function", model.decision_function, new)
        l = self.or_atom(self.r.randint(-1, len(labels) + 1))  # noqa: E741
        done, best = self.ask("predict_labelset", model.predict_labelset, new, l)
        if done and any(not set(row) <= labels or len(set(row)) != l for row in best.tolist()):
            raise Fault("the best labels are not distinct labels")
        scored = (
            y if self.chance(0.7) else self.target(n if self.chance(0.8) else self.length(), pool)
        )
        done, score = self.ask("score", model.score, X, scored, self.sample_weight(n))
        if done and not -1e-9 <= score <= 1 + 1e-9:
            raise Fault(f"a score of {score}")

    # ---- the core -------------------------------------------------------------------------------

    def spoiled(self, arguments: list[Any]) -> list[Any]:
        """The arguments with now and then a wrong one among them."""
        for _ in range(self.r.choice([0, 0, 0, 1, 1, 2])):
            at = self.r.randrange(len(arguments))
            arguments[at] = self.wrong(arguments[at])
        return arguments

    def wrong(self, old: Any) -> Any:
        new: list[Callable[[], Any]] = [self.atom, lambda: None]
        if isinstance(old, np.ndarray):
            new += [lambda to=to: old.astype(to) for to in ("f4", "f8", "i4", "i8", "?", "O")]
            new += [lambda: old[:-1], lambda: old[::-1], lambda: old[:0], lambda: old[..., None]]
            new += [lambda: np.append(old.ravel(), [1, 2]), lambda: old.T, old.tolist]
            new += [lambda: read_only(old), lambda: np.asfortranarray(old)]
        elif isinstance(old, int):
            more = [old + 1, old - 1, -old, 2**31 - 2, 2**31, 2**62, 2**63 - 1]
            new.append(lambda: self.r.choice(more))
        made = self.drawn(self.r.choice(new), old)
        # nanobind cannot take NumPy's scalars of time: it crashes before it asks the library.
        return None if isinstance(made, (np.datetime64, np.timedelta64)) else made

    @staticmethod
    def drawn(draw: Callable[[], Any], otherwise: Any) -> Any:
        """What is drawn; where NumPy, pandas or polars refuse to make it, something else."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return draw()
        except (Exception, pl.exceptions.PanicException):  # the container is not what is tested
            return otherwise

    def native_rows(self, n: int, d: int, dtype: str) -> list[Any]:
        X = self.dense(n, d)
        X = (
            X.astype(dtype)
            if X.dtype.kind in "fiu?"
            else self.g.standard_normal((n, d)).astype(dtype)
        )
        if self.chance(0.5):
            return [X, None, None, n, d]
        m = sp.csr_matrix(np.nan_to_num(X) * (self.g.random((n, d)) < 0.6))
        if self.chance(0.3):
            self.corrupt(m)
        index = self.r.choice(["i4", "i8"])
        return [m.data.astype(dtype), m.indices.astype(index), m.indptr.astype(index), n, d]

    def native_orders(self, n: int, k: int) -> list[Any]:
        forms = self.g.integers(0, 5, n).astype(np.uint8)
        uniform = self.chance(0.5)
        if uniform:
            forms[:] = self.r.randrange(5)
        runs = []
        for form in forms.tolist():
            some = self.r.sample(range(k), self.r.randint(0, k))
            if form < 2:
                some.sort()
            elif form < 4:
                some = [~s if self.chance(0.5) or s == some[-1] else s for s in some]
            else:
                some = [self.r.randint(0, k) for _ in range(2 * self.length())]
            runs.append(some)
        items = np.array([item for run in runs for item in run], dtype=np.int32)
        indptr = np.cumsum([0, *map(len, runs)]).astype(np.int64)
        if items.size and self.chance(0.15):
            items[self.r.randrange(items.size)] = self.r.choice([-1, k, k + 1, 2**31 - 1, -(2**31)])
        if n and self.chance(0.1):
            indptr[self.r.randrange(n + 1)] = self.r.choice([-1, 1, items.size + 1, 2**62])
        if n and self.chance(0.02):
            forms[self.r.randrange(n)] = 5
        margin = self.g.random(items.size) if self.chance(0.3) else None
        weight = self.g.integers(0, 3, items.size).astype(float) if self.chance(0.3) else None
        form = int(forms[0]) if uniform and n else self.r.randrange(6)
        return [n, k, form, None if uniform else forms, indptr, items, margin, weight]

    def tables(self, rows: int, k: int, dtype: str, count: int) -> list[np.ndarray]:
        lanes = _core.lanes_for(k + self.r.choice([0, 1]))
        made = [self.g.standard_normal((rows, lanes)).astype(dtype) for _ in range(count)]
        if self.chance(0.1) and made[0].size:
            made[0].flat[self.r.randrange(made[0].size)] = self.r.choice([np.nan, np.inf, 1e38])
        return made

    def rows_and_scores(self) -> None:
        n, d = self.length(), self.r.choice([0, 1, 2, 3, 7, 33])
        k = self.r.choice([1, 2, 3, 4, 5, 8, 9, 16, 17, 33, 40, 130])
        dtype = self.r.choice(["f4", "f8"])
        # Beyond n x d the shape is only checked, so it may be anything.
        done, rows = self.ask("Rows", _core.Rows, *self.spoiled(self.native_rows(n, d, dtype)))
        if not done:
            return
        intercept = self.chance(0.5)
        W, S = self.tables(d + intercept, k, dtype, 2)
        sums = S if self.chance(0.4) else None
        threads = self.r.choice([1, 2, 0, -1, 100])
        if self.chance(0.5):
            picked = self.g.integers(0, max(n, 1), self.length()) if self.chance(0.4) else None
            out = np.zeros((n if picked is None else picked.size, k), dtype=dtype)
            arguments = [rows, picked, W, sums, 0.5, intercept, out, threads]
            self.ask("scores", _core.scores, *self.spoiled(arguments))
        else:
            count = self.r.randint(0, k)
            best = np.zeros((n, count), dtype=np.int64)
            arguments = [rows, W, sums, 0.5, intercept, k, best, threads]
            done, _ = self.ask("best", _core.best, *self.spoiled(arguments))
            made = arguments[6]
            if done and isinstance(made, np.ndarray) and made.size:
                if made.min() < 0 or made.max() >= max(arguments[5], 1):
                    raise Fault("a best label is no label")
                if any(len(set(row)) != len(row) for row in made.tolist()):
                    raise Fault("a best label twice")

    def orders_and_passes(self) -> None:
        n, k, d = (
            self.length(),
            self.r.choice([0, 1, 2, 3, 4, 5, 8, 15, 16, 17]),
            self.r.randint(0, 4),
        )
        dtype = self.r.choice(["f4", "f8"])
        arguments = self.native_orders(n, k)
        if self.chance(0.3):
            arguments = self.spoiled(arguments)
            if isinstance(arguments[1], int) and arguments[1] > 10**4:
                arguments[1] = 2**62  # a number of labels that is merely large takes memory
        done, orders = self.ask("Orders", _core.Orders, *arguments)
        if not done:
            return
        scores = self.g.integers(-1, 2, (n, k + 1)).astype(dtype)
        for name, extra in (
            ("sizes", []),
            ("pairs", []),
            ("errors", self.spoiled([scores])),
            ("cycle", []),
            ("repeat", []),
            ("closure", []),
            ("reduction", []),
            ("is_consistent_with", self.spoiled([orders])),
        ):
            self.ask(name, getattr(orders, name), *extra)
        done, rows = self.ask("Rows", _core.Rows, *self.native_rows(n, d, dtype))
        if not done:
            return
        intercept = self.chance(0.5)
        W, sums, logs = self.tables(d + intercept, k, dtype, 3)
        r = self.r
        self.ask("online_pass", _core.online_pass, *self.spoiled([
            rows,
            orders,
            self.g.integers(0, max(n, 1), self.length()) if self.chance(0.4) else None,
            self.g.choice([0, 1, 2.5, -1, np.nan, 100], n) if self.chance(0.4) else None,
            W,
            sums if self.chance(0.5) else None,
            logs * r.choice([0, 1, 100]) if self.chance(0.8) else None,
            np.array([r.choice([0.0, 5.0, 1e300, np.nan]), r.choice([0.0, 0.0, 40.0, np.nan])]),
            r.choice(_core.rule_names()),
            r.choice(["all", "worst", "independent"]),
            r.choice([1.0, 0.0, -1.0, np.nan, np.inf, 1e-300]),
            r.choice([0.1, 0.0, -1.0, np.nan, 1e308]),
            intercept,
            r.choice([None, print, 3]),
        ]))  # fmt: skip


def series(values: list[Any]) -> pl.Series:
    made = pl.Series(values, strict=True)
    np.asarray(made)  # polars has integers of 128 bits and refuses them to NumPy
    return made


def read_only(array: np.ndarray) -> np.ndarray:
    made = array.copy()
    made.flags.writeable = False
    return made


def examine(c: Constraints) -> None:
    """Constraints that were made must agree with themselves."""
    pairs, n, k = c.pairs(), c.n_samples, c.n_labels
    try:
        distinct = len(set(c.labels.tolist()))
    except TypeError as error:
        raise Fault("a label is no value but a collection") from error
    if len(c) != n or c.shape != (n,) or distinct != k:
        raise Fault("examples or labels do not add up")
    if (
        pairs.indptr[0] != 0
        or pairs.indptr[-1] != pairs.over.size
        or pairs.under.size != pairs.over.size
    ):
        raise Fault("indptr does not add up")
    if (np.diff(pairs.indptr) != c.sizes).any():
        raise Fault("sizes are not those of the pairs")
    for side in (pairs.over, pairs.under):
        if side.size and (side.min() < -1 or side.max() >= k):
            raise Fault("a pair names no label")
    closure = c.closure()
    if not (c.is_consistent_with(closure).all() and closure.is_consistent_with(c).all()):
        raise Fault("an order is not consistent with its closure")
    if not c.reduction().is_consistent_with(closure).all() or (c.reduction().sizes > c.sizes).any():
        raise Fault("a reduction is no reduction")
    if c.errors(np.zeros((n, k))).shape != (n,):
        raise Fault("errors are not one an example")
    if c[::-1][::-1].pairs().over.tolist() != pairs.over.tolist():
        raise Fault("reversed twice is not the same")
    np.asarray(c)
    repr(c)


def check_prediction(predicted: Any, labels: set[Any]) -> None:
    values = predicted.toarray() if sp.issparse(predicted) else predicted
    if values.ndim == 1:
        if not set(values.tolist()) <= labels:
            raise Fault("a predicted label is none of classes_")
    elif values.shape[1] != len(labels) or (
        not np.isin(values, [0, 1]).all() and any(set(row) != labels for row in values.tolist())
    ):
        raise Fault("predictions are neither an indicator nor orders of classes_")


def describe(what: str, owner: Any, args: tuple[Any, ...], named: dict[str, Any]) -> str:
    def shown(value: Any) -> str:
        if sp.issparse(value) and value.format == "csr":  # a corrupt matrix cannot print itself
            arrays = ", ".join(
                f"{a.dtype} {a.tolist()}" for a in (value.data, value.indices, value.indptr)
            )
            return f"{type(value).__name__}({arrays}, shape={value.shape})"
        text = repr(value)
        if isinstance(value, np.ndarray):
            text += f" [{value.dtype}, strides {value.strides}]"
        return text if len(text) < 2000 else text[:2000] + " ..."

    parts = [*map(shown, args), *(f"{name}={shown(v)}" for name, v in named.items())]
    of = f"{owner!r}." if isinstance(owner, OnlineClassifier) else ""
    return f"{of}{what}({', '.join(parts)})"


def run(
    first: int, last: int, seed: int, counts: Any, report: Callable[[str], None] = print
) -> None:
    """Inputs first to last - 1; `counts` becomes (next input, accepted, refused, faults)."""
    used = _core.isa()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(first, last):
            counts[0] = number
            fuzzer = Fuzzer(seed, number)
            try:
                fuzzer.run()
            except Exception as error:
                counts[3] += 1
                last_asked = describe(*fuzzer.asked[-1]) if fuzzer.asked else "nothing"
                report(f"fault in input {number}: {error!r}\n  after {last_asked}")
            counts[2 if fuzzer.refused else 1] += 1
    counts[0] = last
    _core.use_isa(used)


def run_apart(examples: int, seed: int) -> int:
    """All inputs in child processes; prints the summary and returns the number of failures."""
    context = multiprocessing.get_context("spawn")
    counts = context.Array("q", 4, lock=False)
    crashes = 0
    while counts[0] < examples and crashes < MOST_CRASHES:
        child = context.Process(target=_child, args=(counts[0], examples, seed, counts))
        child.start()
        seen = -1
        while child.is_alive() and seen != counts[0]:
            seen = counts[0]
            child.join(HANG)
        hung = child.is_alive()
        if hung:
            child.kill()
        child.join()
        if child.exitcode != 0:
            crashes += 1
            how = f"hangs for {HANG:.0f} s" if hung else f"ends the process with {child.exitcode}"
            # What corrupts the heap may come out only later: then run an earlier `--only`, or the
            # sanitized build.
            print(f"input {counts[0]} {how}: python {sys.argv[0]} --seed {seed} --only {counts[0]}")
            counts[0] += 1
    faults = f"{counts[3]} faults, " if counts[3] else ""
    done = f"{counts[0]} inputs, {counts[1]} accepted, {counts[2]} refused"
    print(f"{done}, {faults}{crashes} crashes", flush=True)
    return int(counts[3] + crashes)


def _child(first: int, last: int, seed: int, counts: Any) -> None:
    faulthandler.enable(all_threads=False)
    run(first, last, seed, counts)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--examples", type=int, default=1000, help="number of inputs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="run this input alone, in this process, and tell")
    given = parser.parse_args()
    if given.only is None:
        sys.exit(1 if run_apart(given.examples, given.seed) else 0)
    faulthandler.enable(all_threads=False)
    warnings.simplefilter("ignore")
    try:
        Fuzzer(given.seed, given.only, tell=True).run()
    except Exception:
        traceback.print_exc()
        sys.exit(1)


if __name__ == "__main__":
    main()
