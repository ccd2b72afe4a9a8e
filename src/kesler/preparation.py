"""One transformer from a table as people have it to numbers that a linear sorter can take.

Categories become indicators, gaps are filled, numbers are put on one scale, and all of it is
learned from the training rows only: what the sets of Har-Peled, Roth and Zimak 2002 (Table 2) need,
some of which are all categories and missing values. It is not a general column transformer: a table
that needs more than one rule for a kind of column wants scikit-learn's `ColumnTransformer`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import repeat
from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from kesler._checks import one_of, unchanged_on_error

__all__ = ["TablePreparer"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

# pandas' missing values, known by name so that pandas need not be there.
_NO_VALUE = {"NoneType", "NAType", "NaTType"}
_PLAIN = (np.floating, np.integer, np.bool_, np.str_)


class TablePreparer(TransformerMixin, BaseEstimator):
    """Categories to indicators, gaps filled, numbers scaled; all learned in fit.

    Takes float arrays, object and string arrays, pandas and polars frames. NaN, None and ``pd.NA``
    are missing values. Columns keep their order; a nominal one becomes one 0/1 column for each
    category that fit saw, in sorted order. A category that fit did not see gets only zeros.

    Parameters
    ----------
    nominal : "auto" or list of column names or positions, default="auto"
        The columns that are categories. "auto": those that hold strings, and categorical columns of
        a frame; booleans count as numbers 0 and 1.
    missing : {"category", "impute"}, default="category"
        What a missing value in a nominal column is: one more category, if fit saw one there (else
        only zeros); or the most frequent category. In a numeric column it is the column's mean.
    scale : {"standard", "range"} or None, default="standard"
        Numeric columns to mean 0 and standard deviation 1, or to the range from 0 to 1. A constant
        column becomes 0. Indicators are left alone.
    dtype : numpy.float64 or numpy.float32, default=numpy.float64
        Type of the dense array that transform gives.

    Attributes
    ----------
    nominal_ : ndarray of bool, shape (n_features_in_,)
    categories_ : list of ndarray
        For each nominal column its categories, strings or float64 numbers.
    fill_ : ndarray of int64
        For each nominal column the place, among its indicators, of the one that a missing value
        sets; -1 for none.
    mean_ : ndarray of float64
        For each numeric column what stands for a missing value.
    shift_, scale_ : ndarray of float64
        Numeric columns become ``(x - shift_) / scale_``.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        If the columns had names.

    Examples
    --------
    >>> import numpy as np
    >>> from kesler.preparation import TablePreparer
    >>> table = np.array([["red", 1.0], ["blue", 3.0], [None, 2.0]], dtype=object)
    >>> preparer = TablePreparer(scale="range").fit(table)
    >>> preparer.get_feature_names_out().tolist()
    ['x0=blue', 'x0=red', 'x0=missing', 'x1']
    >>> preparer.transform(table)
    array([[0. , 1. , 0. , 0. ],
           [1. , 0. , 0. , 1. ],
           [0. , 0. , 1. , 0.5]])
    """

    nominal_: BoolArray
    categories_: list[npt.NDArray[Any]]
    fill_: npt.NDArray[np.int64]
    mean_: FloatArray
    shift_: FloatArray
    scale_: FloatArray
    n_features_in_: int

    def __init__(
        self,
        *,
        nominal: Literal["auto"] | Sequence[str] | Sequence[int] = "auto",
        missing: Literal["category", "impute"] = "category",
        scale: Literal["standard", "range"] | None = "standard",
        dtype: Any = np.float64,
    ) -> None:
        self.nominal = nominal
        self.missing = missing
        self.scale = scale
        self.dtype = dtype

    def fit(self, X: Any, y: Any = None) -> TablePreparer:
        """Learn categories, means and scales.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        TablePreparer
        """
        one_of("missing", self.missing, ("category", "impute"))
        if self.scale is not None:
            one_of("scale", self.scale, ("standard", "range"))
        self._output_type()
        with unchanged_on_error(self):
            self._learn(X)
        return self

    def transform(self, X: Any) -> Any:
        """The table in numbers.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            With the columns that fit had.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            Or a frame, as ``set_output`` says.
        """
        check_is_fitted(self)
        out_type = self._output_type()
        table = self._read(X, reset=False)
        names = self._names_in()
        numeric = self._scaled(table, names, out_type)
        if not self.nominal_.any():
            return numeric
        widths = self._widths()
        ends = np.cumsum(widths)
        out = np.zeros((table.shape[0], int(widths.sum())), dtype=out_type)
        out[:, ends[~self.nominal_] - 1] = numeric
        for k, j in enumerate(np.flatnonzero(self.nominal_)):
            cells = _read_nominal(table[:, j], names[j])
            begin = ends[j] - widths[j]
            if self.fill_[k] >= 0:
                out[cells.missing, begin + self.fill_[k]] = 1
            places = _look_up(cells, self.categories_[k], names[j])
            known = places >= 0
            rows = np.flatnonzero(~cells.missing)[known]
            out[rows, begin + places[known]] = 1
        return out

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of the columns of the output.

        A numeric column keeps its name; category ``red`` of column ``colour`` is ``colour=red``.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns where fit saw none.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        names = self._names_in(input_features)
        found: list[str] = []
        k = 0
        for j, name in enumerate(names):
            if not self.nominal_[j]:
                found.append(str(name))
                continue
            categories = self.categories_[k]
            found += [f"{name}={_shown(value)}" for value in categories.tolist()]
            if self.fill_[k] == categories.size:
                found.append(f"{name}=missing")
            k += 1
        return np.array(_unrepeated(found), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = [
            "float32" if self.dtype in (np.float32, "float32") else "float64"
        ]
        return tags

    # ---- inside -----------------------------------------------------------------------------

    def _learn(self, X: Any) -> None:
        declared = _declared_nominal(X)
        table = self._read(X, reset=True)
        names = self._names_in()
        self.nominal_ = self._nominal_columns(table, declared)
        self.categories_ = []
        fill = []
        for j in np.flatnonzero(self.nominal_):
            cells = _read_nominal(table[:, j], names[j])
            counts = Counter(cells.values)
            # Floats say their type, so that no category at all is no text either.
            kind = np.str_ if cells.are_text else np.float64
            categories = np.array(sorted(counts), dtype=kind)
            if self.missing == "impute":
                # Of equally frequent ones the first in sorted order.
                often = [counts[value] for value in categories.tolist()]
                fill.append(int(np.argmax(often)) if often else -1)
            else:
                fill.append(categories.size if cells.missing.any() else -1)
            self.categories_.append(categories)
        self.fill_ = np.array(fill, dtype=np.int64)
        self.mean_, self.shift_, self.scale_ = _scales(self._read_numeric(table, names), self.scale)
        wide = ~np.isfinite(self.scale_)
        if wide.any():
            j = np.flatnonzero(~self.nominal_)[np.argmax(wide)]
            raise ValueError(f"column {names[j]!r} spans more than a float64 can hold")

    def _read(self, X: Any, reset: bool) -> npt.NDArray[Any]:
        if hasattr(X, "dtypes") and hasattr(X, "iloc"):
            # scikit-learn 1.6 makes floats of pandas' own types, of text among them too.
            own = [t for t in X.dtypes if not isinstance(t, np.dtype)]
            X = X.astype(object) if own else X
        table: npt.NDArray[Any] = validate_data(
            self, X, reset=reset, dtype=None, ensure_all_finite=False
        )
        if table.dtype.kind not in "fiubUO":
            raise TypeError(f"a table holds numbers and strings, not {table.dtype}")
        return table

    def _output_type(self) -> np.dtype[Any]:
        try:
            found: np.dtype[Any] = np.dtype(self.dtype)
        except TypeError:
            found = np.dtype(object)
        if found not in (np.dtype(np.float64), np.dtype(np.float32)):
            raise ValueError(f"dtype must be float64 or float32, not {self.dtype!r}")
        return found

    def _names_in(self, given: Any = None) -> npt.NDArray[np.object_]:
        own = getattr(self, "feature_names_in_", None)
        if given is not None:
            names = np.asarray(given, dtype=object)
            if names.shape != (self.n_features_in_,):
                raise ValueError(
                    "input_features should have length equal to number of features "
                    f"({self.n_features_in_}), got {len(names)}"
                )
            if own is not None and not np.array_equal(names, own):
                raise ValueError("input_features is not equal to feature_names_in_")
            return names
        if own is not None:
            return np.asarray(own, dtype=object)
        return np.array([f"x{j}" for j in range(self.n_features_in_)], dtype=object)

    def _nominal_columns(self, table: npt.NDArray[Any], declared: list[int]) -> BoolArray:
        nominal = np.zeros(table.shape[1], dtype=bool)
        if isinstance(self.nominal, str):
            if self.nominal != "auto":
                raise ValueError(
                    f"nominal must be 'auto' or a list of columns, not {self.nominal!r}"
                )
            if table.dtype.kind == "U":
                nominal[:] = True
            elif table.dtype.kind == "O":
                nominal[:] = [_holds_text(table[:, j]) for j in range(table.shape[1])]
            nominal[declared] = True
            return nominal
        if not isinstance(self.nominal, Iterable):
            raise ValueError(f"nominal must be 'auto' or a list of columns, not {self.nominal!r}")
        known = list(getattr(self, "feature_names_in_", []))
        for column in self.nominal:
            if isinstance(column, str):
                if column not in known:
                    raise ValueError(
                        f"nominal names column {column!r}, but the columns "
                        + (f"are {_some(known)}" if known else "have no names; give positions")
                    )
                nominal[known.index(column)] = True
            elif (
                isinstance(column, Integral)
                and not isinstance(column, bool)
                and -nominal.size <= column < nominal.size
            ):
                nominal[int(column)] = True
            else:
                raise ValueError(
                    f"nominal must be 'auto' or hold column names or positions below "
                    f"{nominal.size}, not {column!r}"
                )
        return nominal

    def _widths(self) -> npt.NDArray[np.int64]:
        """Number of output columns of each input column."""
        widths = np.ones(self.n_features_in_, dtype=np.int64)
        sizes = np.array([c.size for c in self.categories_], dtype=np.int64)
        widths[self.nominal_] = np.maximum(sizes, self.fill_ + 1)
        return widths

    def _read_numeric(self, table: npt.NDArray[Any], names: npt.NDArray[np.object_]) -> FloatArray:
        """The numeric columns as new floats, NaN where missing; infinity is refused."""
        columns = np.flatnonzero(~self.nominal_)
        if table.dtype.kind in "fiub":
            chosen = table if columns.size == table.shape[1] else np.take(table, columns, axis=1)
            numeric = chosen.astype(np.float64, order="C", copy=chosen is table)
            _refuse_infinity(numeric, names[columns])
            return numeric
        numeric = np.empty((table.shape[0], columns.size))
        for place, j in enumerate(columns):
            numeric[:, place] = _read_numbers(table[:, j], names[j])
        return numeric

    def _scaled(
        self,
        table: npt.NDArray[Any],
        names: npt.NDArray[np.object_],
        out_type: np.dtype[Any],
    ) -> npt.NDArray[Any]:
        """The numeric columns, filled and scaled."""
        numeric = self._read_numeric(table, names)
        np.copyto(numeric, self.mean_, where=np.isnan(numeric))
        with np.errstate(over="ignore"):
            numeric -= self.shift_
            numeric /= self.scale_
            scaled = np.ascontiguousarray(numeric, dtype=out_type)
        finite = np.isfinite(scaled)
        if not finite.all():
            row, place = np.argwhere(~finite)[0]
            name = names[np.flatnonzero(~self.nominal_)[place]]
            raise ValueError(
                f"column {name!r}, row {row} is a value too large for {out_type} after scaling"
            )
        return scaled


class _Cells(NamedTuple):
    values: list[Any]  # those that are not missing: strings, or floats
    missing: BoolArray
    are_text: bool


def _declared_nominal(X: Any) -> list[int]:
    """Columns that a pandas or polars frame holds as categories."""
    types = getattr(X, "dtypes", None)
    if types is None or not hasattr(X, "columns"):
        return []
    kinds = ("category", "Categorical", "Enum")
    return [j for j, kind in enumerate(list(types)) if str(kind).startswith(kinds)]


def _holds_text(column: npt.NDArray[Any]) -> bool:
    return any(issubclass(kind, str) for kind in set(map(type, column.tolist())))


def _refuse_infinity(numbers: FloatArray, names: Sequence[str] | npt.NDArray[np.object_]) -> None:
    infinite = np.isinf(numbers)
    if infinite.any():
        row, place = np.argwhere(infinite)[0]
        raise ValueError(
            f"Input X contains infinity: column {names[place]!r}, row {row}; "
            "a missing value is NaN or None"
        )


def _read_numbers(column: npt.NDArray[Any], name: str) -> FloatArray:
    """A column as floats, NaN where a value is missing."""
    if column.dtype.kind == "O":
        kinds = list(map(type, column.tolist()))
        for kind in set(kinds):
            # NumPy would turn a date into a number of days, and drop half of a complex number.
            if issubclass(kind, np.generic) and not issubclass(kind, _PLAIN):
                raise _no_cell(kind, name, kinds.index(kind))
        without = {kind for kind in set(kinds) if kind.__name__ in _NO_VALUE}
        if without:
            gone = np.fromiter(map(without.__contains__, kinds), bool, count=len(kinds))
            column = np.where(gone, np.nan, column)
    try:
        numbers: FloatArray = column.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise _culprit(column, name) from error
    _refuse_infinity(numbers[:, np.newaxis], [name])
    return numbers


def _no_cell(kind: type, name: str, row: int) -> TypeError:
    return TypeError(
        f"argument must be a string or a number, not {kind.__name__!r}: column {name!r}, row {row}"
    )


def _culprit(column: npt.NDArray[Any], name: str) -> Exception:
    """The error for a column that is not all numbers, by its first value that is none."""
    for row, value in enumerate(column.tolist()):
        try:
            float(value)
        except TypeError:
            return _no_cell(type(value), name, row)
        except ValueError:
            return ValueError(f"column {name!r} is numeric, but row {row} holds {value!r}")
        except OverflowError:
            return ValueError(f"column {name!r}, row {row} is a number too large for float64")
    return ValueError(f"column {name!r} cannot be read as numbers")


def _read_nominal(column: npt.NDArray[Any], name: str) -> _Cells:
    cells = column.tolist()
    kinds = list(map(type, cells))
    strings = {kind for kind in set(kinds) if issubclass(kind, str)}
    text = np.fromiter(map(strings.__contains__, kinds), bool, count=len(kinds))
    if text.all():
        return _Cells(cells, ~text, True)
    numbers = _read_numbers(np.where(text, np.nan, column) if strings else column, name)
    missing = np.isnan(numbers) & ~text
    odd = ~text & ~missing
    if not strings:
        return _Cells(numbers[odd].tolist(), missing, False)
    if odd.any():
        row, other = int(np.argmax(odd)), int(np.argmax(text))
        raise TypeError(
            f"argument must be uniformly strings or numbers: in column {name!r} row {row} holds "
            f"{cells[row]!r} and row {other} {cells[other]!r}"
        )
    return _Cells(column[text].tolist(), missing, True)


def _look_up(cells: _Cells, categories: npt.NDArray[Any], name: str) -> npt.NDArray[np.int64]:
    """The place of each value among the categories, -1 for one that is not among them."""
    known_as_text = categories.dtype.kind == "U"
    if cells.values and categories.size and cells.are_text != known_as_text:
        what, was = ("strings", "numbers") if cells.are_text else ("numbers", "strings")
        raise TypeError(f"nominal column {name!r} holds {what}; in fit it held {was}")
    places = {value: place for place, value in enumerate(categories.tolist())}
    return np.fromiter(map(places.get, cells.values, repeat(-1)), np.int64, len(cells.values))


def _scales(numeric: FloatArray, scale: str | None) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What stands for a missing value, and the shift and the scale, for each column."""
    missing = np.isnan(numeric)
    count = np.maximum(numeric.shape[0] - missing.sum(axis=0), 1)
    # A column without any value is taken for zeros.
    low = np.nan_to_num(np.fmin.reduce(numeric, axis=0), nan=0.0)
    high = np.nan_to_num(np.fmax.reduce(numeric, axis=0), nan=0.0)
    # Numbers near either end of the range would overflow or vanish in a sum of squares; a power of
    # two loses no digit.
    power = np.frexp(np.maximum(np.abs(low), np.abs(high)))[1].clip(-1000, 1000)
    near_one = numeric * np.ldexp(1.0, -power)
    np.copyto(near_one, 0, where=missing)
    mean = near_one.sum(axis=0) / count
    # Within its column, so that a constant one comes out as exactly zero.
    centre = np.clip(np.ldexp(mean, power), low, high)
    if scale is None:
        return centre, np.zeros_like(centre), np.ones_like(centre)
    if scale == "range":
        with np.errstate(over="ignore"):
            spread = high - low
        shift = low
    else:
        near_one -= mean
        np.copyto(near_one, 0, where=missing)
        variance = np.einsum("ij,ij->j", near_one, near_one) / count
        spread = np.ldexp(np.sqrt(variance), power)
        shift = centre
    # Rounding may leave a constant column a spread that is not quite 0.
    return centre, shift, np.where((low == high) | (spread == 0), 1.0, spread)


def _shown(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _some(names: list[str]) -> str:
    return ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")


def _unrepeated(names: list[str]) -> list[str]:
    """The names, with a number added where one is already taken: frames want them distinct."""
    taken = set(names)
    seen: set[str] = set()
    for place, name in enumerate(names):
        if name in seen:
            number = 2
            while f"{name} ({number})" in taken:
                number += 1
            name = f"{name} ({number})"
            names[place] = name
            taken.add(name)
        seen.add(name)
    return names
