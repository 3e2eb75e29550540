"""What a program may ask for."""

from __future__ import annotations

import numpy as np
import pytest

from dssfn.errors import InputError, NumericalError
from dssfn.programs import NO_RIDER, Message, run_about

INTEGERS = np.array([[2**53 + 1, -(2**62)], [2**62, 3]])


def test_a_message_holds_the_kind_of_numbers_that_it_is_made_of():
    for values, exact in ((INTEGERS, True), (INTEGERS / 2, False)):
        message = Message.of(values)
        made = message.make()
        assert (message.exact, message.dtype) == (exact, values.dtype)
        assert (made.dtype, made.tolist()) == (values.dtype, values.tolist())
    # Only int64 is added up: nobody counts on a total of other numbers.
    for other in (np.float32, np.int32, np.uint64, bool):
        assert not Message.of(np.ones(2, other)).exact


def test_numbers_that_are_filled_in_are_exact_if_the_message_says_so():
    filled = Message((3,), lambda into: np.copyto(into, 2**53 + 1), exact=True)
    assert filled.make().tolist() == [2**53 + 1] * 3
    assert filled.make().dtype == np.int64


def test_a_message_about_a_layer_keeps_its_kind_with_and_without_a_rider():
    for rider in (NO_RIDER, np.array([2**53 + 3])):
        message = Message.of(INTEGERS).about(4, rider)
        assert (message.layer, message.exact) == (4, True)
        expected = [*INTEGERS.ravel().tolist(), *map(int, rider)]
        assert message.make().ravel().tolist() == expected
    floats = Message.of(INTEGERS / 2).about(4, np.array([0.5]))
    assert floats.make().tolist() == [*(INTEGERS / 2).ravel(), 0.5]


def test_floats_do_not_ride_with_integers():
    with pytest.raises(InputError, match=r"`rider` .* must be int64, .* got float64"):
        Message.of(INTEGERS).about(0, np.array([0.5]))


def test_a_program_about_a_layer_gets_its_totals_and_those_of_the_rider():
    def asks():
        first = yield Message.of(INTEGERS)
        second = yield Message.of(np.ones(2))
        return first, second

    running = run_about(2, asks(), np.array([7]))
    request = next(running)
    assert (request.layer, request.exact, request.shape) == (2, True, (5,))
    request = running.send(3 * request.make())
    assert (request.layer, request.exact) == (2, False)
    with pytest.raises(StopIteration) as stop:
        running.send(request.make())
    (first, second), rider, n_averagings = stop.value.value
    assert first.tolist() == (3 * INTEGERS).tolist()
    assert (second.tolist(), rider.tolist(), n_averagings) == ([1.0, 1.0], [21], 2)


def test_what_is_not_finite_is_refused_wherever_it_stands():
    for bad in (np.nan, np.inf, -np.inf):
        with pytest.raises(NumericalError, match="Layer 3"):
            Message.of(np.array([1.0, bad])).about(3).make()
