import pytest

from dssfn.experiments import communication
from dssfn.report.evidence.selection import where
from tests.support.evidence_sample import (
    check_made_rows,
    page_of,
    row,
    sample_of,
)


@pytest.fixture(scope="module")
def rows():
    return sample_of("communication")


def test_rows_that_are_really_made_fit_their_table_and_figures():
    check_made_rows(communication)


def test_descent_that_was_stopped_gives_a_lower_bound(rows):
    (paper,) = where(rows, scheme="paper")
    assert "eta is 20; the formula" in communication.words([paper])[1]
    assert "order of thousands" in communication.words([paper])[1]
    stopped = row("communication", paper.key, paper.metrics | {"reached": False})
    said = communication.words([stopped])[1]
    assert "needs more than 2 iterations, so eta is more than 20" in said
    assert "thousands" not in said
    assert [one.value for one in communication.headlines([stopped])] == ["> 20"]
    assert communication.table([stopped]).rows[0][-2:] == ("> 20", "> 25")


def test_descent_is_drawn_once_for_every_kind_of_averages(rows):
    (drawing,) = page_of(rows)[1].values()
    assert "adam, averages by gossip" in drawing.svg
    assert drawing.svg.count("adam, averages by tree") == 1  # of gram and krylov
