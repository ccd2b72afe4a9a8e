"""Constraints against a naive model: each example a plain Python set of pairs of label values.

The model expands every kind of supervision by its definition (classes and label sets against the
rest, tiers against the next or all later tiers), closes it by Warshall's algorithm, and sorts
labels in Python; nothing of the library's storage is used to say what is right.
"""

import copy
import itertools
import pickle
import random
import time
import tracemalloc
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from kesler import Constraints

VIRTUAL = "<virtual>"


@dataclass(frozen=True)
class Example:
    """One example as its user thinks of it; `content` is a set, tiers, or pairs."""

    form: str  # "set", "calibrated", "adjacent", "all", "pairs"
    content: Any


@dataclass
class Model:
    """What a Constraints should be: sorted label values and an `Example` for each row."""

    kind: str
    labels: list[Any]
    examples: list[Example]
    made: Constraints = field(repr=False)


def stored(example: Example, labels: list[Any]) -> list[tuple[Any, Any, float, float]]:
    """(over, under, margin, weight) of the pairs that a solver sees, in any order."""
    if example.form == "pairs":
        return list(example.content)
    if example.form in ("set", "calibrated"):
        top = [r for r in labels if r in example.content]
        rest = [r for r in labels if r not in example.content]
        if example.form == "set":
            pairs = [*itertools.product(top, rest)]
        else:
            pairs = [(a, VIRTUAL) for a in top] + [(VIRTUAL, b) for b in rest]
    else:
        tiers = example.content
        upper_lower = (
            itertools.pairwise(tiers)
            if example.form == "adjacent"
            else itertools.combinations(tiers, 2)
        )
        pairs = [p for upper, lower in upper_lower for p in itertools.product(upper, lower)]
    return [(a, b, 1.0, 1.0) for a, b in pairs]


def bare(example: Example, labels: list[Any]) -> list[tuple[Any, Any]]:
    return [(a, b) for a, b, _, _ in stored(example, labels)]


def closed(pairs: list[tuple[Any, Any]]) -> set[tuple[Any, Any]]:
    """Transitive closure by Warshall's algorithm."""
    found = set(pairs)
    names = {r for pair in found for r in pair}
    for via, a, b in itertools.product(names, repeat=3):
        if (a, via) in found and (via, b) in found:
            found.add((a, b))
    return found


def reduced(pairs: list[tuple[Any, Any]]) -> set[tuple[Any, Any]]:
    """The one smallest set of pairs with the same closure."""
    full = closed(pairs)
    names = {r for pair in full for r in pair}
    return {
        (a, b) for a, b in full if not any((a, via) in full and (via, b) in full for via in names)
    }


def sorts_wrongly(
    pairs: list[tuple[Any, Any]], labels: list[Any], scores: dict[Any, float]
) -> bool:
    """Definition 2.4 with Python's sort: ties to the virtual label, then to the smaller label."""
    order = sorted([VIRTUAL, *labels], key=lambda r: -scores[r])  # a stable sort
    return any(order.index(a) > order.index(b) for a, b in pairs)


def read(c: Constraints) -> list[list[tuple[Any, Any, float, float]]]:
    """The stored pairs of each example as label values."""
    p = c.pairs()
    names = [*c.labels.tolist(), VIRTUAL]  # -1 is the last one
    rows = [
        (names[a], names[b], m, w)
        for a, b, m, w in zip(
            p.over.tolist(), p.under.tolist(), p.margin.tolist(), p.weight.tolist(), strict=True
        )
    ]
    return [rows[b:e] for b, e in itertools.pairwise(p.indptr.tolist())]


def read_bare(c: Constraints) -> list[list[tuple[Any, Any]]]:
    return [[(a, b) for a, b, _, _ in row] for row in read(c)]


def check(c: Constraints, model: Model) -> None:
    assert c.labels.tolist() == model.labels
    assert len(c) == c.n_samples == c.size == len(model.examples)
    assert c.shape == (len(model.examples),)
    assert c.ndim == 1
    assert c.n_labels == len(model.labels)
    assert c.kind == model.kind
    wanted = [stored(e, model.labels) for e in model.examples]
    for example, got, want in zip(model.examples, read(c), wanted, strict=True):
        if example.form == "pairs":
            assert got == want  # a solver meets explicit pairs in the order given
        else:
            assert Counter(got) == Counter(want)
    assert c.sizes.tolist() == [len(w) for w in wanted]


# ---- what hypothesis draws -----------------------------------------------------------------------

LABELS = st.sampled_from(
    [
        ["a"],
        ["b", "a"],
        ["cc", "a", "b"],
        [7, -2, 30, 4],
        [0.5, -1.5, 2.0],
        [False, True],
        list("edcba"),
        [*range(6)],
    ]
)


