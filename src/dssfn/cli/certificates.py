"""`dssfn federation certificate`, `sign`, `revoke`: certificates of a plan's nodes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dssfn.cli.federation import DaysOption, FolderArgument
from dssfn.cli.options import CERTIFICATES, JsonOutput, option
from dssfn.cli.outcome import print_json, show_lines

if TYPE_CHECKING:
    from dssfn.setup.member_certificates import Renewal, SignedRequest
    from dssfn.setup.revocation_list import Revoked

# What needs cryptography is imported when it is used: the other commands do without.

MemberArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="A node of the plan.")
]


def certificate(
    folder: FolderArgument,
    name: MemberArgument,
    days: DaysOption = 825,
    json: JsonOutput = False,
) -> None:
    """Issue a new key and certificate for one node: one that ends soon, or was lost.

    The old ones are kept under another name.
    """
    from dssfn.setup.member_certificates import renew_certificate

    renewed = renew_certificate(folder, name, days=days)
    if json:
        print_json(
            {
                "name": name,
                "certificate": str(renewed.certificate),
                "key": str(renewed.key),
                "expires": renewed.expires.isoformat(),
                "kept": [str(path) for path in renewed.kept],
            }
        )
    else:
        _tell_renewal(renewed, name)


_RENEWED = """A new key and certificate for {name}, valid until {expires:%Y-%m-%d}:
    {key}
    {certificate}
{kept}Send both to its organisation in a way that nobody else can read; they take the
place of the old ones, and a node that runs takes them by itself. An old certificate
is accepted until it ends: if its key was stolen, `dssfn federation revoke` it first.
Better, have the node make its key itself, with `dssfn node request`."""


def _tell_renewal(renewed: Renewal, name: str) -> None:
    kept = " and ".join(str(path) for path in renewed.kept)
    text = _RENEWED.format(
        name=name,
        expires=renewed.expires,
        key=renewed.key,
        certificate=renewed.certificate,
        kept=f"The old ones are now {kept}.\n" if kept else "",
    )
    show_lines(text)


def sign(
    folder: FolderArgument,
    name: MemberArgument,
    request: Annotated[
        Path,
        typer.Argument(
            metavar="REQUEST",
            help="The request of that node's organisation, from `dssfn node request`.",
        ),
    ],
    days: DaysOption = 825,
    json: JsonOutput = False,
) -> None:
    """Sign a node's request: a certificate for the key that the node made itself.

    It is for NAME alone and for nothing but a node, whatever the request asks for.
    """
    from dssfn.setup.member_certificates import sign_request

    signed = sign_request(folder, name, request, days=days)
    if json:
        print_json(
            {
                "name": name,
                "certificate": str(signed.certificate),
                "authorities": str(signed.authorities),
                "revoked": str(signed.revoked) if signed.revoked else None,
                "expires": signed.expires.isoformat(),
                "fingerprint": signed.fingerprint,
                "not_given": signed.not_given,
                "kept": [str(path) for path in signed.kept],
            }
        )
    else:
        _tell_signed(signed, name)


_SIGNED = """A certificate for {name}, valid until {expires:%Y-%m-%d}:
    {certificate}
It is for the key with the fingerprint
    {fingerprint}
Compare that with what the organisation of {name} reads out on the telephone.
{kept}None of these is secret; send them back, with node.toml and plan.toml
if {name} has none yet:
    {certificate}
    {authorities}{revoked}{not_given}"""

_NOT_GIVEN = """

WARNING: the request asked for more than it gets:
    {wishes}
The certificate has none of that. Ask the organisation why, before you send it."""

_KEPT = """What was in the folder before is now
    {kept}
Delete the key if there is one: it is accepted until its certificate ends, or is
revoked with `dssfn federation revoke --certificate`.
"""


def _tell_signed(signed: SignedRequest, name: str) -> None:
    from dssfn.certificate_names import listed
    from dssfn.setup.certificate_request import in_groups

    kept = "\n    ".join(str(path) for path in signed.kept)
    wishes = listed(signed.not_given)
    text = _SIGNED.format(
        name=name,
        expires=signed.expires,
        certificate=signed.certificate,
        authorities=signed.authorities,
        revoked=f"\n    {signed.revoked}" if signed.revoked else "",
        fingerprint=in_groups(signed.fingerprint),
        not_given=_NOT_GIVEN.format(wishes=wishes) if wishes else "",
        kept=_KEPT.format(kept=kept) if kept else "",
    )
    show_lines(text)


def revoke(
    folder: FolderArgument,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="A node of the plan; without it the list gets a new date only.",
        ),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Revoke this one alone, not all that are in the node's folder.",
        ),
    ] = None,
    days: Annotated[
        int | None,
        option(
            "How long the list is valid.",
            CERTIFICATES,
            show_default="as long as the authority",
        ),
    ] = None,
    json: JsonOutput = False,
) -> None:
    """Revoke a node's certificates: a key was stolen, or an organisation has left.

    They go on the list ca/crl.pem, which the authority signs. Nodes that have the new
    list refuse whoever shows one of them, without a restart.
    """
    from dssfn.setup.revocation_list import revoke

    done = revoke(folder, name, certificate=certificate, days=days)
    if json:
        print_json(
            {
                "name": name,
                "list": str(done.file),
                "copies": [str(path) for path in done.copies],
                "revoked": [f"{one.serial_number:x}" for one in done.certificates],
                "n_revoked": done.n_revoked,
                "expires": done.expires.isoformat(),
            }
        )
    else:
        _tell_revoked(done, name)


_REVOKED = """{what}
The list names {n_revoked} and is valid until {expires:%Y-%m-%d}:
    {file}
It is no secret. Send it to every organisation, over a way that nobody can block unseen:
a node refuses what is on the list once it lies beside its node.toml, without a restart,
if that file says `revoked = "{list_name}"`.{again}"""

_AGAIN = """
Then have {name} make a new key, `dssfn node request`, and sign it."""


def _tell_revoked(done: Revoked, name: str | None) -> None:
    serials = "".join(
        f"\n    {one.serial_number:x}, until {one.not_valid_after_utc:%Y-%m-%d}"
        for one in done.certificates
    )
    if name is None:
        what = "A new date for the list; nothing was revoked."
    elif serials:
        what = f"Certificates of {name} that count no more, by serial number:{serials}"
    else:
        what = f"All certificates of {name} that are here were revoked before."
    text = _REVOKED.format(
        what=what,
        n_revoked=f"{done.n_revoked} certificate{'s' * (done.n_revoked != 1)}",
        expires=done.expires,
        file=done.file,
        list_name=done.file.name,
        again=_AGAIN.format(name=name) if serials else "",
    )
    show_lines(text)
