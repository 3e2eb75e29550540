import pytest

from dssfn.consensus import gossip_rounds
from dssfn.datasets import load_dataset
from dssfn.experiments import degree, trial
from tests.support.evidence_sample import page_of, row, sample_of


@pytest.fixture(scope="module")
def rows():
    return sample_of("degree")


def test_rows_hold_rounds_and_times(monkeypatch):
    task = next(
        task
        for task in degree.tasks(quick=True, seeds=[0])
        if task.key.get("degree") == 4 and task.key.get("scheme") == "gossip"
    )
    digits = load_dataset("digits", seed=0)
    monkeypatch.setattr(trial, "data_of", lambda *args, **kwargs: digits)
    metrics = task.run()
    assert metrics["rounds"] == gossip_rounds(trial.ring(), 1e-10) == 65
    assert metrics["seconds_measured"] > 0
    assert metrics["seconds_modelled"] > 65 * 0.02


def test_what_averaging_takes_is_added_to_the_training(rows):
    line = degree.table(rows).rows[0]
    assert line[:2] == ("letter", "1")
    # 20 s and 2,101 averagings of 700, 80 and 10 rounds of 1 ms here, 20 ms there
    assert line[2:5] == ("700", "1,491", "490.6")
    assert line[5:8] == ("80", "188", "56.4")
    assert line[8:] == ("10", "41", "7.3")


def test_times_are_called_estimated_wherever_they_are_shown(rows):
    table = degree.table(rows)
    gossip = ["gossip: rounds", "gossip: estimated (s)", "gossip: modelled (min)"]
    assert list(table.head[2:5]) == gossip
    assert "one averaging was timed, and counted as often as" in table.note
    said = " ".join(degree.words(rows))
    assert "Letter, on this machine, estimated from one timed averaging: 1491 s" in said
    page, drawings = page_of(rows)
    assert "degree-estimated-letter" in drawings
    assert "Letter, on this machine, estimated" in page
    assert "measured" not in page


def test_a_second_set_may_be_half_done(rows):
    more = [row("degree", one.key | {"data": "mnist"}, one.metrics) for one in rows[:3]]
    for made in (rows + more[:1], rows + more):
        page, drawings = page_of(made)
        assert page.count("<figure ") == len(drawings)


def test_what_saves_the_rounds_is_said(rows):
    said = " ".join(degree.words(rows))
    assert "700, 233, 116, 70" in said
    assert "By d = 4, 90 % of what can be saved" in said
    assert "1491 s at d = 1" in said
    assert "Exact averaging takes only 10 rounds at d = 1" in said