def subset_of(labels: list[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(labels), unique=True, max_size=len(labels))


@st.composite
def tiers_of(draw: st.DrawFn, labels: list[Any]) -> tuple[tuple[Any, ...], ...]:
    ranked = draw(subset_of(labels))
    cuts = draw(st.lists(st.booleans(), min_size=len(ranked), max_size=len(ranked)))
    tiers: list[list[Any]] = []
    for label, new in zip(ranked, cuts, strict=True):
        if new or not tiers:
            tiers.append([])
        tiers[-1].append(label)
    return tuple(map(tuple, tiers))


@st.composite
def pairs_of(draw: st.DrawFn, labels: list[Any]) -> list[tuple[Any, Any, float, float]]:
    """Pairs along a random order, so without cycles; some twice."""
    if len(labels) < 2:
        return []
    order = draw(st.permutations(labels))
    spots = st.tuples(*[st.integers(0, len(order) - 1)] * 2).filter(lambda s: s[0] != s[1])
    numbers = st.sampled_from([0.0, 0.25, 1.0, 3.0])
    drawn = draw(st.lists(st.tuples(spots, numbers, numbers), max_size=8))
    return [(order[min(s)], order[max(s)], m, w) for s, m, w in drawn]


def names_in(examples: list[Example]) -> set[Any]:
    found: set[Any] = set()
    for e in examples:
        if e.form == "pairs":
            found.update(r for a, b, _, _ in e.content for r in (a, b))
        else:
            found.update(
                itertools.chain(*e.content) if e.form in ("adjacent", "all") else e.content
            )
    return found


@st.composite
def models(draw: st.DrawFn, labels: list[Any] | None = None, n: int | None = None) -> Model:
    """A Constraints from any one builder, and what it should be."""
    labels = draw(LABELS) if labels is None else labels
    size = st.integers(0, 5) if n is None else st.just(n)
    builder = draw(st.sampled_from(["classes", "labelsets", "orders", "ranks", "pairs"]))
    several = draw(size)

    def each(what: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(what, min_size=several, max_size=several))

    ordered = sorted(labels)
    if builder == "classes":
        y = each(st.sampled_from(labels))
        made = Constraints.from_classes(y, labels=labels)
        return Model("classes", ordered, [Example("set", frozenset({v})) for v in y], made)
    if builder == "labelsets":
        calibrate = draw(st.booleans())
        form = "calibrated" if calibrate else "set"
        sets = each(subset_of(labels))
        shape = draw(st.sampled_from(["lists", "dense", "bool", "sparse"]))
        examples = [Example(form, frozenset(s)) for s in sets]
        if shape == "lists":
            given_sets: Any = [
                draw(st.sampled_from([list, tuple, set, frozenset]))(s) for s in sets
            ]
        else:
            given_sets = np.zeros((several, len(labels)), dtype=np.int64)
            for i, s in enumerate(sets):
                given_sets[i, [labels.index(v) for v in s]] = 1
            if shape == "bool":
                given_sets = given_sets.astype(bool)
            elif shape == "sparse":
                given_sets = draw(st.sampled_from([sp.csr_matrix, sp.coo_array, sp.csc_matrix]))(
                    given_sets
                )
        made = Constraints.from_labelsets(given_sets, labels=labels, calibrate=calibrate)
        return Model("labelsets", ordered, examples, made)
    if builder in ("orders", "ranks"):
        form = draw(st.sampled_from(["adjacent", "all"]))
        tiers = each(tiers_of(labels))
        examples = [Example(form, t) for t in tiers]
        if builder == "orders":
            lists = [[t[0] if len(t) == 1 else list(t) for t in row] for row in tiers]
            made = Constraints.from_rankings(orders=lists, labels=labels, pairs=form)
        else:
            ranks = np.full((several, len(labels)), np.nan)
            for i, row in enumerate(tiers):
                for place, tier in enumerate(row):
                    ranks[i, [labels.index(v) for v in tier]] = 2.5 * place - 1
            made = Constraints.from_rankings(ranks=ranks, labels=labels, pairs=form)
        return Model("rankings", ordered, examples, made)
    rows = each(pairs_of(labels))
    flat = [(i, *pair) for i, row in enumerate(rows) for pair in row]
    if draw(st.booleans()):  # the order of rows among each other does not matter
        mixed = list(flat)
        random.Random(len(flat)).shuffle(mixed)
        by_row = [[p[1:] for p in mixed if p[0] == i] for i in range(several)]
        flat, rows = mixed, by_row
    with_margin, with_weight = draw(st.booleans()), draw(st.booleans())
    examples = [
        Example(
            "pairs",
            [
                (a, b, m if with_margin else 1.0, w if with_weight else 1.0)
                for a, b, m, w in row
                if w or not with_weight  # a pair of weight zero is left out
            ],
        )
        for row in rows
    ]
    made = Constraints.from_pairs(
        [p[0] for p in flat],
        [p[1] for p in flat],
        [p[2] for p in flat],
        several,
        labels,
        margin=[p[3] for p in flat] if with_margin else None,
        weight=[p[4] for p in flat] if with_weight else None,
    )
    return Model("pairs", ordered, examples, made)


@st.composite
def mixtures(draw: st.DrawFn, n: int | None = None, labels: list[Any] | None = None) -> Model:
    """Several parts of any kind over one set of labels, concatenated."""
    labels = draw(LABELS) if labels is None else labels
    if n is None:
        parts = draw(st.lists(models(labels), min_size=1, max_size=4))
    else:
        parts = [draw(models(labels, n=1)) for _ in range(n)] or [draw(models(labels, n=0))]
    kinds = {p.kind for p in parts}
    return Model(
        kinds.pop() if len(kinds) == 1 else "mixed",
        sorted(labels),
        [e for p in parts for e in p.examples],
        Constraints.concatenate([p.made for p in parts]),
    )


ANY = models() | mixtures()


# ---- properties ----------------------------------------------------------------------------------


@given(models())
@settings(max_examples=200)
def test_a_builder_stores_the_pairs_of_the_model(model: Model) -> None:
    check(model.made, model)


@given(mixtures())
@settings(max_examples=100)
def test_concatenation_keeps_every_part(model: Model) -> None:
    check(model.made, model)
    if model.examples:
        assert model.made.calibrated == any(e.form == "calibrated" for e in model.examples)


@given(st.lists(LABELS.flatmap(models), min_size=2, max_size=3), st.randoms())
@settings(max_examples=100)
def test_concatenation_unites_labels(parts: list[Model], rng: random.Random) -> None:
    comparable = {type(p.labels[0]) is str for p in parts}
    if len(comparable) > 1:
        if all(p.labels for p in parts):
            with pytest.raises(ValueError, match="labels of type"):
                Constraints.concatenate([p.made for p in parts])
        return
    kinds = {p.kind for p in parts}
    united = Model(
        kinds.pop() if len(kinds) == 1 else "mixed",
        sorted({r for p in parts for r in p.labels}),
        [e for p in parts for e in p.examples],
        Constraints.concatenate([p.made for p in parts]),
    )
    check(united.made, united)


@given(ANY)
@settings(max_examples=200)
def test_closure_is_warshalls(model: Model) -> None:
    closure = model.made.closure()
    assert closure.kind == "pairs"
    assert not closure.has_margins
    assert not closure.has_weights
    for got, example in zip(read_bare(closure), model.examples, strict=True):
        assert len(got) == len(set(got))
        assert set(got) == closed(bare(example, model.labels))
    again = closure.closure()
    assert read(again) == read(closure)


@given(ANY)
@settings(max_examples=200)
def test_reduction_is_the_smallest(model: Model) -> None:
    reduction = model.made.reduction()
    assert reduction.kind == model.kind
    for got, example in zip(read(reduction), model.examples, strict=True):
        pairs = bare(example, model.labels)
        kept = [(a, b) for a, b, _, _ in got]
        assert sorted(map(str, kept)) == sorted(map(str, reduced(pairs)))
        assert closed(kept) == closed(pairs)
        for a, b, margin, weight in got:  # what a pair carried first, it still carries
            first = next(p for p in stored(example, model.labels) if p[:2] == (a, b))
            assert first[2:] == (margin, weight)


@given(st.data())
@settings(max_examples=150)
def test_consistency_is_inclusion_in_the_closure(data: st.DataObject) -> None:
    n = data.draw(st.integers(0, 4))
    labels = data.draw(LABELS)
    mine, other = (data.draw(models(labels, n=n) | mixtures(n=n, labels=labels)) for _ in range(2))
    wanted = [
        set(bare(a, mine.labels)) <= closed(bare(b, other.labels))
        for a, b in zip(mine.examples, other.examples, strict=True)
    ]
    got = mine.made.is_consistent_with(other.made)
    assert got.dtype == bool
    assert got.tolist() == wanted
    for same in (mine.made, mine.made.closure(), mine.made.reduction()):
        assert mine.made.is_consistent_with(same).all()
        assert same.is_consistent_with(mine.made).all()


@given(st.data(), ANY)
@settings(max_examples=200)
def test_errors_are_those_of_a_sort(data: st.DataObject, model: Model) -> None:
    n, k = len(model.examples), len(model.labels)
    extra = data.draw(st.booleans())
    dtype = data.draw(st.sampled_from([np.float64, np.float32, np.int64, np.float16]))
    value = st.sampled_from([-2, -1, 0, 1, 2])
    if np.dtype(dtype).kind == "f":
        value |= st.sampled_from([np.inf, -np.inf])
    flat = data.draw(st.lists(value, min_size=n * (k + extra), max_size=n * (k + extra)))
    scores = np.array(flat, dtype=dtype).reshape(n, k + extra)
    if data.draw(st.booleans()):
        scores = np.asfortranarray(scores)
    wanted = [
        sorts_wrongly(
            bare(e, model.labels),
            model.labels,
            {VIRTUAL: 0.0, **dict(zip([*model.labels, VIRTUAL][: k + extra], row, strict=True))},
        )
        for e, row in zip(model.examples, scores.tolist(), strict=True)
    ]
    got = model.made.errors(scores)
    assert got.dtype == bool
    assert got.tolist() == wanted
    assert model.made.closure().errors(scores).tolist() == wanted
    assert model.made.reduction().errors(scores).tolist() == wanted


@given(st.data(), ANY)
@settings(max_examples=200)
def test_an_index_selects_as_in_numpy(data: st.DataObject, model: Model) -> None:
    n = len(model.examples)
    keys: list[st.SearchStrategy[Any]] = [
        st.slices(n),
        st.lists(st.booleans(), min_size=n, max_size=n).map(lambda m: np.array(m, dtype=bool)),
        st.just(()),
        st.just(Ellipsis),
        st.just([]),
    ]
    if n:
        place = st.integers(-n, n - 1)
        some = st.lists(place, min_size=1, max_size=2 * n)
        keys += [
            some,
            some.map(np.array),
            some.map(lambda p: np.array(p, dtype=np.int8)),
            st.lists(st.booleans(), min_size=n, max_size=n),
        ]
    key = data.draw(st.one_of(keys))
    if not isinstance(key, tuple) and key is not Ellipsis and data.draw(st.booleans()):
        key = (key, Ellipsis)
    rows = np.arange(n)[key].tolist()
    check(model.made[key], replace(model, examples=[model.examples[i] for i in rows]))


@given(ANY)
def test_an_integer_gives_one_example(model: Model) -> None:
    n = len(model.examples)
    for i in range(-n, n):
        one = replace(model, examples=[model.examples[i]])
        for key in (i, np.int64(i), np.int8(i), (i, ...), np.array(i)):
            check(model.made[key], one)
    for i in (n, -n - 1):
        with pytest.raises(IndexError, match=str(i)):
            model.made[i]
    assert sum(1 for _ in model.made) == n


@given(st.data(), ANY)
@settings(max_examples=100)
def test_relabelled_moves_to_other_labels(data: st.DataObject, model: Model) -> None:
    more: list[Any] = ["", "aa", "zzz"] if isinstance(model.labels[0], str) else [-100, 3, 1000]
    labels = data.draw(st.permutations([*model.labels, *data.draw(subset_of(more))]))
    labels = list(dict.fromkeys(labels))
    check(model.made.relabelled(labels), replace(model, labels=sorted(labels)))
    # Fewer labels will do where only those are named.
    used = names_in(model.examples)
    dropped = [r for r in model.labels if r not in used]
    if used and dropped:
        check(model.made.relabelled(sorted(used)), replace(model, labels=sorted(used)))
    for r in used:
        rest = [v for v in model.labels if v != r]
        if rest:
            with pytest.raises(ValueError, match=r"example \d+ names label"):
                model.made.relabelled(rest)


@given(ANY)
def test_copies_are_the_same(model: Model) -> None:
    for twin in (
        pickle.loads(pickle.dumps(model.made)),
        copy.copy(model.made),
        copy.deepcopy(model.made),
    ):
        check(twin, model)
        assert twin.calibrated == model.made.calibrated


@given(ANY)
def test_an_array_says_what_it_can(model: Model) -> None:
    array = np.asarray(model.made)
    n, k = len(model.examples), len(model.labels)
    if model.kind == "classes":
        assert array.tolist() == [next(iter(e.content)) for e in model.examples]
    elif model.kind == "labelsets":
        assert array.shape == (n, k)
        for row, e in zip(array.tolist(), model.examples, strict=True):
            assert row == [int(r in e.content) for r in model.labels]
    else:
        assert array.shape == (n,)
        assert array.dtype == object
        assert not any(hasattr(v, "__len__") or hasattr(v, "__iter__") for v in array)
        assert all(repr(v) for v in array)
    with pytest.raises(ValueError, match="copy=False"):
        model.made.__array__(copy=False)
    assert str(n) in repr(model.made)


@given(ANY)
def test_an_indicator_is_for_sets(model: Model) -> None:
    if model.kind not in ("classes", "labelsets"):
        with pytest.raises(ValueError, match=model.kind):
            model.made.indicator()
        return
    matrix = model.made.indicator()
    assert sp.issparse(matrix)
    assert matrix.shape == (len(model.examples), len(model.labels))
    for row, e in zip(matrix.toarray().tolist(), model.examples, strict=True):
        assert row == [int(r in e.content) for r in model.labels]
    before = read(model.made)
    for array in (matrix.data, matrix.indices, matrix.indptr):  # a user may write to what he got
        array[...] = 0
    assert read(model.made) == before


# ---- errors at the door --------------------------------------------------------------------------


def test_constraints_are_not_made_by_hand() -> None:
    with pytest.raises(TypeError, match="from_classes"):
        Constraints()


def test_a_cycle_names_example_and_labels() -> None:
    over, under = ["a", "a", "b", "c"], ["b", "b", "c", "a"]
    with pytest.raises(ValueError, match=r"example 4 .*\b[abc] over [abc] over [abc] over [abc]\b"):
        Constraints.from_pairs([0, 4, 4, 4], over, under, 5, ["a", "b", "c"])
    # The same pairs in different examples are no cycle.
    assert Constraints.from_pairs([0, 1, 2], over[1:], under[1:], 3, list("abc")).sizes.sum() == 3


@given(st.permutations(range(6)), st.integers(2, 6), st.data())
def test_every_cycle_is_found(order: list[int], length: int, data: st.DataObject) -> None:
    ring = order[:length]
    pairs = [*zip(ring, ring[1:] + ring[:1], strict=True)]
    more = data.draw(st.lists(st.sampled_from([*itertools.combinations(order, 2)]), max_size=5))
    pairs = data.draw(st.permutations(pairs + more))
    over, under = [[p[side] for p in pairs] for side in (0, 1)]
    with pytest.raises(ValueError, match="example 1 go round in a circle") as raised:
        Constraints.from_pairs([1] * len(pairs), over, under, 2, 6)
    named = [int(r) for r in str(raised.value).split(": ")[1].split(" over ")]
    assert named[0] == named[-1]
    assert set(itertools.pairwise(named)) <= set(pairs)


@pytest.mark.parametrize("labels", [["x", "y"], [3, 5]])
def test_a_self_pair_names_example_and_label(labels: list[Any]) -> None:
    top = labels[0]
    with pytest.raises(ValueError, match=rf"^example 2 puts label '?{top}'? over itself$"):
        Constraints.from_pairs([0, 2], [top, top], [labels[1], top], 3, labels)


@pytest.mark.parametrize("labels", [["x", "y", "z"], [3, 5, 7]])
def test_a_repeated_label_names_example_and_label(labels: list[Any]) -> None:
    a, b, c = labels
    message = rf"^example 1 ranks label '?{b}'? more than once$"
    for row in ([a, b, b], [b, a, c, b], [[a, b], b], [a, [b, c, b]]):
        with pytest.raises(ValueError, match=message):
            Constraints.from_rankings(orders=[[a], row])
    with pytest.raises(ValueError, match=message):
        Constraints.from_rankings(orders=np.array([[a, b, c], [b, c, b]]))


@pytest.mark.parametrize("labels", [["x", "y"], [3, 5]])
def test_an_unknown_label_names_example_and_label(labels: list[Any]) -> None:
    a, b = labels
    new = "w" if isinstance(a, str) else 4
    some = rf"unknown label {new!r}; labels are {a!r}, {b!r}$"
    with pytest.raises(ValueError, match=f"^example 2 has {some}"):
        Constraints.from_classes([a, b, new], labels=labels)
    with pytest.raises(ValueError, match=f"^example 1 has {some}"):
        Constraints.from_labelsets([[a], [b, new]], labels=labels)
    with pytest.raises(ValueError, match=f"^example 1 has {some}"):
        Constraints.from_rankings(orders=[[a], [b, [a, new]]], labels=labels)
    with pytest.raises(ValueError, match=rf"over\[1\] of example 7 has {some}"):
        Constraints.from_pairs([0, 7], [a, new], [b, a], 8, labels)
    with pytest.raises(ValueError, match=rf"under\[0\] of example 3 has {some}"):
        Constraints.from_pairs([3], [a], [new], 8, labels)
    with pytest.raises(ValueError, match=rf"^example 1 names label '?{b}'?, which is not among"):
        Constraints.from_classes([a, b]).relabelled([a])


def test_text_is_not_found_among_numbers() -> None:
    with pytest.raises(ValueError, match="labels of type"):
        Constraints.from_classes(["1"], labels=[1, 2])
    with pytest.raises(ValueError, match="labels of type"):
        Constraints.from_pairs([0], [1], [2], 1, ["1", "2"])
    with pytest.raises(ValueError, match="labels of type"):
        Constraints.from_classes([1]).relabelled(["1"])
    for mixture in ([["a", 1]], [["a"], [1]]):
        with pytest.raises(ValueError, match="one sortable type"):
            Constraints.from_labelsets(mixture)
        with pytest.raises(ValueError, match="one sortable type"):
            Constraints.from_rankings(orders=mixture)
    with pytest.raises(ValueError, match="one sortable type, not int and str"):
        Constraints.from_classes(np.array(["a", 1], dtype=object))


@pytest.mark.parametrize("missing", [np.nan, None, np.inf])
def test_what_is_missing_is_no_label(missing: Any) -> None:
    with pytest.raises(ValueError, match=r"y\[1\] is .*which is not a label"):
        Constraints.from_classes(np.array([1.0, missing], dtype=float if missing else object))
    with pytest.raises(ValueError, match=r"not a label|one sortable type"):
        Constraints.from_classes([0], labels=[0, missing])
    with pytest.raises(ValueError, match=r"not a label|one sortable type"):
        Constraints.from_labelsets([[1.0], [missing]])


def test_a_collection_is_no_label() -> None:
    lists = np.empty(2, dtype=object)
    lists[:] = [[1, 2], [3]]
    for build in (
        lambda: Constraints.from_classes(lists),
        lambda: Constraints.from_classes([0], labels=lists),
        lambda: Constraints.from_labelsets([[{1, 2}]]),
        lambda: Constraints.from_rankings(orders=[[{"a": 1}]]),
    ):
        with pytest.raises(ValueError, match="label"):
            build()


def test_not_a_time_is_no_label() -> None:
    with pytest.raises(ValueError, match="not a label"):
        Constraints.from_classes(np.array(["2020-01-01", "NaT"], dtype="M8[D]"))


@pytest.mark.parametrize(
    ("rows", "n", "message"),
    [
        ([3], 3, r"rows\[0\] is 3; there are 3 examples"),
        ([0, -1], 3, r"rows\[1\] is -1"),
        ([0.0], 3, "integers"),
        ([[0]], 3, "one-dimensional"),
        ([True], 3, "integers"),
        ([0], -1, "n_samples"),
        ([0], 2.0, "n_samples"),
        ([0, 0], 3, r"rows has 2 entries and over has 1"),
    ],
)
def test_rows_are_checked(rows: Any, n: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Constraints.from_pairs(rows, [0], [1], n, 2)


@pytest.mark.parametrize("name", ["margin", "weight"])
def test_margins_and_weights_are_checked(name: str) -> None:
    for values, message in (
        ([1.0], "shape"),
        ([[1.0, 1.0]], "shape"),
        ([1.0, np.nan], rf"{name}\[1\]"),
        ([-1.0, 1.0], rf"{name}\[0\] is -1"),
        ([np.inf, 1.0], rf"{name}\[0\]"),
    ):
        with pytest.raises(ValueError, match=message):
            Constraints.from_pairs([0, 1], [0, 0], [1, 1], 2, 2, **{name: values})


@pytest.mark.parametrize(
    ("Y", "message"),
    [
        (np.array([[0, 1], [2, 1]]), "example 1, column 0 holds 2"),
        (np.array([[0.0, np.nan]]), "example 0, column 1 holds nan"),
        (np.array([[0.0], [0.5]]), r"example 1, column 0 holds 0\.5"),
        (sp.csr_matrix(np.array([[0, 0, 1], [0, -1, 0]])), "example 1, column 1 holds -1"),
        (sp.csr_matrix(([1, 1], [1, 1], [0, 2]), shape=(1, 2)), "example 0, column 1 holds 2"),
        (["ab", "c"], "example 0 of Y is 'ab'; wanted a list of labels"),
        ([["a"], 3], "example 1 of Y is 3; wanted a list of labels"),
        ([[["a"]]], "label"),
    ],
)
def test_label_sets_are_checked(Y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Constraints.from_labelsets(Y)


def test_columns_and_labels_must_fit() -> None:
    for build in (
        Constraints.from_labelsets,
        lambda Y, **kw: Constraints.from_rankings(ranks=Y, **kw),
    ):
        with pytest.raises(ValueError, match="2 columns and 3 labels"):
            build(np.ones((1, 2)), labels=["a", "b", "c"])
        with pytest.raises(ValueError, match="same label"):
            build(np.ones((1, 2)), labels=["a", "a"])


def test_rankings_are_checked() -> None:
    with pytest.raises(ValueError, match=r"either orders= .* or ranks="):
        Constraints.from_rankings()
    with pytest.raises(ValueError, match=r"either orders= .* or ranks="):
        Constraints.from_rankings(orders=[[0]], ranks=[[1]])
    with pytest.raises(ValueError, match="'adjacent' or 'all', not 'some'"):
        Constraints.from_rankings(orders=[[0]], pairs="some")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="example 1 has an empty tie"):
        Constraints.from_rankings(orders=[[0], [1, []]])
    with pytest.raises(ValueError, match="example 0 of orders is 'abc'"):
        Constraints.from_rankings(orders=["abc"])
    with pytest.raises(ValueError, match="example 1, column 0 is infinite"):
        Constraints.from_rankings(ranks=[[1, 2], [np.inf, 1]])
    with pytest.raises(ValueError, match=r"\(n_samples, n_labels\), not \(2,\)"):
        Constraints.from_rankings(ranks=[1, 2])


def test_relations_need_the_same_examples_and_labels() -> None:
    a = Constraints.from_classes([0, 1])
    with pytest.raises(ValueError, match="2 examples and the other 1"):
        a.is_consistent_with(a[:1])
    with pytest.raises(ValueError, match="relabelled"):
        a.is_consistent_with(a.relabelled([0, 1, 2]))
    with pytest.raises(TypeError, match="Constraints"):
        a.is_consistent_with(np.array([0, 1]))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="part 1 is ndarray"):
        Constraints.concatenate([a, np.array([0])])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="at least one"):
        Constraints.concatenate([])


