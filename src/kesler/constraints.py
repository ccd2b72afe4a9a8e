"""What the labels say: a partial order on the labels for every example.

Constraint classification (Har-Peled, Roth and Zimak 2002, section 2) asks of an example only which
label should stand above which. A class, a set of labels, a ranking with or without ties and a list
of "this rather than that" are all such orders; `Constraints` holds one per example, and every
solver, reduction and metric of Kesler reads it from here. Nothing is learned in this module.

Storage is tiers where the order allows it and pairs where it must be: a class among 100 000 is one
32-bit integer, whatever number of pairs it stands for. `native/orders.hpp` tells the layout.
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any, Literal, NamedTuple, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from kesler import _core, _costs
from kesler._labels import (
    codes_of_distinct,
    from_collections,
    from_indicator,
    from_orders,
    from_ranks,
    is_matrix,
    label_set,
    look_up,
    one_dimension,
    places,
    shown,
    united,
)

__all__ = ["Constraints", "Pairs"]

IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
Kind: TypeAlias = Literal["classes", "labelsets", "rankings", "pairs", "mixed"]

# The forms of native/orders.hpp.
_SET, _CALIBRATED, _ADJACENT, _ALL, _PAIRS = range(5)


class Pairs(NamedTuple):
    """The stored pairs of all examples; those of example i are ``indptr[i]:indptr[i + 1]``.

    Attributes
    ----------
    indptr : ndarray of int64, shape (n_samples + 1,)
    over, under : ndarray of int32
        Positions in ``Constraints.labels``; -1 is the virtual label of calibrated label sets.
    margin, weight : ndarray of float64
        1 where none was given.

    Examples
    --------
    >>> from kesler import Constraints
    >>> pairs = Constraints.from_classes(["b"], labels=["a", "b", "c"]).pairs()
    >>> pairs.over, pairs.under
    (array([1, 1], dtype=int32), array([0, 2], dtype=int32))
    """

    indptr: IntArray
    over: npt.NDArray[np.int32]
    under: npt.NDArray[np.int32]
    margin: npt.NDArray[np.float64]
    weight: npt.NDArray[np.float64]


class _Order:
    """One example of a `Constraints` as an object that NumPy cannot look into."""

    __slots__ = ("_of",)

    def __init__(self, of: Constraints) -> None:
        self._of = of

    def __repr__(self) -> str:
        _, over, under, _, _ = self._of.pairs()
        name = [*map(str, self._of.labels.tolist()), "(virtual)"]
        shown = [f"{name[a]} over {name[b]}" for a, b in zip(over[:6], under[:6], strict=True)]
        return f"<{', '.join(shown)}{', ...' if over.size > 6 else ''}>"


class Constraints:
    """A partial order on one set of labels for every example.

    Made by `from_classes`, `from_labelsets`, `from_rankings`, `from_pairs` and `concatenate`. It is
    indexed like an array of length `n_samples` and goes through ``train_test_split``, ``KFold``,
    ``cross_val_score`` and ``GridSearchCV`` as any target does.

    An example without pairs (an empty or a full label set, a ranking of one label) is ordinary data
    that says nothing. A label outside all pairs of an example is unknown there, not negative.

    Attributes
    ----------
    labels : ndarray, shape (n_labels,)
        The labels, sorted and distinct. Columns of scores follow this order.
    kind : {"classes", "labelsets", "rankings", "pairs", "mixed"}
    calibrated : bool
        Whether some example has the virtual label that stands between relevant and irrelevant.

    Examples
    --------
    >>> from kesler import Constraints
    >>> sets = Constraints.from_labelsets([["sun", "sea"], [], ["sea"]])
    >>> orders = Constraints.from_rankings(orders=[["sea", "sun", "snow"]])
    >>> c = Constraints.concatenate([sets, orders])
    >>> c.kind, c.n_samples, c.labels.tolist()
    ('mixed', 4, ['sea', 'snow', 'sun'])
    >>> c.sizes
    array([2, 0, 2, 2])
    """

    __slots__ = (
        "_codes",
        "_form",
        "_forms",
        "_indptr",
        "_items",
        "_margin",
        "_weight",
        "kind",
        "labels",
    )

    # Which of the slots are None says how examples are stored:
    _forms: npt.NDArray[np.uint8] | None  # None: all examples have the form `_form`
    _indptr: IntArray | None  # None: item i is example i
    _margin: npt.NDArray[np.float64] | None  # aligned with _items, at the label on top of a pair
    _weight: npt.NDArray[np.float64] | None
    _codes: npt.NDArray[np.int32] | None  # the class of each example, where classes have costs
    _items: npt.NDArray[np.int32]
    _form: int
    kind: Kind
    labels: npt.NDArray[Any]

    def __init__(self) -> None:
        raise TypeError(
            "Constraints is made by from_classes, from_labelsets, from_rankings, from_pairs or "
            "concatenate"
        )

    @classmethod
    def _make(
        cls,
        kind: Kind,
        labels: npt.NDArray[Any],
        items: npt.NDArray[np.int32],
        indptr: IntArray | None,
        form: int,
        forms: npt.NDArray[np.uint8] | None = None,
        margin: npt.NDArray[np.float64] | None = None,
        weight: npt.NDArray[np.float64] | None = None,
        codes: npt.NDArray[np.int32] | None = None,
    ) -> Constraints:
        self = object.__new__(cls)
        self.kind, self.labels = kind, labels
        self._items, self._indptr, self._form, self._forms = items, indptr, form, forms
        self._margin, self._weight, self._codes = margin, weight, codes
        return self

    # ---- made from --------------------------------------------------------------------------

    @classmethod
    def from_classes(
        cls,
        y: npt.ArrayLike,
        labels: npt.ArrayLike | None = None,
        *,
        margin: npt.ArrayLike | None = None,
        weight: npt.ArrayLike | None = None,
    ) -> Constraints:
        """One class for each example: it stands above every other label.

        Parameters
        ----------
        y : array-like, shape (n_samples,)
            Class of each example: strings, integers, booleans or any sortable values.
        labels : array-like, optional
            All labels there are, where `y` may lack some. By default those of `y`.
        margin, weight : array-like of float, optional
            What it costs to take one class for another: by how much the scores should differ (1),
            or what a violation counts (1). Either a matrix (n_labels, n_labels) with a row for each
            class and a column for each rival, or a row of costs for each example, of shape
            (n_samples, n_labels); where both fit it is a matrix of classes. Rows and columns follow
            the sorted labels; the entry of the class itself is not used. A rival of weight zero is
            none.

        Notes
        -----
        With costs the pairs are stored one by one, some 40 bytes for each of the
        ``n_samples * (n_labels - 1)``; without them a class takes four. A label that `relabelled`
        or `concatenate` adds later has no cost, and so no pair.

        Examples
        --------
        >>> from kesler import Constraints
        >>> Constraints.from_classes(["b", "a", "b"], labels=["a", "b", "c"]).sizes
        array([2, 2, 2])

        Taking "ill" for "well" is the worse mistake:

        >>> cost = [[0, 5], [1, 0]]
        >>> Constraints.from_classes(["ill", "well"], margin=cost).pairs().margin
        array([5., 1.])
        """
        values = one_dimension(y, "y")
        if labels is None:
            found, codes = codes_of_distinct(values)
        else:
            found = label_set(labels)
            codes = look_up(values, found, lambda p: f"example {p}")
        if margin is None and weight is None:
            return cls._make("classes", found, codes, None, _SET)
        margins = _costs.per_rival(margin, "margin", codes.size, found.size)
        weights = _costs.per_rival(weight, "weight", codes.size, found.size)
        indptr, items, margins, weights = _costs.against_rivals(codes, found.size, margins, weights)
        return cls._make(
            "classes",
            found,
            items,
            indptr,
            _PAIRS,
            margin=margins,
            weight=weights,
            codes=codes,
        )

    @classmethod
    def from_labelsets(
        cls, Y: Any, labels: npt.ArrayLike | None = None, calibrate: bool = False
    ) -> Constraints:
        """A set of labels for each example: its members stand above all others.

        Parameters
        ----------
        Y : array-like or sparse matrix of shape (n_samples, n_labels), or list of collections
            An indicator (0/1 or boolean), or for each example the labels it has. A list of lists
            is always labels; give an indicator as an array.
        labels : array-like, optional
            The labels of the columns, or all labels there are. By default column numbers, or the
            labels found.
        calibrate : bool, default=False
            Put a virtual label between the two sides, so that a learner finds where the set ends
            and an empty or a full set says something too.

        Examples
        --------
        >>> import numpy as np
        >>> from kesler import Constraints
        >>> Constraints.from_labelsets(np.array([[1, 0, 1], [0, 0, 0]])).sizes
        array([2, 0])
        >>> sets = [["x", "z"], []]
        >>> Constraints.from_labelsets(sets, labels=["x", "y", "z"], calibrate=True).sizes
        array([3, 3])
        """
        if sp.issparse(Y) or is_matrix(Y):
            indptr, items, found = from_indicator(Y, labels)
        else:
            indptr, items, found = from_collections(Y, labels)
        return cls._make("labelsets", found, items, indptr, _CALIBRATED if calibrate else _SET)

    @classmethod
    def from_rankings(
        cls,
        *,
        orders: Any = None,
        ranks: Any = None,
        labels: npt.ArrayLike | None = None,
        pairs: Literal["adjacent", "all"] = "adjacent",
    ) -> Constraints:
        """A ranking for each example, with ties and unranked labels where there are any.

        Parameters
        ----------
        orders : list of lists, or array of shape (n_samples, n_ranked)
            The labels of each example, best first. A list inside the list is a tie.
        ranks : array-like of shape (n_samples, n_labels)
            The rank of each label, 1 the best; equal ranks are ties, NaN is unranked.
        labels : array-like, optional
            All labels there are; for `ranks` the labels of its columns.
        pairs : {"adjacent", "all"}, default="adjacent"
            Which pairs a solver sees: those of neighbouring tiers (Har-Peled et al. 2002), or every
            pair of tiers (Cheng, Hühn and Hüllermeier 2009). The order is the same, the objective
            of a solver is not.

        Examples
        --------
        >>> from kesler import Constraints
        >>> c = Constraints.from_rankings(orders=[["a", ["b", "c"], "d"], ["d", "a"]])
        >>> c.sizes
        array([4, 1])
        >>> Constraints.from_rankings(ranks=[[1, 2, float("nan")], [2, 2, 1]]).sizes
        array([1, 2])
        """
        if (orders is None) == (ranks is None):
            raise ValueError(
                "give either orders= (labels, best first) or ranks= (a rank per label)"
            )
        if pairs not in ("adjacent", "all"):
            raise ValueError(f"pairs must be 'adjacent' or 'all', not {pairs!r}")
        if ranks is not None:
            indptr, items, found = from_ranks(ranks, labels)
        else:
            indptr, items, found = from_orders(orders, labels)
        made = cls._make(
            "rankings", found, items, indptr, _ADJACENT if pairs == "adjacent" else _ALL
        )
        twice = made._native().repeat()
        if twice is not None:
            raise ValueError(
                f"example {twice[0]} ranks label {shown(found, twice[1])} more than once"
            )
        return made

    @classmethod
    def from_pairs(
        cls,
        rows: npt.ArrayLike,
        over: npt.ArrayLike,
        under: npt.ArrayLike,
        n_samples: int,
        labels: npt.ArrayLike,
        margin: npt.ArrayLike | None = None,
        weight: npt.ArrayLike | None = None,
    ) -> Constraints:
        """Explicit pairs: in example ``rows[p]`` label ``over[p]`` stands above ``under[p]``.

        Parameters
        ----------
        rows : array-like of int
            The example of each pair, 0 to ``n_samples - 1``, in any order. Within an example pairs
            keep the order given.
        over, under : array-like
            Labels, not positions.
        n_samples : int
        labels : array-like, or int for the labels 0 to labels - 1
            All labels there are.
        margin, weight : array-like of float, optional
            By how much the scores should differ (1), and what a violation counts (1). A pair of
            weight zero is left out. Rules that only look at the order ignore margins.

        Examples
        --------
        >>> from kesler import Constraints
        >>> labels = ["a", "b", "c"]
        >>> c = Constraints.from_pairs([0, 0, 2], ["a", "b", "a"], ["b", "c", "c"], 3, labels)
        >>> c.sizes
        array([2, 0, 1])
        >>> Constraints.from_pairs([0, 0], [0, 1], [1, 0], n_samples=1, labels=2)
        Traceback (most recent call last):
        ...
        ValueError: the pairs of example 0 go round in a circle: 0 over 1 over 0
        """
        found = _numbered(labels) if isinstance(labels, Integral) else label_set(labels)
        where = _row_numbers(rows, n_samples)
        sides = [one_dimension(over, "over"), one_dimension(under, "under")]
        for name, side in zip(("over", "under"), sides, strict=True):
            if side.size != where.size:
                raise ValueError(
                    f"rows has {where.size} entries and {name} has {side.size}; a pair has one each"
                )
        a = look_up(sides[0], found, lambda p: f"over[{p}] of example {where[p]}")
        b = look_up(sides[1], found, lambda p: f"under[{p}] of example {where[p]}")
        if np.any(a == b):
            p = int(np.argmax(a == b))
            raise ValueError(f"example {where[p]} puts label {shown(found, a[p])} over itself")
        margins, weights = _per_pair(margin, "margin", a.size), _per_pair(weight, "weight", a.size)
        counted = np.arange(a.size) if weights is None else np.flatnonzero(weights)
        sorting = counted[np.argsort(where[counted], kind="stable")]
        where = where[sorting]
        items = np.empty(2 * where.size, dtype=np.int32)
        items[0::2], items[1::2] = a[sorting], b[sorting]
        indptr = np.zeros(n_samples + 1, dtype=np.int64)
        np.cumsum(2 * np.bincount(where, minlength=n_samples), out=indptr[1:])
        made = cls._make(
            "pairs",
            found,
            items,
            indptr,
            _PAIRS,
            margin=None if margins is None else np.repeat(margins[sorting], 2),
            weight=None if weights is None else np.repeat(weights[sorting], 2),
        )
        cycle = made._native().cycle()
        if cycle is not None:
            names = " over ".join(str(found[r]) for r in [*cycle[1], cycle[1][0]])
            raise ValueError(f"the pairs of example {cycle[0]} go round in a circle: {names}")
        return made

    @classmethod
    def concatenate(cls, parts: Iterable[Constraints]) -> Constraints:
        """Examples of several `Constraints`, of any kinds, one after another.

        The labels are united: a class that stood above all labels of its part stands above all
        labels of the whole.

        Examples
        --------
        >>> from kesler import Constraints
        >>> a = Constraints.from_classes([0, 1])
        >>> b = Constraints.from_pairs([0], [1], [2], n_samples=1, labels=3)
        >>> both = Constraints.concatenate([a, b])
        >>> both.kind, both.sizes
        ('mixed', array([2, 2, 1]))
        """
        given = list(parts)
        for p, part in enumerate(given):
            if not isinstance(part, Constraints):
                raise TypeError(f"part {p} is {type(part).__name__}, not Constraints")
        if not given:
            raise ValueError("there must be at least one Constraints to concatenate")
        labels = given[0].labels
        for part in given[1:]:
            if not np.array_equal(part.labels, labels):
                labels = united(labels, part.labels)
        same = [part.relabelled(labels) for part in given]
        kinds = {part.kind for part in same}
        forms = {part._form for part in same if part._forms is None}
        uniform = len(forms) == 1 and all(part._forms is None for part in same)
        indptr = None
        if any(part._indptr is not None for part in same) or not uniform:
            ends = np.cumsum([0, *(part._items.size for part in same)])
            shifted = [p._starts()[1:] + e for p, e in zip(same, ends[:-1], strict=True)]
            indptr = np.concatenate([np.zeros(1, dtype=np.int64), *shifted])
        kind = kinds.pop() if len(kinds) == 1 else "mixed"
        return cls._make(
            kind,
            labels,
            np.concatenate([part._items for part in same]),
            indptr,
            same[0]._form,
            forms=None if uniform else np.concatenate([part._form_of_each() for part in same]),
            margin=_join([part._margin for part in same], [part._items.size for part in same]),
            weight=_join([part._weight for part in same], [part._items.size for part in same]),
            codes=(
                np.concatenate([part.class_codes() for part in same])
                if kind == "classes" and any(part._codes is not None for part in same)
                else None
            ),
        )

    # ---- what it is -------------------------------------------------------------------------

    @property
    def n_samples(self) -> int:
        """Number of examples."""
        return int(self._items.size if self._indptr is None else self._indptr.size - 1)

    @property
    def n_labels(self) -> int:
        """Number of labels, the virtual one not counted."""
        return int(self.labels.size)

    @property
    def calibrated(self) -> bool:
        """Whether a virtual label stands between relevant and irrelevant in some example."""
        if self._forms is None:
            uniform = self._form == _CALIBRATED
        else:
            uniform = bool(np.any(self._forms == _CALIBRATED))
        return uniform or (self._has_pairs() and bool(np.any(self._pair_items() == self.n_labels)))

    @property
    def has_margins(self) -> bool:
        """Whether a pair carries a margin of its own."""
        return self._margin is not None

    @property
    def has_weights(self) -> bool:
        """Whether a pair carries a weight of its own."""
        return self._weight is not None

    @property
    def sizes(self) -> IntArray:
        """Number of stored pairs of each example."""
        return self._counts(self._native())

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the orders and the labels take."""
        held = (getattr(self, name) for name in self.__slots__ if name not in ("_form", "kind"))
        return sum(a.nbytes for a in held if a is not None)

    def __repr__(self) -> str:
        virtual = ", calibrated" if self.calibrated else ""
        return (
            f"Constraints({self.kind}{virtual}: {self.n_samples} examples, {self.n_labels} labels)"
        )

    def pairs(self) -> Pairs:
        """All stored pairs, expanded.

        Examples
        --------
        >>> from kesler import Constraints
        >>> p = Constraints.from_labelsets([["a"]], labels=["a", "b"], calibrate=True).pairs()
        >>> list(zip(p.over.tolist(), p.under.tolist()))
        [(0, -1), (-1, 1)]
        """
        native = self._native()
        over, under, margin, weight = native.pairs()
        for side in (over, under):
            side[side == self.n_labels] = -1
        indptr = np.zeros(self.n_samples + 1, dtype=np.int64)
        np.cumsum(self._counts(native), out=indptr[1:])
        return Pairs(indptr, over, under, margin, weight)

    # ---- relations --------------------------------------------------------------------------

    def closure(self) -> Constraints:
        """Every pair that the stored ones imply, as explicit pairs without margins or weights.

        Examples
        --------
        >>> from kesler import Constraints
        >>> Constraints.from_rankings(orders=[["a", "b", "c", "d"]]).closure().sizes
        array([6])
        """
        indptr, items = self._native().closure()
        return Constraints._make("pairs", self.labels, items, indptr.view(np.int64), _PAIRS)

    def reduction(self) -> Constraints:
        """The fewest pairs that imply the same orders; they keep their margins and weights.

        A solver's objective is over the pairs as stored: what a pair left out asked for beyond the
        order, by a margin or a weight of its own, is asked for no longer.

        Examples
        --------
        >>> from kesler import Constraints
        >>> c = Constraints.from_pairs([0, 0, 0], [0, 1, 0], [1, 2, 2], n_samples=1, labels=3)
        >>> c.reduction().sizes
        array([2])
        """
        form = _ADJACENT if self._form == _ALL else self._form
        forms = self._forms
        if forms is not None:
            forms = np.where(forms == _ALL, np.uint8(_ADJACENT), forms)
        if not self._has_pairs():
            return self._with(self.labels, self._items, form=form, forms=forms)
        keep = self._native().reduction().astype(bool)
        counts = np.concatenate([[0], np.cumsum(keep, dtype=np.int64)])
        return Constraints._make(
            self.kind,
            self.labels,
            self._items[keep],
            counts[self._starts()],
            form,
            forms,
            None if self._margin is None else self._margin[keep],
            None if self._weight is None else self._weight[keep],
            self._codes,
        )

    def is_consistent_with(self, other: Constraints) -> BoolArray:
        """For each example: does every pair of this order hold in `other` (Definition 2.2)?

        Examples
        --------
        >>> from kesler import Constraints
        >>> a = Constraints.from_classes(["b"], labels=["a", "b", "c"])
        >>> full = Constraints.from_rankings(orders=[["b", "a", "c"]])
        >>> a.is_consistent_with(full), full.is_consistent_with(a)
        (array([ True]), array([False]))
        """
        if not isinstance(other, Constraints):
            raise TypeError(f"orders are compared with Constraints, not {type(other).__name__}")
        if self.n_samples != other.n_samples:
            raise ValueError(
                f"this has {self.n_samples} examples and the other {other.n_samples}; "
                "orders are compared example by example"
            )
        if not np.array_equal(self.labels, other.labels):
            raise ValueError("both must have the same labels; see relabelled")
        holds: BoolArray = self._native().is_consistent_with(other._native()).astype(bool)
        return holds

    def errors(self, scores: npt.ArrayLike) -> BoolArray:
        """The error indicator of Definition 2.4: which examples do these scores sort wrongly?

        One violated pair is enough. Ties go to the label that comes first in `labels`; the virtual
        label comes before all others, so a label is relevant only when it scores above it.

        Parameters
        ----------
        scores : array-like, shape (n_samples, n_labels) or (n_samples, n_labels + 1)
            A column for each of `labels`; a last column is the virtual label, else it scores 0.

        Examples
        --------
        >>> from kesler import Constraints
        >>> c = Constraints.from_classes([0, 1, 1])
        >>> c.errors([[2.0, 1.0], [0.0, 3.0], [1.0, 1.0]])
        array([False, False,  True])
        """
        s = np.asarray(scores)
        if s.dtype not in (np.float32, np.float64):
            s = s.astype(np.float64)
        if s.ndim != 2 or s.shape[0] != self.n_samples or s.shape[1] - self.n_labels not in (0, 1):
            raise ValueError(
                f"scores has shape {s.shape}; wanted ({self.n_samples}, {self.n_labels}), or one "
                "column more for the virtual label"
            )
        if np.isnan(s).any():
            bad = int(np.argmax(np.isnan(s).any(axis=1)))
            raise ValueError(f"scores of example {bad} are not numbers (NaN)")
        if s.shape[1] == self.n_labels:
            s = np.concatenate([s, np.zeros((s.shape[0], 1), dtype=s.dtype)], axis=1)
        s = np.require(s, requirements=["C", "A"])
        wrong: BoolArray = self._native().errors(s).astype(bool)
        return wrong

    def relabelled(self, labels: npt.ArrayLike) -> Constraints:
        """The same orders over another set of labels, which must hold every label in use.

        Classes and label sets then stand above the new labels too.

        Examples
        --------
        >>> from kesler import Constraints
        >>> Constraints.from_classes([3, 5]).relabelled([1, 3, 5]).sizes
        array([2, 2])
        """
        found = label_set(labels)
        if np.array_equal(found, self.labels):
            return self._with(self.labels, self._items, self._form, self._forms)
        table = np.append(places(self.labels, found), found.size).astype(np.int32)
        tiers = np.isin(self._form_of_each_item(), (_ADJACENT, _ALL)) & (self._items < 0)
        moved = table[np.where(tiers, ~self._items, self._items)]
        if np.any(moved < 0):
            p = int(np.argmax(moved < 0))
            item = int(self._items[p])
            example = int(np.searchsorted(self._starts(), p, side="right")) - 1
            raise ValueError(
                f"example {example} names label {shown(self.labels, ~item if item < 0 else item)}, "
                "which is not among the labels given"
            )
        made = self._with(found, np.where(tiers, ~moved, moved), self._form, self._forms)
        if self._codes is not None:
            made._codes = table[self._codes]
            if np.any(made._codes < 0):
                example = int(np.argmax(made._codes < 0))
                raise ValueError(
                    f"example {example} names label {shown(self.labels, self._codes[example])}, "
                    "which is not among the labels given"
                )
        return made

    # ---- as an array ------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int]:
        """(n_samples,), as an array of one entry an example has."""
        return (self.n_samples,)

    @property
    def ndim(self) -> int:
        """1."""
        return 1

    @property
    def size(self) -> int:
        """Number of examples."""
        return self.n_samples

    def __len__(self) -> int:
        return self.n_samples

    def __getitem__(self, key: Any) -> Constraints:
        if isinstance(key, tuple):
            key = [part for part in key if part is not Ellipsis]
            if len(key) > 1:
                raise IndexError(f"Constraints has one dimension, but {len(key)} were indexed")
            key = key[0] if key else slice(None)
        if isinstance(key, Constraints):
            raise IndexError("Constraints cannot be indexed by Constraints")
        if isinstance(key, np.ndarray) and key.ndim == 0:
            key = key.item()
        if isinstance(key, SupportsIndex) and not isinstance(key, (bool, np.ndarray)):
            at = key.__index__()
            if not -self.n_samples <= at < self.n_samples:
                raise IndexError(f"example {at} is out of range 0..{self.n_samples - 1}")
            key = [at]
        elif isinstance(key, list) and not key:
            key = np.zeros(0, dtype=np.int64)
        rows = np.arange(self.n_samples)[key]
        if rows.ndim != 1:
            raise IndexError("an index must have one dimension")
        if self._indptr is None:
            forms = None if self._forms is None else self._forms[rows]
            return self._with(self.labels, self._items[rows], self._form, forms)
        starts = self._indptr[rows]
        counts = self._indptr[rows + 1] - starts
        indptr = np.zeros(rows.size + 1, dtype=np.int64)
        np.cumsum(counts, out=indptr[1:])
        take = np.arange(indptr[-1]) + np.repeat(starts - indptr[:-1], counts)
        return Constraints._make(
            self.kind,
            self.labels,
            self._items[take],
            indptr,
            self._form,
            None if self._forms is None else self._forms[rows],
            None if self._margin is None else self._margin[take],
            None if self._weight is None else self._weight[take],
            None if self._codes is None else self._codes[rows],
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """The classes, an indicator of label sets, or opaque objects for all else."""
        if copy is False:
            raise ValueError("an array of Constraints is always a new one; copy=False is refused")
        made: npt.NDArray[Any]
        if self.kind == "classes":
            made = self.labels[self.class_codes()]
        elif self.kind == "labelsets":
            made = self.indicator().toarray()
        else:
            made = np.empty(self.n_samples, dtype=object)
            for i in range(self.n_samples):
                made[i] = _Order(self[i])
        return made if dtype is None else made.astype(dtype)

    def indicator(self) -> sp.csr_matrix:
        """Label sets (or classes) as a sparse 0/1 matrix of shape (n_samples, n_labels).

        Examples
        --------
        >>> from kesler import Constraints
        >>> Constraints.from_labelsets([["b"], ["a", "b"]]).indicator().toarray()
        array([[0, 1],
               [1, 1]])
        """
        if self.kind not in ("classes", "labelsets"):
            raise ValueError(f"{self.kind} have no indicator; only classes and label sets do")
        if self.kind == "classes":
            held, starts = self.class_codes(), np.arange(self.n_samples + 1)
        else:
            held, starts = self._items, self._starts()
        ones = np.ones(held.size, dtype=np.int64)
        return sp.csr_matrix(
            (ones, held.copy(), starts.copy()), shape=(self.n_samples, self.n_labels)
        )

    def class_codes(self) -> npt.NDArray[np.int32]:
        """Classes as positions in `labels`, read in place.

        Examples
        --------
        >>> from kesler import Constraints
        >>> Constraints.from_classes(["b", "a"]).class_codes()
        array([1, 0], dtype=int32)
        """
        if self.kind != "classes":
            raise ValueError(f"{self.kind} have no class codes; only classes do")
        view: npt.NDArray[np.int32] = (self._items if self._codes is None else self._codes).view()
        view.flags.writeable = False
        return view

    # ---- inside -----------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name in self.__slots__:
            setattr(self, name, state[name])

    def _native(self) -> _core.Orders:
        """The orders as the core reads them, checked; they share this object's arrays."""
        return _core.Orders(
            self.n_samples,
            self.n_labels,
            self._form,
            self._forms,
            self._indptr,
            self._items,
            self._margin,
            self._weight,
        )

    def _with(
        self,
        labels: npt.NDArray[Any],
        items: npt.NDArray[np.int32],
        form: int,
        forms: npt.NDArray[np.uint8] | None,
    ) -> Constraints:
        return Constraints._make(
            self.kind,
            labels,
            items,
            self._indptr,
            form,
            forms,
            self._margin,
            self._weight,
            self._codes,
        )

    @staticmethod
    def _counts(native: _core.Orders) -> IntArray:
        """Pairs of each example; NumPy has two 64-bit integers on some platforms, and shows one."""
        counts: IntArray = native.sizes().view(np.int64)
        return counts

    def _starts(self) -> IntArray:
        return np.arange(self._items.size + 1) if self._indptr is None else self._indptr

    def _form_of_each(self) -> npt.NDArray[np.uint8]:
        if self._forms is not None:
            return self._forms
        return np.full(self.n_samples, self._form, dtype=np.uint8)

    def _form_of_each_item(self) -> npt.NDArray[np.uint8] | np.uint8:
        if self._forms is None:
            form: np.uint8 = np.uint8(self._form)
            return form
        repeated: npt.NDArray[np.uint8] = np.repeat(self._forms, np.diff(self._starts()))
        return repeated

    def _has_pairs(self) -> bool:
        if self._forms is None:
            return self._form == _PAIRS
        return bool(np.any(self._forms == _PAIRS))

    def _pair_items(self) -> npt.NDArray[np.int32]:
        of_pairs = np.broadcast_to(self._form_of_each_item() == _PAIRS, self._items.shape)
        items: npt.NDArray[np.int32] = self._items[of_pairs]
        return items


def _numbered(n_labels: Integral) -> npt.NDArray[Any]:
    if isinstance(n_labels, bool) or not 0 <= int(n_labels) < np.iinfo(np.int32).max:
        raise ValueError(f"labels must be a number of labels or the labels, not {n_labels!r}")
    return np.arange(int(n_labels))


def _row_numbers(rows: npt.ArrayLike, n_samples: int) -> IntArray:
    where = np.asarray(rows)
    if where.size == 0:
        where = where.astype(np.int64)
    if where.ndim != 1 or where.dtype.kind not in "iu":
        raise ValueError("rows must be a one-dimensional array of integers")
    if not isinstance(n_samples, (int, np.integer)) or n_samples < 0:
        raise ValueError(f"n_samples must be a number of examples, not {n_samples!r}")
    outside = (where < 0) | (where >= n_samples)
    if outside.any():
        p = int(np.argmax(outside))
        raise ValueError(f"rows[{p}] is {where[p]}; there are {n_samples} examples, from 0")
    return where.astype(np.int64)


def _per_pair(
    values: npt.ArrayLike | None, name: str, n_pairs: int
) -> npt.NDArray[np.float64] | None:
    if values is None:
        return None
    given = np.asarray(values, dtype=np.float64)
    if given.shape != (n_pairs,):
        raise ValueError(f"{name} has shape {given.shape}; there are {n_pairs} pairs")
    wrong = ~np.isfinite(given) | (given < 0)
    if wrong.any():
        p = int(np.argmax(wrong))
        raise ValueError(f"{name}[{p}] is {given[p]}; it must be a finite number, 0 or more")
    return given


def _join(
    parts: list[npt.NDArray[np.float64] | None], sizes: list[int]
) -> npt.NDArray[np.float64] | None:
    if all(part is None for part in parts):
        return None
    return np.concatenate(
        [np.ones(s) if part is None else part for part, s in zip(parts, sizes, strict=True)]
    )
