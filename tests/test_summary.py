from dssfn.experiments import communication, comparison, table2
from dssfn.report.summary import TABLES
from dssfn.rows import Row


def _row(experiment, key, figures):
    return Row(experiment, key, figures, 1.0, {})


def _table2_row(data, settings, n_nodes, seed, db, quick=False):
    key = {"data": data, "settings": settings, "n_nodes": n_nodes, "seed": seed}
    figures = {
        "train_accuracy": 0.99,
        "train_error_db": db,
        "test_accuracy": 0.6,
        **table2.published(data, n_nodes),
    }
    return _row("table2", {**key, "quick": quick}, figures)


def test_table_two_shows_the_paper_and_the_difference():
    rows = [
        _table2_row("vowel", "paper", 20, seed, db)
        for seed, db in enumerate((-50, -52))
    ]
    (line,) = TABLES["table2"](rows).lines
    assert line[:3] == ("vowel", "20 nodes", "the paper's")
    assert line[4] == "-51.00 ± 1.41 (-51.67, +0.67)"
    assert line[5] == "60.00 ± 0.00 (59.2, +0.80)"
    assert line[6] == "2"


def test_a_stand_in_is_never_compared_with_the_papers_set():
    (line,) = TABLES["table2"](
        [_table2_row("norb_subset3", "paper", 1, 0, -10.0)]
    ).lines
    assert line[0] == "norb_subset3 (not the paper's norb)"
    assert "(" not in line[4]


def test_reduced_sizes_are_named_on_every_table():
    rows = [_table2_row("vowel", "paper", 20, 0, -50.0, quick=True)]
    assert "Reduced sizes" in TABLES["table2"](rows).markdown()
    rows = [_table2_row("vowel", "paper", 20, 0, -50.0)]
    assert "Reduced sizes" not in TABLES["table2"](rows).markdown()


def test_degree_adds_what_averaging_takes_to_the_training():
    training = {"data": "satimage", "part": "training", "seed": 0, "quick": False}
    rows = [_row("degree", training, {"seconds": 10.0, "averagings": 100})]
    for scheme in ("gossip", "chebyshev", "exact"):
        key = {"data": "satimage", "part": "averaging", "degree": 4, "scheme": scheme}
        figures = {"rounds": 6, "seconds_measured": 0.01, "seconds_modelled": 0.5}
        rows.append(_row("degree", {**key, "quick": False}, figures))
    (line,) = TABLES["degree"](rows).lines
    assert line == ("satimage", "4", *["6 / 11 s / 1 min"] * 3)


def test_rows_that_are_really_made_fit_their_tables():
    for module in (communication, comparison):
        tasks = module.tasks(quick=True, seeds=[0])
        some = [tasks[0], tasks[-1]]
        rows = [_row(task.experiment, task.key, task.run()) for task in some]
        table = TABLES[rows[0].experiment](rows)
        assert len(table.lines) == 2
        assert all(len(line) == len(table.header) for line in table.lines)
        assert "Reduced sizes" in table.note