def test_scores_are_checked() -> None:
    a = Constraints.from_classes([0, 1])
    for shape in ((2,), (2, 1), (2, 4), (1, 2), (2, 2, 1)):
        with pytest.raises(ValueError, match=r"wanted \(2, 2\)"):
            a.errors(np.zeros(shape))
    with pytest.raises(ValueError, match="example 1 are not numbers"):
        a.errors([[0, 0], [0, np.nan]])


def test_scores_may_stand_anywhere_in_memory() -> None:
    raw = np.zeros(8 * 4 + 1, dtype=np.uint8)[1:]
    scores = raw.view(np.float64).reshape(2, 2)  # one byte off
    scores[:] = [[1, 0], [1, 0]]
    assert Constraints.from_classes([0, 1]).errors(scores).tolist() == [False, True]


def test_an_index_is_checked() -> None:
    c = Constraints.from_classes([0, 1, 2])
    for key in ("a", 1.0, [0.5], (0, 1), None, np.zeros((1, 3), dtype=bool), [True], [3], c, c[:1]):
        with pytest.raises(IndexError):
            c[key]


# ---- forms of input ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "labels"),
    [
        (["b", "a", "b"], ["a", "b"]),
        ((3, 1, 3), [1, 3]),
        ([True, False, True], [False, True]),
        ([2.5, -1.0, 2.5], [-1.0, 2.5]),
        (np.array(["b", "a", "b"], dtype=object), ["a", "b"]),
        (np.array([b"b", b"a", b"b"]), [b"a", b"b"]),
        (np.array([300, 5, 300], dtype=np.uint16), [5, 300]),
        (np.array([99, -100, 99], dtype=np.int8), [-100, 99]),
        (np.array([2**63 + 9, 2**63, 2**63 + 9], dtype=np.uint64), [2**63, 2**63 + 9]),
        (np.array([2**64 - 1, 0, 2**64 - 1], dtype=np.uint64), [0, 2**64 - 1]),
        (np.array([2**62, -(2**62), 2**62]), [-(2**62), 2**62]),
        (np.array([7, 1, 7])[::-1][::-1], [1, 7]),
    ],
    ids=lambda v: str(getattr(v, "dtype", type(v).__name__)),
)
def test_labels_of_any_sort(y: Any, labels: list[Any]) -> None:
    named = np.array(labels[::-1], dtype=np.asarray(y).dtype)
    for made in (Constraints.from_classes(y), Constraints.from_classes(y, labels=named)):
        assert made.labels.tolist() == labels
        assert made.class_codes().tolist() == [1, 0, 1]


