from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dssfn.errors import ProtocolError
from dssfn.numbered import Incoming, Outgoing


@given(st.lists(st.integers(1, 12)))
def test_every_number_is_new_once_whatever_the_order(numbers):
    incoming = Incoming()
    new = [number for number in numbers if incoming.add(number)]
    assert sorted(new) == sorted(set(numbers))
    assert all(incoming.has(number) for number in numbers)


@given(st.lists(st.integers(1, 12)))
def test_all_numbers_up_to_the_one_received_have_come_and_the_next_has_not(numbers):
    incoming = Incoming()
    for number in numbers:
        incoming.add(number)
    came = set(numbers)
    assert came.issuperset(range(1, incoming.n_received + 1))
    assert incoming.n_received + 1 not in came


def test_numbers_that_are_skipped_count_as_received():
    incoming = Incoming()
    incoming.add(3)
    incoming.add(9)
    incoming.skip_to(5)
    assert [number for number in range(1, 10) if not incoming.has(number)] == [6, 7, 8]


@given(st.integers(0, 8), st.data())
def test_what_is_kept_is_what_was_neither_confirmed_nor_dropped(n_sent, data):
    outgoing = Outgoing()
    for number in range(1, n_sent + 1):
        outgoing.keep(SimpleNamespace(number=number))
    received = data.draw(st.integers(0, n_sent))
    dropped = data.draw(st.sets(st.integers(1, 9)))
    outgoing.confirm(received)
    for number in dropped:
        outgoing.drop(number)
    kept = [one.number for one in outgoing.unconfirmed]
    assert kept == [n for n in range(received + 1, n_sent + 1) if n not in dropped]
    after = outgoing.after(received)
    assert (after.number if after else None) == (kept[0] if kept else None)


def test_nobody_confirms_what_was_not_sent():
    with pytest.raises(
        ProtocolError, match="confirms 1 messages, but only 0 were sent"
    ):
        Outgoing().confirm(1)
