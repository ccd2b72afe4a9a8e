"""A few of the random inputs of `fuzz.py`, which runs many more; and what it must not forgive."""

from typing import Any

import numpy as np
import pytest

from fuzz import Fault, Fuzzer, check_prediction, examine, run
from kesler import Constraints


def test_random_inputs_are_accepted_or_refused() -> None:
    counts, faults = [0, 0, 0, 0], list[str]()
    run(0, 300, 0, counts, faults.append)
    assert not faults, "\n".join(faults)
    assert counts[0] == counts[1] + counts[2] == 300
    assert min(counts[1], counts[2]) > 50  # both happen


def test_an_input_is_always_the_same() -> None:
    def asked(number: int) -> list[str]:
        fuzzer = Fuzzer(3, number)
        fuzzer.run()
        return [what for what, *_ in fuzzer.asked]

    for number in range(10):
        assert asked(number) == asked(number)


def raising(error: Exception) -> Any:
    raise error


def test_a_refusal_needs_a_known_type_and_a_message() -> None:
    fuzzer = Fuzzer(0, 0)
    assert fuzzer.ask("x", lambda: raising(ValueError("y[3] is wrong"))) == (False, None)
    assert fuzzer.refused
    for error in (
        AttributeError("x"),
        KeyError("x"),
        RuntimeError("x"),
        ValueError(""),
        OSError("x"),
    ):
        with pytest.raises(Fault):
            fuzzer.ask("x", lambda error=error: raising(error))


def test_wrong_answers_are_faults() -> None:
    for predicted in (np.array([2]), np.array([[2, 2]]), np.array([[0, 1, 0]])):
        with pytest.raises(Fault):
            check_prediction(predicted, {0, 1})
    c = Constraints.from_rankings(orders=[["a", "b", "c"]])
    examine(c)
    broken = Constraints._make("rankings", c.labels, ~c._items, c._indptr, c._form)
    with pytest.raises((Fault, ValueError)):
        examine(broken)
