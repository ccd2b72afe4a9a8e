"""Fetches a data set from OpenML, and checks that it is the one meant.

scikit-learn's `fetch_openml` does the download and keeps a cache; what comes is brought into the
form that a local copy has. Columns keep the names OpenML gives them.
"""

from __future__ import annotations

from http.client import HTTPException
from typing import Any

import numpy as np
import numpy.typing as npt

from kesler.datasets._catalogue import Facts
from kesler.datasets._dataset import Dataset, fingerprint
from kesler.datasets._mirror import assemble, check_classes


def fetch(facts: Facts) -> Dataset:
    """The data set from OpenML; `facts.openml` is its number there."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            f"{facts.name} would come from OpenML, and that needs pandas: "
            "pip install 'kesler[datasets]'"
        ) from error
    # Imported late: sklearn.datasets takes longer to import than this whole package.
    from sklearn.datasets import fetch_openml

    origin = f"{facts.name} on OpenML (data set {facts.openml})"
    try:
        bunch = fetch_openml(data_id=facts.openml, as_frame=True, parser="pandas")
    except (OSError, HTTPException, ValueError) as error:
        raise OSError(
            f"{origin} could not be fetched: {error}. Set the environment variable KESLER_DATA to "
            f"a folder that has {' and '.join(facts.files)}"
        ) from error
    frame = bunch.data.drop(columns=list(facts.openml_extra), errors="ignore")
    if bunch.target is None or frame.shape != (facts.n_rows, facts.n_features):
        raise ValueError(
            f"{origin} should have {facts.n_rows} rows, {facts.n_features} features and one "
            f"target; it has {frame.shape[0]} rows and {frame.shape[1]} features"
        )
    if bunch.target.isna().any():
        raise ValueError(f"{origin} has rows without a class")
    target = np.char.strip(bunch.target.astype(str).to_numpy(dtype=np.str_))
    check_classes(facts, target, origin)
    data: npt.NDArray[Any]
    if facts.nominal:
        data = np.empty(frame.shape, dtype=object)
    else:
        # Images are kept as in a local copy: four bytes a pixel, from 0 to 1.
        data = np.empty(frame.shape, dtype=np.float32 if facts.layout == "idx" else np.float64)
    for j, name in enumerate(frame.columns):
        column = frame[name].astype(object)
        if j in facts.nominal:
            missing = column.isna().to_numpy()
            data[:, j] = column.astype(str).to_numpy()
            data[missing, j] = np.nan
        else:
            try:
                data[:, j] = pd.to_numeric(column).to_numpy(dtype=np.float64)
            except ValueError as error:
                raise ValueError(f"{origin}, column {name!r} should be numbers: {error}") from error
    if facts.layout == "idx":
        data /= 255
    ordered = facts.row_order is not None and fingerprint(data, target) == facts.row_order
    return assemble(facts, data, target, [str(name) for name in frame.columns], ordered=ordered)
