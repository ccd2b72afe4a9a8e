"""The state of an on-line learner: its tables of weights, and how they take in new labels.

The network of linear units that Har-Peled, Roth and Zimak (2002, section 3.4) train; the core moves
its weights in place (`native/online.hpp`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kesler import _core
from kesler.linear._sorter import FloatArray, Sorter, aligned_zeros


@dataclass
class Network:
    """Weights of all labels, and what averaging and Winnow keep beside them.

    Attributes
    ----------
    labels : ndarray
        The labels of the lanes, sorted.
    weights : ndarray, shape (n_features + intercept, lanes)
    sums : ndarray or None
        For averaging: the sum over all moves of (steps before the move) x move.
    logs : ndarray or None
        For Winnow: logarithms of the weights.
    state : ndarray of three floats
        Steps made, the logarithm of the factor that Winnow's weights are divided by, moves made.
    virtual : bool
        Whether lane k is the virtual label.
    first : float
        The weight a label starts with.
    """

    labels: npt.NDArray[Any]
    weights: FloatArray
    sums: FloatArray | None
    logs: FloatArray | None
    state: npt.NDArray[np.float64]
    intercept: bool
    virtual: bool
    first: float

    @classmethod
    def start(
        cls,
        labels: npt.NDArray[Any],
        n_features: int,
        dtype: npt.DTypeLike,
        *,
        rule: str,
        average: bool,
        intercept: bool,
        virtual: bool,
    ) -> Network:
        """The network before the first example."""
        logarithmic, first = _core.rule_traits(rule)
        used = labels.size + virtual
        shape = (n_features + intercept, _core.lanes_for(used))
        weights = aligned_zeros(shape, dtype)
        weights[:, :used] = first
        return cls(
            labels,
            weights,
            aligned_zeros(shape, dtype) if average else None,
            aligned_zeros(shape, dtype) if logarithmic else None,
            np.zeros(3),
            intercept,
            virtual,
            first,
        )

    @property
    def steps(self) -> float:
        """Presentations so far, each counted by its weight."""
        return float(self.state[0])

    def sorter(self) -> Sorter:
        """The sorter these weights are."""
        averaged = self.sums is not None and self.steps > 4 * np.finfo(self.weights.dtype).tiny
        return Sorter(
            self.weights,
            self.labels.size,
            self.intercept,
            self.virtual,
            self.sums if averaged else None,
            self.steps if averaged else 1.0,
        )

    def copy(self) -> Network:
        """A network that learns on its own from here."""
        return Network(
            self.labels,
            _copied(self.weights),
            None if self.sums is None else _copied(self.sums),
            None if self.logs is None else _copied(self.logs),
            self.state.copy(),
            self.intercept,
            self.virtual,
            self.first,
        )

    def writable(self) -> Network:
        """This network, or a copy if its tables are only mapped for reading."""
        tables = (self.weights, self.sums, self.logs, self.state)
        return self if all(t is None or t.flags.writeable for t in tables) else self.copy()

    def with_labels(self, labels: npt.NDArray[Any], virtual: bool) -> Network:
        """The network over more labels; new ones start as all did."""
        virtual = virtual or self.virtual
        if np.array_equal(labels, self.labels) and virtual == self.virtual:
            return self
        used = labels.size + virtual
        old = np.arange(self.labels.size + self.virtual)
        new = np.searchsorted(labels, self.labels)
        if self.virtual:
            new = np.append(new, labels.size)
        shape = (self.weights.shape[0], _core.lanes_for(used))

        def moved(table: FloatArray | None, first: float) -> FloatArray | None:
            if table is None:
                return None
            grown = aligned_zeros(shape, table.dtype)
            grown[:, :used] = first
            grown[:, new] = table[:, old]
            return grown

        weights = moved(self.weights, self.first * float(np.exp(-self.state[1])))
        assert weights is not None
        return Network(
            labels,
            weights,
            moved(self.sums, 0.0),
            moved(self.logs, 0.0),
            self.state.copy(),
            self.intercept,
            virtual,
            self.first,
        )


def _copied(table: FloatArray) -> FloatArray:
    made = aligned_zeros((table.shape[0], table.shape[1]), table.dtype)
    made[:] = table
    return made