def test_labels_of_frames() -> None:
    import pandas as pd
    import polars as pl

    text = ["b", "a", "b"]
    categories = ["z", "b", "a"]  # neither sorted nor all in use
    for y in (
        pd.Series(text),
        pd.Series(text, index=[5, 5, 9]),
        pd.Series(text, dtype="string"),
        pd.Categorical(text, categories=categories),
        pd.Series(pd.Categorical(text, categories=categories)),
        pd.Index(text),
        pl.Series(text),
        pl.Series(text, dtype=pl.Categorical),
        pl.Series(text, dtype=pl.Enum(categories)),
    ):
        c = Constraints.from_classes(y)
        assert c.labels.tolist() == ["a", "b"]
        assert c.class_codes().tolist() == [1, 0, 1]
        assert Constraints.from_classes(text, labels=y).labels.tolist() == ["a", "b"]
    for y in (
        pd.Series([3, 1, 3], dtype="Int64"),
        pd.Series([True, False, True], dtype="boolean"),
        pl.Series([3, 1, 3], dtype=pl.Int16),
        pl.Series([True, False, True]),
    ):
        assert Constraints.from_classes(y).class_codes().tolist() == [1, 0, 1]
    for y in (
        pd.Series(["a", None]),
        pd.Series(["a", None], dtype="string"),
        pd.Series([1, None], dtype="Int64"),
        pd.Categorical(["a", None]),
        pl.Series(["a", None]),
        pl.Series(["a", None], dtype=pl.Categorical),
        pl.Series([1, None]),
    ):
        with pytest.raises(ValueError, match=r"y\[1\] is .*which is not a label"):
            Constraints.from_classes(y)


