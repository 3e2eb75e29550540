from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dssfn.progress import Progress

shapes = st.lists(st.integers(0, 4), min_size=1, max_size=4).map(tuple)
numbers = arrays(float, shapes, elements=st.floats(allow_nan=False))
names = st.text("abcO_.", min_size=1, max_size=6)
stages = st.dictionaries(names, numbers, min_size=1, max_size=5)


@st.composite
def trainings(draw):
    some = draw(st.lists(stages, min_size=1, max_size=4))
    iterations = draw(
        st.lists(st.integers(0, 50), min_size=len(some), max_size=len(some))
    )
    return Progress(tuple(some), tuple(iterations), draw(st.integers(0, 5)))


def assert_same(one, other):
    assert one.iterations == other.iterations
    assert one.before == other.before
    assert len(one.stages) == len(other.stages)
    for mine, theirs in zip(one.stages, other.stages, strict=True):
        assert mine.keys() == theirs.keys()
        for name, A in mine.items():
            assert A.shape == theirs[name].shape
            assert A.tobytes() == theirs[name].tobytes()


@settings(max_examples=50)
@given(trainings())
def test_a_training_comes_back_from_its_tensors_bit_for_bit(progress):
    assert_same(progress.with_tensors(progress.tensors()), progress)


@settings(max_examples=50)
@given(trainings())
def test_a_training_comes_back_from_one_vector_bit_for_bit(progress):
    assert_same(progress.with_flat(progress.flat()), progress)
    assert progress.flat().size == sum(A.size for A in progress.tensors().values())


@settings(max_examples=50)
@given(trainings(), stages, st.integers(0, 9))
def test_one_stage_more_and_one_less_is_the_same_training(progress, stage, n):
    more = progress.then(stage, n)
    assert more.n_averagings == progress.n_averagings + n
    assert_same(more.first(len(progress.stages)), progress)
    assert progress.first(0) is None


def test_the_order_of_numbers_does_not_depend_on_that_of_their_names():
    a, b = np.ones(2), np.zeros((1, 3))
    one = Progress(({"a": a, "b": b},), (1,))
    other = Progress(({"b": b, "a": a},), (1,))
    assert list(one.tensors()) == list(other.tensors())
    np.testing.assert_array_equal(one.flat(), other.flat())


def test_a_stage_without_an_output_matrix_is_no_layer():
    layers = ({"O": np.eye(2)}, {"O": np.eye(2)})
    whole = Progress((*layers, {"slope": np.ones(1)}), (1, 1, 1))
    assert (len(whole.stages), whole.n_layers) == (3, 2)
