import numpy as np
import pytest

from dssfn.config import Plan
from dssfn.errors import PlanError
from dssfn.node.checkpoint import Checkpoints, Saved
from dssfn.progress import Progress
from dssfn.records import LayerRecord

PLAN = Plan(n_features=3, classes=("a", "b"), n_layers=2, width=6)
RECORD = LayerRecord(
    layer=0, cost=1 / 3, train_error_db=-1.5, train_accuracy=0.9, iterations=4
)


def _progress(n_solved=2):
    rng = np.random.default_rng(0)
    stages = [{"O": rng.normal(size=(2, PLAN.inputs_of(k)))} for k in range(n_solved)]
    stages[0] |= {"shift": rng.normal(size=3), "scale": np.ones(3)}
    return Progress(tuple(stages), tuple(range(1, n_solved + 1)), before=3)


@pytest.fixture
def checkpoints(tmp_path):
    return Checkpoints(tmp_path / "checkpoint", {"plan": "abc", "samples": 7})


def test_what_was_saved_is_loaded_to_the_last_bit(checkpoints):
    progress = _progress()
    checkpoints.save(progress, (RECORD,))
    saved = checkpoints.load(PLAN)
    assert saved.furthest is saved.latest
    assert saved.furthest.flat().tobytes() == progress.flat().tobytes()
    assert saved.furthest.iterations == progress.iterations
    assert saved.records == (RECORD,)


def test_no_checkpoint_is_a_start(checkpoints):
    assert checkpoints.load(PLAN) == Saved()


def test_any_damaged_byte_is_found(checkpoints):
    checkpoints.save(_progress(), (RECORD,))
    whole = checkpoints.path.read_bytes()
    for k in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[k] ^= 0x10
        checkpoints.path.write_bytes(damaged)
        try:
            saved = checkpoints.load(PLAN)
        except PlanError:  # the damage is in what it belongs to
            continue
        if saved != Saved():  # or in a space of the tensors' header
            assert saved.furthest.flat().tobytes() == _progress().flat().tobytes()
            assert len(saved.records) == 1


@pytest.mark.parametrize("length", [0, 4, 8, 50, 300])
def test_a_shortened_file_is_a_start(checkpoints, length):
    checkpoints.save(_progress(), ())
    checkpoints.path.write_bytes(checkpoints.path.read_bytes()[:length])
    assert checkpoints.load(PLAN) == Saved()


def test_another_plan_or_other_data_are_refused(checkpoints):
    checkpoints.save(_progress(), ())
    for changed in ({"plan": "abd", "samples": 7}, {"plan": "abc", "samples": 8}):
        other = Checkpoints(checkpoints.path, changed)
        with pytest.raises(PlanError, match="belongs to another training"):
            other.load(PLAN)


def test_another_plan_is_told_by_its_first_digits_with_the_way_out(checkpoints):
    before = Checkpoints(checkpoints.path, {"plan": "a" * 64})
    before.save(_progress(), ())
    now = Checkpoints(checkpoints.path, {"plan": "b" * 64})
    for look in (now.check, lambda: now.load(PLAN)):
        with pytest.raises(PlanError) as caught:
            look()
        assert "plan was aaaaaaaa… and is now bbbbbbbb…" in str(caught.value)
        assert "`dssfn node run NODE --fresh`" in str(caught.value)


def test_fewer_layers_are_the_training_as_it_was():
    progress = _progress(3)
    assert progress.first(0) is None
    earlier = progress.first(2)
    assert len(earlier.stages) == 2
    assert earlier.n_averagings == 3 + 1 + 2


def test_numbers_survive_being_laid_flat():
    progress = _progress(3)
    again = progress.with_flat(progress.flat())
    assert list(again.tensors()) == list(progress.tensors())
    assert again.flat().tobytes() == progress.flat().tobytes()


@pytest.mark.parametrize(
    "change",
    [
        {"shift": np.zeros(4)},
        {"scale": np.ones(3, dtype=np.float32)},
        {"more": np.ones(3)},
        {"O": np.ones((2, 7))},
    ],
    ids=lambda change: next(iter(change)),
)
def test_matrices_that_the_plan_does_not_ask_for_are_a_start(checkpoints, change):
    good = _progress()
    checkpoints.save(good, ())
    assert checkpoints.load(PLAN).furthest is not None
    first, *others = good.stages
    strange = Progress(({**first, **change}, *others), good.iterations, good.before)
    checkpoints.save(strange, ())
    assert checkpoints.load(PLAN) == Saved()


def test_more_layers_than_the_plan_has_are_a_start(checkpoints):
    checkpoints.save(_progress(3), ())
    assert checkpoints.load(PLAN).furthest is not None
    assert checkpoints.load(PLAN.replace(n_layers=1)) == Saved()


def test_numbers_of_another_kind_are_a_start(checkpoints):
    checkpoints.save(_progress(), ())
    content = checkpoints.path.read_bytes()
    assert content.count(b'"F64","shape":[3]') == 2
    # Four times as many numbers of two bytes are as long.
    content = content.replace(b'"F64","shape":[3]', b'"BF16","shape":[12]')
    end = 8 + int.from_bytes(content[:8], "little")
    length = int.from_bytes(content[end : end + 8], "little") + 6
    head, rest = content[:end], content[end + 8 :]
    checkpoints.path.write_bytes(head + length.to_bytes(8, "little") + rest)
    assert checkpoints.load(PLAN) == Saved()


def test_the_furthest_checkpoint_is_kept_until_it_is_overtaken(checkpoints):
    whole, other = _progress(3), _progress(3).with_flat(-_progress(3).flat())
    checkpoints.save(whole, (RECORD,))
    for n_solved in (1, 2):  # nodes went back, and their numbers are others now
        checkpoints.save(other.first(n_solved), ())
        saved = checkpoints.load(PLAN)
        assert saved.furthest.flat().tobytes() == whole.flat().tobytes()
        assert saved.records == (RECORD,)
        latest = other.first(n_solved)
        assert saved.latest.flat().tobytes() == latest.flat().tobytes()
    checkpoints.save(other, ())
    saved = checkpoints.load(PLAN)
    assert saved.furthest.flat().tobytes() == other.flat().tobytes()
    assert not checkpoints.aside.exists()


def test_of_two_checkpoints_the_one_with_more_layers_counts(checkpoints):
    # As after a kill between the last write and the removal of the other.
    checkpoints.save(_progress(2), ())
    checkpoints.path.rename(checkpoints.aside)
    kept = checkpoints.aside.read_bytes()
    checkpoints.save(_progress(3), ())
    checkpoints.aside.write_bytes(kept)
    assert len(checkpoints.load(PLAN).furthest.stages) == 3


def test_nobody_but_the_owner_can_read_a_checkpoint(checkpoints):
    checkpoints.save(_progress(), ())
    assert checkpoints.path.stat().st_mode & 0o077 == 0


def test_nothing_is_left_of_a_checkpoint_that_is_forgotten(checkpoints):
    checkpoints.save(_progress(3), ())
    checkpoints.save(_progress(1), ())
    checkpoints.forget()
    assert checkpoints.load(PLAN) == Saved()
    checkpoints.forget()