def test_columns_of_frames_are_labels() -> None:
    import pandas as pd
    import polars as pl

    table = {"sun": [1, 0], "sea": [1, 1], "ice": [0, 0]}
    for frame in (pd.DataFrame(table), pl.DataFrame(table), pd.DataFrame(table).astype(bool)):
        c = Constraints.from_labelsets(frame)
        assert c.labels.tolist() == ["ice", "sea", "sun"]
        assert np.asarray(c).tolist() == [[0, 1, 1], [0, 1, 0]]
        named = Constraints.from_labelsets(frame, labels=["q", "r", "s"])
        assert np.asarray(named).tolist() == [[1, 1, 0], [0, 1, 0]]
    ranks = {"sun": [1.0, 2.0], "sea": [2.0, 1.0], "ice": [None, 2.0]}
    for frame in (pd.DataFrame(ranks), pl.DataFrame(ranks)):
        c = Constraints.from_rankings(ranks=frame)
        assert read_bare(c)[0] == [("sun", "sea")]
        assert sorted(read_bare(c)[1]) == [("sea", "ice"), ("sea", "sun")]
    # A frame is read by rows, never by columns, or refused.
    orders = {"first": ["a", "b"], "second": ["b", "c"], "third": ["c", "a"]}
    for frame in (pd.DataFrame(orders), pl.DataFrame(orders)):
        try:
            c = Constraints.from_rankings(orders=frame)
        except ValueError:
            continue
        assert read_bare(c) == [[("a", "b"), ("b", "c")], [("b", "c"), ("c", "a")]]


