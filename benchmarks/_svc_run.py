"""One contender in a process of its own: time, memory and what it learned.

    python _svc_run.py JOB RESULT

reads a job (JSON), runs it, and writes what it found (JSON). `run` starts such a process, with one
thread for BLAS and OpenMP and a limit of time, so that no contender sees the memory, the caches of
the allocator or the threads of another.
"""

from __future__ import annotations

import gc
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import _sets
from _svc_objective import objective
from _svc_peers import CONTENDERS, Contender

ENOUGH = 1.0  # seconds of fits in one process
MOST = 7  # fits in one process
_ONE_THREAD = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "VECLIB_MAXIMUM")

Result = dict[str, Any]


# --- Sets on disk ------------------------------------------------------------------------------


def store(data: _sets.Split, folder: Path) -> None:
    """Write a set for `fetch`."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("X", "X_test"):
        X = getattr(data, part)
        if sp.issparse(X):
            for array in ("data", "indices", "indptr"):
                np.save(folder / f"{part}.{array}.npy", getattr(X, array))
        else:
            np.save(folder / f"{part}.npy", X)
    np.save(folder / "y.npy", data.y)
    np.save(folder / "y_test.npy", data.y_test)
    told = {"name": data.name, "n_labels": data.n_labels, "kind": data.kind}
    told["n_features"] = data.X.shape[1]
    (folder / "set.json").write_text(json.dumps(told))


def fetch(folder: Path, dtype: str = "float32") -> _sets.Split:
    """A stored set, its rows in the type asked for."""
    told = json.loads((folder / "set.json").read_text())
    d = told.pop("n_features")
    rows = {}
    for part in ("X", "X_test"):
        if (folder / f"{part}.npy").exists():
            rows[part] = np.load(folder / f"{part}.npy").astype(dtype, copy=False)
            continue
        data, indices, indptr = (
            np.load(folder / f"{part}.{array}.npy") for array in ("data", "indices", "indptr")
        )
        held = (data.astype(dtype, copy=False), indices, indptr)
        rows[part] = sp.csr_matrix(held, shape=(indptr.size - 1, d))
    y, y_test = np.load(folder / "y.npy"), np.load(folder / "y_test.npy")
    return _sets.Split(y=y, y_test=y_test, **rows, **told)


# --- Starting a process ------------------------------------------------------------------------


def run(job: Result, limit: float) -> Result:
    """The result of a job; one with the key "missing", "capped" or "failed" where there is none."""
    settings = {f"{name}_NUM_THREADS": "1" for name in _ONE_THREAD}
    with tempfile.TemporaryDirectory() as folder:
        asked, found = Path(folder, "job.json"), Path(folder, "result.json")
        asked.write_text(json.dumps(job))
        try:
            ended = subprocess.run(
                [sys.executable, __file__, asked, found],
                env={**os.environ, **settings},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return {"capped": limit}
        if ended.returncode or not found.exists():
            lines = ended.stderr.strip().splitlines() or ["no message"]
            return {"failed": f"exit status {ended.returncode}: {lines[-1]}"}
        result: Result = json.loads(found.read_text())
        return result


# --- Inside the process ------------------------------------------------------------------------


def peak() -> int:
    """Most bytes of memory that this process has held at a time, since the last `forget_peak`."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def forget_peak() -> None:
    """Count the peak from now on, where the system can."""
    gc.collect()
    try:
        import ctypes

        ctypes.CDLL(None).malloc_trim(0)  # what was freed must not hide what is taken
        Path("/proc/self/clear_refs").write_text("5")
    except (AttributeError, OSError, TypeError):
        pass


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """What the work gave, its seconds of CPU and of the clock."""
    wall, cpu = time.perf_counter(), time.process_time()
    made = work()
    return made, time.process_time() - cpu, time.perf_counter() - wall


def describe(model: Any, contender: Contender, data: _sets.Split, job: Result) -> Result:
    """Objective and certificate of a model."""
    found: Result = {}
    if contender.weights is not None:
        W, b = contender.weights(model)
        found["objective"] = objective(data, W, b, job["C"], job["aggregate"], job["loss"])
    if job["contender"] == "kesler":
        found["gap"] = float(model.duality_gap_)
        found["n_iter"] = int(np.max(model.n_iter_))
        found["status"] = str(model.outcome_.status)
        told = re.search(r"([\d.]+) passes over the data", model.outcome_.note)
        found["passes"] = float(told[1]) if told else None
    return found


