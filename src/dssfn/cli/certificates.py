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
    """Replace a node's key and certificate, because they expire soon or were lost.

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
{kept}Send both to its organisation over a channel that nobody else can read. They
replace the old ones; a running node picks them up by itself. The old certificate is
accepted until it expires: if its key was stolen, revoke it first with `dssfn federation
revoke`. Better still, let the node create its own key with `dssfn node request`."""


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
            help="The certificate request, made by that organisation with `dssfn node "
            "request`.",
        ),
    ],
    days: DaysOption = 825,
    json: JsonOutput = False,
) -> None:
    """Sign a node's certificate request; its private key never leaves the node.

    The certificate is valid for NAME only, and only for a node, whatever the request
    asks for.
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
Compare this with the fingerprint that {name} reads out to you on the telephone.
{kept}These files are not secret. Send them back, with node.toml and plan.toml
if {name} does not have them yet:
    {certificate}
    {authorities}{revoked}{not_given}"""

_NOT_GIVEN = """

WARNING: the request asked for more than a node needs:
    {wishes}
None of that is in the certificate. Ask the organisation why before you send it."""

_KEPT = """The files that were in the folder before are now called
    {kept}
If a key is among them, delete it: it is accepted until its certificate expires or is
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
            help="A node of the plan. Without it the list is only renewed.",
        ),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Revoke only this certificate, not all in the node's folder.",
        ),
    ] = None,
    days: Annotated[
        int | None,
        option(
            "How many days the list is valid.",
            CERTIFICATES,
            show_default="until the authority expires",
        ),
    ] = None,
    json: JsonOutput = False,
) -> None:
    """Revoke a node's certificates: its key was stolen, or the organisation has left.

    They are added to the revocation list ca/crl.pem, signed by the authority. Nodes
    that have the new list refuse these certificates at once, without a restart.
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
It is not secret. Send it to every organisation, and make sure that it arrives. A node
refuses these certificates as soon as the list lies beside its node.toml, without a
restart, if that file says `revoked = "{list_name}"`.{again}"""

_AGAIN = """
Then let {name} create a new key with `dssfn node request`, and sign it."""


def _tell_revoked(done: Revoked, name: str | None) -> None:
    serials = "".join(
        f"\n    {one.serial_number:x}, until {one.not_valid_after_utc:%Y-%m-%d}"
        for one in done.certificates
    )
    if name is None:
        what = "The list was renewed; nothing was revoked."
    elif serials:
        what = f"Revoked certificates of {name}, by serial number:{serials}"
    else:
        what = f"All certificates of {name} in this folder had been revoked before."
    text = _REVOKED.format(
        what=what,
        n_revoked=f"{done.n_revoked} certificate{'s' * (done.n_revoked != 1)}",
        expires=done.expires,
        file=done.file,
        list_name=done.file.name,
        again=_AGAIN.format(name=name) if serials else "",
    )
    show_lines(text)