def test_sparse_indicators_in_any_state() -> None:
    messy = sp.csr_matrix((2, 4), dtype=np.int64)
    messy.indptr = np.array([0, 3, 4], dtype=np.int32)
    messy.indices = np.array([3, 0, 2, 1], dtype=np.int32)  # not sorted
    messy.data = np.array([1, 1, 0, 1])  # an explicit zero
    for Y in (messy, sp.csr_array(messy), messy.tocoo(), messy.tolil(), messy.astype(np.float32)):
        before = [np.array(a) for a in (Y.data, Y.indices, Y.indptr)] if Y.format == "csr" else []
        c = Constraints.from_labelsets(Y, labels=list("dcba"))
        assert np.asarray(c).tolist() == [[1, 0, 0, 1], [0, 0, 1, 0]]
        if before:  # the user's matrix is read, not tidied
            for was, now in zip(before, (Y.data, Y.indices, Y.indptr), strict=True):
                assert was.tolist() == now.tolist()


@pytest.mark.parametrize("kind", ["matrix", "array"])
def test_an_indicator_with_explicit_zeros_is_left_alone(kind: str) -> None:
    Y = (sp.csr_matrix if kind == "matrix" else sp.csr_array)(np.array([[1, 0, 1], [0, 1, 0]]))
    Y.data[0] = 0
    c = Constraints.from_labelsets(Y)
    assert np.asarray(c).tolist() == [[0, 0, 1], [0, 1, 0]]
    assert Y.data.tolist() == [0, 1, 1]
    assert Y.indices.tolist() == [0, 2, 1]
    assert Y.indptr.tolist() == [0, 2, 3]


