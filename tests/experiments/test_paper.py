from dssfn.experiments import table2
from dssfn.experiments.paper import published
from dssfn.presets import PAPER_MU


def test_every_set_of_table_two_has_published_numbers_and_mu():
    for name in table2.SETS:
        numbers = published(name, 20)["paper"]
        assert numbers["data"] in PAPER_MU
        assert numbers["train_error_db"] < 0
    assert published("caltech101_spm", 1)["paper"]["data"] == "caltech101"