def ladder(job: Result, data: _sets.Split, make: Callable[..., Contender]) -> Result:
    """The loosest tolerance that reaches each of the target objectives, and all that were tried.

    Targets come from the highest down, each with the tolerance at which its search starts.
    """
    tols: Sequence[float] = job["tols"]
    tried: dict[int, Result] = {}
    end = time.perf_counter() + job["budget"]

    def reaches(rung: int, goal: float) -> bool:
        if rung not in tried:
            contender = make(data, tol=tols[rung], **job["settings"])
            model, cpu, wall = timed(contender.fit)
            tried[rung] = {"tol": tols[rung], "cpu": cpu, "wall": wall}
            tried[rung] |= describe(model, contender, data, job)
        return bool(tried[rung]["objective"] <= goal)

    rung = 0
    found: list[float | None] = []
    for goal, start in zip(job["targets"], job["starts"], strict=True):
        rung = max(rung, sum(tol > start for tol in tols))
        while not reaches(rung, goal) and rung + 1 < len(tols) and time.perf_counter() < end:
            rung += 1
        while rung and reaches(rung, goal) and time.perf_counter() < end:
            if not reaches(rung - 1, goal):
                break
            rung -= 1
        found.append(tols[rung] if reaches(rung, goal) else None)
    return {"found": found, "tried": [tried[rung] for rung in sorted(tried)]}


def prediction(model: Any, data: _sets.Split) -> Result:
    """Rows per second of `predict` and of one matrix product of the same shape."""
    X = data.X_test if data.X_test.shape[0] else data.X
    table = np.ascontiguousarray(model.coef_.T)
    return {
        "predict": X.shape[0] / best_of(lambda: model.predict(X)),
        "product": X.shape[0] / best_of(lambda: X @ table),
    }


def one_pass(model: Any, data: _sets.Split) -> Result:
    """Seconds of scoring all training rows for all labels, and the bytes of the rows."""
    X = data.X
    held = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sp.issparse(X) else X.nbytes
    return {"pass": best_of(lambda: model.decision_function(X)), "held": held}


def best_of(work: Callable[[], Any], most: int = 9) -> float:
    times: list[float] = []
    while len(times) < most and (len(times) < 2 or sum(times) < ENOUGH):
        times.append(timed(work)[2])
    return min(times)


def fits(job: Result, data: _sets.Split, make: Callable[..., Contender]) -> Result:
    """Fits until they took long enough: all times, and what the last model is."""
    contender = make(data, **job["settings"])
    forget_peak()
    before = peak()
    times: list[tuple[float, float]] = []
    after = before
    model = None
    while not times or (sum(wall for _, wall in times) < ENOUGH and len(times) < MOST):
        del model
        model, cpu, wall = timed(contender.fit)
        if not times:
            after = peak()
        times.append((cpu, wall))
    found = {"times": times, "peak": after - before}
    found |= describe(model, contender, data, job)
    if contender.accuracy is not None and data.y_test.size:
        found["accuracy"] = contender.accuracy(model)
    if "prediction" in job["measure"]:
        found |= prediction(model, data)
    if "pass" in job["measure"]:
        found |= one_pass(model, data)
    return found


def bandwidth() -> Result:
    """Bytes per second of a copy, and of a + s b, over arrays of 256 MB."""
    a, b, c = (np.full(32 << 20, value) for value in (0.0, 1.0, 2.0))

    def triad() -> None:
        np.multiply(c, 3.0, out=a)
        np.add(a, b, out=a)

    copy = best_of(lambda: np.copyto(a, b))
    return {"copy": 2 * a.nbytes / copy, "triad": 5 * a.nbytes / best_of(triad)}


def work(job: Result) -> Result:
    if job["task"] == "bandwidth":
        return bandwidth()
    make = CONTENDERS[job["contender"]]
    data = fetch(Path(job["data"]), job["dtype"])
    try:
        return ladder(job, data, make) if job["task"] == "ladder" else fits(job, data, make)
    except ImportError as error:
        return {"missing": str(error)}


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of a solver that stopped at its limit; the report says so
    Path(sys.argv[2]).write_text(json.dumps(work(json.loads(Path(sys.argv[1]).read_text()))))