@pytest.mark.parametrize(
    ("indptr", "indices"),
    [
        ([0, 10**7, 2], [0, 1]),
        ([0, -(10**7), 2], [0, 1]),
        ([1, 1, 2], [0, 1]),
        ([0, 1, 10**8], [0, 1]),
        ([0, 2, 1], [0, 1]),
        ([0, 1, 2], [10**8, 1]),
        ([0, 1, 2], [-(10**8), 1]),
        ([0, 1, 2], [3, 1]),
        ([0, 1], [0, 1]),
    ],
)
@pytest.mark.parametrize("labels", [None, ["c", "a", "b"]])
def test_a_corrupt_indicator_is_refused(indptr: Any, indices: Any, labels: Any) -> None:
    broken = sp.csr_matrix((2, 3), dtype=np.int64)
    broken.data = np.ones(2, dtype=np.int64)
    broken.indices = np.array(indices, dtype=np.int32)
    broken.indptr = np.array(indptr, dtype=np.int32)
    with pytest.raises((ValueError, IndexError)):
        Constraints.from_labelsets(broken, labels=labels)


def test_a_tie_that_is_a_set_has_no_order_of_its_own() -> None:
    # Two equal sets that Python walks through in different orders.
    one, two = {0, 8}, {8, 0}
    assert one == two
    assert list(one) != list(two)
    p, q = (Constraints.from_rankings(orders=[[tie, 1]]).pairs() for tie in (one, two))
    assert p.over.tolist() == q.over.tolist()


def test_an_array_of_orders_equals_the_lists() -> None:
    orders = np.array([[2, 0, 1], [1, 2, 0]])
    for given_orders in (orders, orders.T.copy().T, orders[::-1][::-1], orders.tolist()):
        for pairs in ("adjacent", "all"):
            c = Constraints.from_rankings(orders=given_orders, pairs=pairs)  # type: ignore[arg-type]
            want = [
                [
                    (a, b)
                    for i, a in enumerate(row)
                    for b in row[i + 1 :][: 1 if pairs == "adjacent" else 3]
                ]
                for row in orders.tolist()
            ]
            assert read_bare(c) == want


def test_later_changes_to_the_input_change_nothing() -> None:
    y, labels = np.array([2, 0, 1], dtype=np.int32), np.array([0, 1, 2])
    margin = np.array([1.0, 2.0])
    made = [
        Constraints.from_classes(y),
        Constraints.from_classes(y, labels=labels),
        Constraints.from_rankings(orders=y.reshape(1, 3)),
        Constraints.from_pairs(y[1:], y[:2], labels[1:], 3, labels, margin=margin),
    ]
    before = [read(c) for c in made]
    y[:], labels[:], margin[:] = 0, 5, 9
    assert [read(c) for c in made] == before
    assert made[1].labels.tolist() == [0, 1, 2]


def test_class_codes_cannot_be_written() -> None:
    codes = Constraints.from_classes(["b", "a"]).class_codes()
    with pytest.raises(ValueError, match="read-only"):
        codes[0] = 0
    with pytest.raises(ValueError, match="only classes"):
        Constraints.from_labelsets([["a"]]).class_codes()


# ---- the smallest and the largest ----------------------------------------------------------------


def test_no_examples() -> None:
    for c in (
        Constraints.from_classes([]),
        Constraints.from_classes([], labels=["a", "b"]),
        Constraints.from_labelsets([]),
        Constraints.from_labelsets(np.zeros((0, 3)), calibrate=True),
        Constraints.from_labelsets(sp.csr_matrix((0, 3))),
        Constraints.from_rankings(orders=[]),
        Constraints.from_rankings(orders=np.zeros((0, 3), dtype=int)),
        Constraints.from_rankings(ranks=np.zeros((0, 3))),
        Constraints.from_pairs([], [], [], 0, 3),
        Constraints.from_pairs([], [], [], 0, []),
    ):
        assert c.n_samples == 0
        for same in (c, c[:], c[[]], c.closure(), c.reduction(), Constraints.concatenate([c, c])):
            assert same.sizes.tolist() == []
            assert same.pairs().indptr.tolist() == [0]
        assert c.errors(np.zeros((0, c.n_labels))).tolist() == []
        assert c.is_consistent_with(c).tolist() == []
        assert np.asarray(c).shape[0] == 0


