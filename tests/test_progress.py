"""The progress line: silent at first, one line redrawn on a terminal, few lines elsewhere."""

import io
from types import SimpleNamespace

import pytest

import kesler._progress
from kesler._progress import Progress

ERASE = "\r\x1b[2K"


class Terminal(io.StringIO):
    flushed = 0

    def isatty(self):
        return True

    def flush(self):
        self.flushed += 1


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(kesler._progress, "time", SimpleNamespace(perf_counter=clock))
    return clock


def shown(stream):
    return [line for line in stream.getvalue().replace(ERASE, "\n").split("\n") if line]


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_nothing_is_shown_before_the_delay(clock, stream):
    out = stream()
    with Progress("fit", 100, stream=out) as progress:
        for done in range(100):
            progress.update(done)
            clock.now += 0.019
    assert out.getvalue() == ""


def test_the_delay_can_be_another(clock):
    out = io.StringIO()
    progress = Progress("fit", 100, delay=0.5, stream=out)
    clock.now += 0.4
    progress.update(10)
    assert out.getvalue() == ""
    clock.now += 0.1
    progress.update(20)
    assert len(shown(out)) == 1


def test_a_line_says_what_how_much_and_how_long(clock):
    out = io.StringIO()
    progress = Progress("fit", 200, stream=out)
    clock.now += 30
    progress.update(50, "0.125")
    (line,) = shown(out)
    for part in ("fit", "25%", "30 s", "90 s to go", "0.125", "######"):
        assert part in line
    assert line.count("#") == 6


def test_a_terminal_line_is_redrawn_five_times_a_second_and_cleared(clock):
    out = Terminal()
    progress = Progress("fit", 1000, stream=out)
    for done in range(1000):
        clock.now += 0.01
        progress.update(done)
    assert "\n" not in out.getvalue()
    assert len(shown(out)) == pytest.approx(40, abs=2)  # of ten seconds the last eight
    assert out.flushed >= len(shown(out))
    progress.close()
    assert out.getvalue().endswith(ERASE)


def test_elsewhere_a_line_is_added_every_ten_seconds(clock):
    out = io.StringIO()
    with Progress("fit", 1000, stream=out) as progress:
        for done in range(1000):
            clock.now += 0.05
            progress.update(done)
    assert "\x1b" not in out.getvalue()
    assert "\r" not in out.getvalue()
    assert out.getvalue().endswith("\n")
    assert len(shown(out)) == 5


def test_closing_what_was_never_shown_writes_nothing(clock):
    out = Terminal()
    Progress("fit", 10, stream=out).close()
    assert out.getvalue() == ""


@pytest.mark.parametrize(
    ("done", "total", "share"), [(0, 10, "0%"), (-3, 10, "0%"), (30, 10, "100%"), (5, 0, "100%")]
)
def test_shares_stay_between_none_and_all(clock, done, total, share):
    out = io.StringIO()
    progress = Progress("fit", total, stream=out)
    clock.now += 5
    progress.update(done)
    (line,) = shown(out)
    assert f" {share} " in line
    assert 0 <= line.count("#") <= 24


def test_no_guess_is_made_from_next_to_nothing(clock):
    out = io.StringIO()
    progress = Progress("fit", 1000, stream=out)
    clock.now += 5
    progress.update(1)
    assert "to go" not in out.getvalue()


def test_it_writes_to_standard_error_by_default(clock, capsys):
    progress = Progress("fit", 10)
    clock.now += 5
    progress.update(5)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "fit" in captured.err


def test_the_line_is_closed_after_an_error(clock):
    out = Terminal()
    with pytest.raises(KeyboardInterrupt), Progress("fit", 10, stream=out) as progress:
        clock.now += 5
        progress.update(5)
        raise KeyboardInterrupt
    assert out.getvalue().endswith(ERASE)
