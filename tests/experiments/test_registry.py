import dataclasses
import json

import pytest

from dssfn.errors import PlanError
from dssfn.experiments.degree import EXPERIMENT
from dssfn.experiments.registry import EXPERIMENTS, register


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=EXPERIMENTS)
@pytest.mark.parametrize("quick", [True, False])
def test_keys_tell_rows_apart_and_say_whether_they_are_quick(experiment, quick):
    made = experiment.tasks(quick=quick, seeds=[0, 1])
    keys = [json.dumps(task.key, sort_keys=True) for task in made]
    assert len(set(keys)) == len(keys)
    assert {task.key["quick"] for task in made} == {quick}
    assert {task.experiment for task in made} == {experiment.name}
    assert EXPERIMENTS[experiment.name] is experiment


@pytest.mark.parametrize("name", ["degree", "all"])
def test_a_name_that_is_taken_is_refused(name):
    with pytest.raises(PlanError, match=f"no other experiment, got '{name}'"):
        register(dataclasses.replace(EXPERIMENT, name=name))
    assert EXPERIMENTS["degree"] is EXPERIMENT
