from __future__ import annotations

import msgspec
import pytest

from dssfn.report.training import found
from dssfn.results import Result
from tests.support.report_sample import found_result, sample_result


def of(result, **changes):
    result["settings"] |= changes
    return msgspec.convert(result, Result)


def test_layers_that_did_not_help_say_why_the_network_ends_before_them():
    said = found.why_no_deeper(of(found_result()))
    assert (
        said == "the validation error did not fall in layers 4 and 5; layer 3 is kept"
    )
    said = found.why_no_deeper(of(found_result(beyond=1)))
    assert said == "the validation error did not fall in layer 4; layer 3 is kept"


def test_a_depth_that_was_asked_for_is_no_finding():
    said = found.why_no_deeper(of(found_result(beyond=0), found=["width"]))
    assert said == "as many as the settings ask for"


def test_an_error_that_falls_too_little_ends_the_growth_at_the_last_layer():
    said = found.why_no_deeper(of(found_result(beyond=0)))
    assert said == "the validation error hardly fell in the last layers"


def test_the_most_layers_that_are_tried_are_told():
    result = found_result(beyond=17)
    for row in result["layers"]:
        row["test_accuracy"] = 0.9
    said = found.why_no_deeper(of(result, n_layers=20))
    assert said == "the validation error still fell, but more layers are not tried"


def test_ssfn_is_judged_by_its_training_error():
    result = found_result(beyond=1)
    for row in result["layers"]:
        row |= {"validation_error_db": None, "validation_accuracy": None}
        row["width"] = 50 * row["layer"]
    typed = of(result, size="ssfn", members=1)
    said = found.why_no_deeper(typed)
    assert said == "the training error hardly fell in layer 4; layer 3 is kept"
    assert found.members(typed) == "1, trained on all samples"
    assert found.width(typed) == "50, 100, 150 random units, layer by layer"


def test_a_network_without_hidden_layers_is_linear():
    result = found_result()
    result["layers"] = result["layers"][:1]
    typed = of(result, n_layers=0)
    assert found.width(typed) == "none: a linear model"
    assert found.depth(typed).startswith("0 hidden layers: ")


@pytest.mark.parametrize(
    ("train", "validation", "warns"),
    [(1.0, 0.94, True), (1.0, 0.96, False), (0.999, 0.9, False), (1.0, None, False)],
)
def test_a_complete_fit_that_does_not_hold_elsewhere_is_warned_of(
    train, validation, warns
):
    result = found_result()
    result["layers"][3] |= {"train_accuracy": train, "validation_accuracy": validation}
    assert bool(found.warning(of(result))) is warns


def test_a_network_of_given_size_has_nothing_to_warn_of():
    typed = of(sample_result())
    assert not found.is_validated(typed)
    assert found.warning(typed) == ""
