"""The one loop: its limits, its reasons for stopping, and what it lets through."""

import io
import math
import time
from itertools import count

import pytest

import kesler._driver as driver
from kesler._driver import Outcome, Record, Sweep, run


class Steps:
    """An algorithm whose values after each sweep are given."""

    sweep_size = 10

    def __init__(self, values, *, pause=0.0):
        self.values = iter(values)
        self.made = 0
        self.reports = []
        self.pause = pause

    def sweep(self, report):
        self.made += 1
        self.reports.append(report)
        if report is not None:
            report(4)
            report(8)
        time.sleep(self.pause)
        value = next(self.values)
        return value if isinstance(value, Sweep) else Sweep(value)


def test_it_stops_at_max_iter():
    step = Steps(count(1.0))
    outcome = run(step, max_iter=5)
    assert (outcome.status, outcome.n_iter, outcome.value) == ("max_iter", 5, 5.0)
    assert step.made == 5


@pytest.mark.parametrize("tol", [0.0, 0.25])
def test_it_stops_when_the_value_falls_to_the_tolerance(tol):
    outcome = run(Steps([1.0, 0.5, tol, -1.0]), max_iter=100, tol=tol)
    assert (outcome.status, outcome.n_iter, outcome.value) == ("converged", 3, tol)


def test_without_a_tolerance_no_value_is_small_enough():
    assert run(Steps([0.0, -1.0]), max_iter=2).status == "max_iter"


def test_a_step_may_finish_for_a_reason_of_its_own():
    outcome = run(Steps([3.0, Sweep(2.0, "no_mistakes"), 1.0]), max_iter=9, tol=2.5)
    assert (outcome.status, outcome.n_iter, outcome.value) == ("no_mistakes", 2, 2.0)


def test_the_last_sweep_may_be_the_one_that_finishes():
    assert run(Steps([1.0, Sweep(0.5, "done")]), max_iter=2).status == "done"
    assert run(Steps([1.0, 0.5]), max_iter=2, tol=0.5).status == "converged"


def test_the_time_budget_ends_after_the_sweep_that_used_it_up():
    step = Steps(count(), pause=0.02)
    outcome = run(step, max_iter=10**6, time_budget=0.05)
    assert outcome.status == "time_budget"
    assert outcome.history[-1].seconds >= 0.05
    assert all(record.seconds < 0.05 for record in outcome.history[:-1])
    assert step.made == outcome.n_iter
    assert run(Steps(count()), max_iter=10, time_budget=0.0).n_iter == 1
    assert run(Steps([1.0]), max_iter=1, time_budget=math.inf).status == "max_iter"


def test_a_value_that_is_no_number_is_an_error_that_names_the_sweep():
    with pytest.raises(FloatingPointError, match=r"sweep 2 of Machine"):
        run(Steps([1.0, math.nan, 0.0]), max_iter=3, label="Machine")


def test_infinity_is_a_number():
    assert run(Steps([math.inf, 1.0]), max_iter=2, tol=1.0).status == "converged"


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, ValueError])
def test_what_a_sweep_raises_passes_through(error):
    class Failing(Steps):
        def sweep(self, report):
            super().sweep(report)
            if self.made == 3:
                raise error("from within")
            return Sweep(1.0)

    step = Failing(count())
    with pytest.raises(error, match="from within"):
        run(step, max_iter=10)
    assert step.made == 3


def test_the_history_has_a_record_for_each_sweep():
    outcome = run(Steps([3.0, 2.0, 1.0]), max_iter=3)
    assert isinstance(outcome, Outcome)
    assert all(isinstance(record, Record) for record in outcome.history)
    assert [record.n_iter for record in outcome.history] == [1, 2, 3]
    assert [record.value for record in outcome.history] == [3.0, 2.0, 1.0]
    seconds = [record.seconds for record in outcome.history]
    assert seconds == sorted(seconds)
    assert seconds[0] >= 0


def test_an_outcome_cannot_be_changed():
    outcome = run(Steps([1.0]), max_iter=1)
    with pytest.raises(AttributeError):
        outcome.status = "better"


class Recorder:
    """Takes the place of the progress line."""

    def __init__(self, label, total):
        self.label, self.total, self.updates, self.closed = label, total, [], 0
        Recorder.last = self

    def update(self, done, note=""):
        self.updates.append((done, note))

    def close(self):
        self.closed += 1


def test_progress_counts_over_all_sweeps(monkeypatch):
    monkeypatch.setattr(driver, "Progress", Recorder)
    run(Steps([0.5, 0.25, 0.125]), max_iter=3, verbose=1, label="work")
    shown = Recorder.last
    assert (shown.label, shown.total, shown.closed) == ("work", 30, 1)
    done = [at for at, _ in shown.updates]
    assert set(done) >= {4, 8, 14, 18, 24, 28}
    assert done == sorted(done)
    assert dict(shown.updates)[28] == "0.25"  # the value of the sweep before


def test_without_verbose_nothing_is_reported(monkeypatch):
    monkeypatch.setattr(driver, "Progress", None)
    step = Steps([1.0, 1.0])
    run(step, max_iter=2)
    assert step.reports == [None, None]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_the_progress_line_is_closed_whatever_happens(monkeypatch, error):
    class Failing(Steps):
        def sweep(self, report):
            raise error

    monkeypatch.setattr(driver, "Progress", Recorder)
    with pytest.raises(error):
        run(Failing([]), max_iter=2, verbose=1)
    assert Recorder.last.closed == 1


def test_sweeps_too_short_to_report_still_show(monkeypatch):
    """The core reports ten times a second at most; many shorter sweeps must not stay silent."""

    class Silent(Steps):
        def sweep(self, report):
            self.made += 1
            return Sweep(1.0)

    monkeypatch.setattr(driver, "Progress", Recorder)
    run(Silent([]), max_iter=5, verbose=1)
    assert Recorder.last.updates
    assert Recorder.last.updates[-1][0] <= Recorder.last.total


def test_a_step_without_examples_has_progress_all_the_same(monkeypatch):
    class Empty(Steps):
        sweep_size = 0

    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert run(Empty([1.0]), max_iter=1, verbose=1).n_iter == 1
