"""`dssfn federation revoke`, and what a node makes of the list."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509

from dssfn.node.identity import read_revoked
from dssfn.node.spec import load_node
from dssfn.setup.pki import issue, make_authority, read_authority
from tests.support.commands import dssfn, wrong
from tests.support.federations import DATA, init
from tests.support.revocation_lists import list_of


def revoked_in(fed, name="a"):
    """What a node that has the list of its folder takes no more."""
    spec, _ = load_node(fed / name / "node.toml")
    pem = Path(spec.authorities).read_bytes()
    return read_revoked(spec.revoked, spec.authorities, pem)


def certificate_in(file):
    return x509.load_pem_x509_certificate(file.read_bytes())


def test_a_revoked_certificate_is_on_the_list_of_every_node(tmp_path):
    fed = tmp_path / "fed"
    init(fed, *DATA)
    assert not revoked_in(fed).moments
    old = certificate_in(fed / "b" / "node.crt")
    dssfn("federation", "certificate", fed, "b")
    new = certificate_in(fed / "b" / "node.crt")
    text = dssfn("federation", "revoke", fed, "b").stdout
    assert f"{old.serial_number:x}" in text  # all of that node, old ones as well
    assert f"{new.serial_number:x}" in text
    for name in "abcd":
        assert old in revoked_in(fed, name)
        assert new in revoked_in(fed, name)
        other = certificate_in(fed / name / "node.crt")
        assert (other in revoked_in(fed, name)) == (name == "b")
    # A new certificate counts, and the list comes along with it.
    (fed / "b" / "crl.pem").unlink()
    dssfn("federation", "certificate", fed, "b")
    assert old in revoked_in(fed, "b")
    assert certificate_in(fed / "b" / "node.crt") not in revoked_in(fed, "b")


def test_a_list_only_grows(tmp_path):
    fed = tmp_path / "fed"
    init(fed, *DATA)
    shutil.rmtree(fed / "d")  # sent away
    shown = json.loads(dssfn("federation", "revoke", fed, "a", "--json").stdout)
    assert shown["n_revoked"] == len(shown["revoked"]) == 1
    assert shown["copies"] == [str(fed / name / "crl.pem") for name in "abc"]
    again = dssfn("federation", "revoke", fed, "a")
    assert "had been revoked before" in again.stdout
    one = fed / "b" / "node.crt"
    dssfn("federation", "revoke", fed, "b", "--certificate", one)
    assert len(revoked_in(fed).moments) == 2
    moments = revoked_in(fed).moments
    shown = dssfn("federation", "revoke", fed, "--days", 9)  # a new date
    assert "nothing was revoked" in shown.stdout
    assert revoked_in(fed).moments == moments
    assert (revoked_in(fed).ends - datetime.now(UTC)).days in (8, 9)


def test_an_ended_list_is_replaced_and_a_foreign_one_refused(tmp_path):
    fed = tmp_path / "fed"
    init(fed, *DATA)
    authority = read_authority(fed / "ca" / "ca.crt", fed / "ca" / "ca.key")
    past = datetime.now(UTC) - timedelta(days=9)
    gone = list_of(authority, issue(authority, "a"), start=past, end=past)
    (fed / "ca" / "crl.pem").write_bytes(gone)
    dssfn("federation", "revoke", fed)
    assert len(revoked_in(fed).moments) == 1
    foreign = list_of(make_authority("dssfn federation fed"))
    for path in (fed / "ca" / "crl.pem", fed / "a" / "crl.pem"):
        path.write_bytes(foreign)
    error = wrong("federation", "revoke", fed, "a")
    assert "not by that authority's key" in error
    assert (fed / "ca" / "crl.pem").read_bytes() == foreign


def test_what_cannot_be_revoked_here_is_said(tmp_path):
    fed = tmp_path / "fed"
    init(fed, *DATA)
    before = (fed / "ca" / "crl.pem").read_bytes()
    foreign = tmp_path / "foreign.crt"
    foreign.write_bytes(issue(make_authority("own"), "a").certificate_pem)

    def revoke(*args):
        error = wrong("federation", "revoke", fed, *args)
        assert (fed / "ca" / "crl.pem").read_bytes() == before
        return error

    assert "with a list of its own" in revoke("a", "--certificate", foreign)
    wrong_one = fed / "b" / "node.crt"
    assert "but is for b" in revoke("a", "--certificate", wrong_one)
    assert "cannot be read" in revoke("a", "--certificate", tmp_path / "none")
    assert "must come with `NAME`" in revoke("--certificate", foreign)
    assert "`NAME` must be one of" in revoke("x")
    assert "`--days` must be at least 1" in revoke("--days", 0)
    (fed / "a" / "node.crt").unlink()
    assert "Give a certificate with `--certificate`" in revoke("a")
    (fed / "ca" / "ca.key").unlink()
    assert "the authority's key" in revoke("b")


def test_a_check_tells_of_a_list_that_cannot_be_used(tmp_path):
    fed = tmp_path / "fed"
    init(fed, *DATA)
    home = fed / "a"
    authority = read_authority(fed / "ca" / "ca.crt", fed / "ca" / "ca.key")

    def finding():
        shown = json.loads(dssfn("node", "check", home, "--json").stdout)
        (one,) = (one for one in shown["findings"] if one["what"] == "revoked")
        return one["is_good"], one["text"]

    assert finding()[0] is True
    assert finding()[1].startswith("0 certificates revoked; the list is valid until ")
    past = datetime.now(UTC) - timedelta(days=9)
    for pem, words in (
        (b"", "it is empty"),
        (list_of(authority, start=past, end=past), "expired on"),
        (list_of(make_authority("lab")), "must be signed by an authority in"),
        (None, "cannot be read"),
    ):
        (home / "crl.pem").unlink()
        if pem is not None:
            (home / "crl.pem").write_bytes(pem)
        is_good, text = finding()
        assert is_good is False
        assert words in text
        error = wrong("node", "run", home)  # fail closed
        assert words in error
    dssfn("federation", "revoke", fed, "a")
    is_good, text = finding()
    assert is_good is False
    assert "The certificate of a with the serial number" in text
    assert "was revoked on" in text
    assert "was revoked on" in wrong("node", "run", home)
