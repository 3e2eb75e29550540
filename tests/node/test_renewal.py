"""Files of an identity may be replaced while a node runs."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from dssfn.errors import IdentityError
from dssfn.node.renewal import RenewableIdentity
from dssfn.setup.pki import issue, make_authority
from tests.support.revocation_lists import NOW, list_of, loaded

AUTHORITY = make_authority("lab")
PAST = datetime.now(UTC) - timedelta(days=3)


@pytest.fixture
def home(tmp_path):
    issue(AUTHORITY, "north").write(tmp_path / "node.crt", tmp_path / "node.key")
    (tmp_path / "ca.crt").write_bytes(AUTHORITY.certificate_pem)
    (tmp_path / "crl.pem").write_bytes(list_of(AUTHORITY))
    return tmp_path


def keyring_of(home, revoked="crl.pem"):
    files = (str(home / name) for name in ("node.crt", "node.key", "ca.crt"))
    return RenewableIdentity(*files, "north", revoked and str(home / revoked))


@pytest.fixture
def lines(caplog):
    caplog.set_level(logging.INFO, "dssfn.node")
    return lambda: [record.getMessage() for record in caplog.records]


def test_a_new_pair_is_taken_once_both_files_are_there(home, lines):
    keyring = keyring_of(home)
    old = keyring.current()
    assert keyring.current() is old  # as long as nothing changes
    new = issue(AUTHORITY, "north")
    (home / "node.crt").write_bytes(new.certificate_pem)
    for _ in range(3):
        assert keyring.current() is old
    (warning,) = lines()
    assert "cannot be used, so the old one stays" in warning
    assert "must belong to the certificate" in warning
    (home / "node.key").write_bytes(new.key_pem)
    taken = keyring.current()
    assert taken.certificate_pem == new.certificate_pem
    assert taken.key_pem == new.key_pem
    assert keyring.current() is taken
    assert len(lines()) == 2
    assert "loaded a new certificate" in lines()[1]


@pytest.mark.parametrize("part", ["node.crt", "node.key", "ca.crt", "crl.pem"])
@pytest.mark.parametrize("how", ["half", "empty", "gone"])
def test_a_file_that_is_half_written_is_not_taken(home, part, how, lines):
    keyring = keyring_of(home)
    old = keyring.current()
    content = (home / part).read_bytes()
    if how == "gone":
        (home / part).unlink()
    else:
        half = content[: len(content) // 2] if how == "half" else b""
        (home / part).write_bytes(half)
    assert keyring.current() is old
    assert keyring.current() is old
    (warning,) = lines()
    assert part in warning
    (home / part).write_bytes(content)
    assert keyring.current() is old
    assert len(lines()) == 1


def test_what_would_not_do_at_the_start_is_not_taken(home, lines):
    keyring = keyring_of(home)
    old = keyring.current()
    for bad in (
        issue(AUTHORITY, "south"),
        issue(make_authority("lab"), "north"),
        issue(AUTHORITY, "north", days=1, now=PAST),
    ):
        bad.write(home / "node.crt", home / "node.key")
        assert keyring.current() is old
    assert len(lines()) == 3


def test_new_authorities_are_taken(home):
    keyring = keyring_of(home)
    both = AUTHORITY.certificate_pem + make_authority("own").certificate_pem
    (home / "ca.crt").write_bytes(both)
    assert keyring.current().authorities_pem == both


def test_a_new_list_is_taken(home, lines):
    keyring = keyring_of(home)
    south = issue(AUTHORITY, "south")
    assert not keyring.current().is_revoked(loaded(south))
    (home / "crl.pem").write_bytes(list_of(AUTHORITY, south))
    assert keyring.current().is_revoked(loaded(south))
    assert "1 revoked" in lines()[-1]
    for bad in (
        list_of(make_authority("lab")),
        list_of(AUTHORITY, start=PAST, end=PAST + timedelta(days=1)),
    ):
        (home / "crl.pem").write_bytes(bad)
        assert keyring.current().is_revoked(loaded(south))
        assert "so the old one stays" in lines()[-1]


def test_a_list_waits_for_the_authority_that_signed_it(home, lines):
    keyring = keyring_of(home)
    other = make_authority("own")
    north = issue(other, "north")
    (home / "crl.pem").write_bytes(list_of(other, north))
    assert not keyring.current().is_revoked(loaded(north))
    both = AUTHORITY.certificate_pem + other.certificate_pem
    (home / "ca.crt").write_bytes(both)
    assert keyring.current().is_revoked(loaded(north))
    assert "that is not one of them" in lines()[0]


def test_one_s_own_revocation_is_told_and_stops_the_next_start(home, lines):
    keyring = keyring_of(home)
    own = issue(AUTHORITY, "north")
    own.write(home / "node.crt", home / "node.key")
    (home / "crl.pem").write_bytes(list_of(AUTHORITY, own))
    for _ in range(3):
        assert keyring.current().is_revoked(loaded(own))
    (told,) = (line for line in lines() if "was revoked on" in line)
    assert f"{loaded(own).serial_number:x}" in told
    assert "it is loaded without a restart" in told
    with pytest.raises(IdentityError, match=r"of north with the serial .* was revoked"):
        keyring_of(home)
    # A new one is taken, and all is well.
    issue(AUTHORITY, "north").write(home / "node.crt", home / "node.key")
    assert not keyring.current().fault()


def test_without_a_list_nothing_is_revoked(home):
    (home / "crl.pem").unlink()
    keyring = keyring_of(home, revoked=None)
    assert not keyring.current().revoked.moments
    with pytest.raises(IdentityError, match="must be a revocation list"):
        keyring_of(home)


def test_an_end_that_is_reached_meanwhile_is_told_once(home, lines):
    keyring = keyring_of(home)
    lists = replace(keyring.current().revoked, ends=PAST)
    ended = replace(keyring.current(), expires=PAST, revoked=lists)
    keyring._identity = ended  # as if time had passed
    for _ in range(3):
        assert keyring.current() is ended
    own, theirs = lines()
    assert "The certificate of north expired on" in own
    assert "loaded without a restart" in own
    assert "The revocation list" in theirs
    with pytest.raises(
        IdentityError, match=r"expired on .* resumes from its checkpoint"
    ):
        ended.check_usable()
    assert keyring_of(home).current().expires > NOW
