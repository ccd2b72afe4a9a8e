"""Costs of taking one class for another: the pairs that they become, and what is refused."""

import copy
import itertools
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import train_test_split

from kesler import Constraints

LABELS = ["a", "b", "c", "d"]


def expected(
    y: list[str], labels: list[str], margin: Any, weight: Any
) -> list[list[tuple[str, str, float, float]]]:
    """The pairs of each example by the definition, in plain Python."""

    def cost(table: Any, i: int, rival: int) -> float:
        if table is None:
            return 1.0
        square = len(table) == len(labels)
        return float(table[labels.index(y[i]) if square else i][rival])

    return [
        [
            (y[i], labels[r], cost(margin, i, r), cost(weight, i, r))
            for r in range(len(labels))
            if labels[r] != y[i] and cost(weight, i, r)
        ]
        for i in range(len(y))
    ]


def read(c: Constraints) -> list[list[tuple[str, str, float, float]]]:
    indptr, over, under, margin, weight = c.pairs()
    names = c.labels.tolist()
    flat = [
        (names[a], names[b], m, w)
        for a, b, m, w in zip(
            over.tolist(), under.tolist(), margin.tolist(), weight.tolist(), strict=True
        )
    ]
    return [flat[i:j] for i, j in itertools.pairwise(indptr)]


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[str], list[str], Any, Any]:
    labels = LABELS[: draw(st.integers(1, 4))]
    y = draw(st.lists(st.sampled_from(labels), max_size=6))

    def table(*absent: None) -> Any:
        rows = draw(st.sampled_from([*absent, len(labels), len(y)]))
        numbers = st.sampled_from([0.0, 0.5, 1.0, 7.0])
        row = st.lists(numbers, min_size=len(labels), max_size=len(labels))
        return None if rows is None else draw(st.lists(row, min_size=rows, max_size=rows))

    margin = table(None)
    return y, labels, margin, table() if margin is None else table(None)


def made_of(case: tuple[list[str], list[str], Any, Any]) -> Constraints:
    y, labels, margin, weight = case
    k = len(labels)
    shaped = [None if t is None else np.reshape(t, (-1, k)) for t in (margin, weight)]
    return Constraints.from_classes(
        np.array(y, dtype="U1"), labels, margin=shaped[0], weight=shaped[1]
    )


@given(cases(), st.randoms())
def test_costs_are_the_margins_and_weights_of_pairs(case: Any, rng: Any) -> None:
    c = made_of(case)
    rows = expected(*case)
    assert read(c) == rows
    assert c.kind == "classes"
    assert np.asarray(c).tolist() == case[0]
    assert c.labels[c.class_codes()].tolist() == case[0]
    assert c.has_margins == (case[2] is not None)
    assert c.has_weights == (case[3] is not None)
    picked = [rng.randrange(len(rows)) for _ in rows]
    part = c[picked]
    assert read(part) == [rows[i] for i in picked]
    assert np.asarray(part).tolist() == [case[0][i] for i in picked]
    for same in (copy.copy(c), pickle.loads(pickle.dumps(c))):
        assert read(same) == rows
        assert np.asarray(same).tolist() == case[0]


@given(cases())
def test_costs_go_with_other_labels_and_other_examples(case: Any) -> None:
    c = made_of(case)
    rows = expected(*case)
    moved = c.relabelled(["0", *LABELS])
    assert read(moved) == rows
    assert np.asarray(moved).tolist() == case[0]
    plain = Constraints.from_classes(["d", "a"], labels=LABELS)
    both = Constraints.concatenate([plain, c])
    assert both.kind == "classes"
    assert read(both)[2:] == rows
    assert read(both)[0] == [("d", r, 1.0, 1.0) for r in "abc"]
    assert np.asarray(both).tolist() == ["d", "a", *case[0]]
    assert np.array_equal(both.indicator().toarray().argmax(axis=1), both.class_codes())
    kept = c.reduction()
    assert read(kept) == rows
    assert np.asarray(kept).tolist() == case[0]
    mixed = Constraints.concatenate([c, Constraints.from_rankings(orders=[LABELS])])
    assert mixed.kind == "mixed"
    assert read(mixed)[:-1] == rows


def test_an_example_whose_rivals_weigh_nothing_keeps_its_class() -> None:
    c = Constraints.from_classes(["b", "a"], weight=[[0, 2], [0, 0]])
    assert c.sizes.tolist() == [0, 1]
    assert np.asarray(c).tolist() == ["b", "a"]
    with pytest.raises(ValueError, match=r"example [01] names label 'b'"):
        c.relabelled(["a", "c"])


def test_a_square_array_is_a_matrix_of_classes() -> None:
    margin = [[0, 1, 2], [3, 0, 4], [5, 6, 0]]
    c = Constraints.from_classes(["c", "a", "b"], margin=margin)
    assert c.pairs().margin.tolist() == [5.0, 6.0, 1.0, 2.0, 3.0, 4.0]


def test_costs_split_as_any_target() -> None:
    y = ["a", "b", "c"] * 4
    c = Constraints.from_classes(y, margin=1.0 - np.eye(3))
    train, test = train_test_split(c, stratify=c, random_state=0, test_size=3)
    assert isinstance(train, Constraints)
    assert sorted(np.asarray(test).tolist()) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        (np.ones((2, 2)), r"shape \(2, 2\); wanted \(3, 3\), a row for each class, or \(4, 3\)"),
        (np.ones(3), r"shape \(3,\)"),
        (2.0, r"shape \(\)"),
        ([[0, 1, 1], [1, 0, -1], [1, 1, 0]], r"\[1, 2\] is -1.0; it must be a finite number"),
        ([[0, 1, 1], [1, 0, 1], [np.nan, 1, 0]], r"\[2, 0\] is nan"),
        ([[0, np.inf, 1], [1, 0, 1], [1, 1, 0]], r"\[0, 1\] is inf"),
    ],
)
@pytest.mark.parametrize("name", ["margin", "weight"])
def test_costs_are_checked(name: str, cost: Any, message: str) -> None:
    with pytest.raises(ValueError, match=rf"{name}.*{message}"):
        Constraints.from_classes(["a", "b", "c", "a"], **{name: cost})