def test_one_label_says_nothing() -> None:
    for c in (
        Constraints.from_classes(["a", "a"]),
        Constraints.from_labelsets([["a"], []]),
        Constraints.from_rankings(orders=[["a"], []], labels=["a"]),
        Constraints.from_rankings(ranks=[[1.0], [np.nan]]),
        Constraints.from_pairs([], [], [], 2, ["a"]),
    ):
        assert c.n_labels == 1
        assert c.sizes.tolist() == [0, 0]
        assert not c.errors([[1.0], [-1.0]]).any()
    calibrated = Constraints.from_labelsets([["a"], []], calibrate=True)
    assert calibrated.errors([[1.0], [-1.0]]).tolist() == [False, False]
    assert calibrated.errors([[0.0], [0.0]]).tolist() == [True, False]


def test_no_label_at_all() -> None:
    for calibrate in (False, True):
        c = Constraints.from_labelsets([[], []], calibrate=calibrate)
        assert (c.n_samples, c.n_labels) == (2, 0)
        assert c.sizes.tolist() == [0, 0]
        assert c.calibrated == calibrate
        assert not c.errors(np.zeros((2, 0))).any()
        both = Constraints.concatenate([c, Constraints.from_classes(["a", "b"])])
        assert both.labels.tolist() == ["a", "b"]
        assert both.sizes.tolist() == ([2, 2, 1, 1] if calibrate else [0, 0, 1, 1])


def test_empty_and_full_sets_are_ordinary() -> None:
    Y = np.array([[0, 0, 0], [1, 1, 1], [0, 1, 0]])
    plain = Constraints.from_labelsets(Y)
    assert plain.sizes.tolist() == [0, 0, 2]
    assert not plain.errors(np.zeros((3, 3)))[:2].any()
    calibrated = Constraints.from_labelsets(Y, calibrate=True)
    assert calibrated.sizes.tolist() == [3, 3, 3]
    assert read_bare(calibrated)[0] == [(VIRTUAL, r) for r in range(3)]
    assert read_bare(calibrated)[1] == [(r, VIRTUAL) for r in range(3)]


def test_a_million_classes_in_sixteen_megabytes() -> None:
    y = np.random.default_rng(0).integers(0, 100_000, 1_000_000)
    for shifted in (y, y - 50_000, y.astype(np.int32)):
        Constraints.from_classes(shifted[:10])
        tracemalloc.start()
        try:
            c = Constraints.from_classes(shifted)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak <= 16 * 2**20
        assert c.nbytes <= 6 * 2**20
        assert np.array_equal(c.labels[c.class_codes()], shifted)
        assert c.sizes[0] == c.n_labels - 1


def test_a_million_classes_in_half_a_second() -> None:
    y = np.random.default_rng(0).integers(0, 100_000, 1_000_000)

    def seconds() -> float:
        start = time.process_time()
        Constraints.from_classes(y)
        return time.process_time() - start

    assert min(seconds() for _ in range(3)) < 0.5


def test_selecting_classes_copies_only_what_is_selected() -> None:
    c = Constraints.from_classes(np.arange(100_000) % 1000)
    tracemalloc.start()
    try:
        part = c[:10]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert part.class_codes().tolist() == list(range(10))
    assert peak < 2**20


def test_pairs_keep_margin_and_weight_everywhere() -> None:
    labels = list("abcd")
    c = Constraints.from_pairs(
        [1, 0, 1, 1], list("abac"), list("bccd"), 3, labels, [2, 3, 4, 5], [6, 7, 0, 9]
    )
    assert c.has_margins
    assert c.has_weights
    rows = [
        [("b", "c", 3.0, 7.0)],
        [("a", "b", 2.0, 6.0), ("c", "d", 5.0, 9.0)],
        [],
    ]
    assert read(c) == rows
    assert read(c[[1, 2, 1]]) == [rows[1], [], rows[1]]
    assert read(c[::-1]) == rows[::-1]
    plain = Constraints.from_pairs([0], ["d"], ["a"], 1, labels)
    both = Constraints.concatenate([plain, c, Constraints.from_classes(["a"], labels=labels)])
    assert read(both)[0] == [("d", "a", 1.0, 1.0)]
    assert read(both)[1:4] == rows
    assert read(both)[4] == [("a", r, 1.0, 1.0) for r in "bcd"]
    assert read(both[[2, 0]]) == [rows[1], [("d", "a", 1.0, 1.0)]]
    assert read(both.relabelled(list("abcdef")))[1:4] == rows
    chain = Constraints.from_pairs(
        [0] * 4, list("aaba"), list("cbcb"), 1, labels, [1, 2, 3, 4], [5, 6, 7, 8]
    )
    assert read(chain.reduction()) == [[("a", "b", 2.0, 6.0), ("b", "c", 3.0, 7.0)]]
    assert read(chain.closure()) == [
        [("a", "b", 1.0, 1.0), ("a", "c", 1.0, 1.0), ("b", "c", 1.0, 1.0)]
    ]


def test_the_example_of_the_paper() -> None:
    # Definition 2.4's example: k = 4, y = {2 over 3, 2 over 4}.
    y = Constraints.from_pairs([0], [2], [3], 1, [1, 2, 3, 4])
    y = Constraints.concatenate([y, Constraints.from_pairs([0], [2], [4], 1, [1, 2, 3, 4])])
    both = Constraints.from_pairs([0, 0], [2, 2], [3, 4], 1, [1, 2, 3, 4])
    right, wrong = (Constraints.from_rankings(orders=[o]) for o in ([2, 3, 1, 4], [4, 2, 3, 1]))
    assert both.is_consistent_with(right).tolist() == [True]
    assert both.is_consistent_with(wrong).tolist() == [False]
    # Table 1: sizes of a class, of l labels, of a ranking.
    k, chosen = 7, [0, 2, 5]
    assert Constraints.from_classes([3], labels=range(k)).sizes[0] == k - 1
    assert Constraints.from_labelsets([chosen], labels=range(k)).sizes[0] == 3 * (k - 3)
    assert Constraints.from_rankings(orders=[range(k)]).sizes[0] == k - 1
    assert Constraints.from_rankings(orders=[range(k)], pairs="all").sizes[0] == k * (k - 1) // 2
