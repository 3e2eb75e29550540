"""`dssfn federation certificate` and `sign`: certificates for the nodes of a plan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dssfn.cli.federation import DaysOption, FolderArgument
from dssfn.cli.options import JsonOutput
from dssfn.cli.outcome import print_json, show_lines

if TYPE_CHECKING:
    from dssfn.setup.member_certificates import Renewal, SignedRequest

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
place of the old ones when the node is next started. An old certificate is accepted
until it ends: if its key was stolen, see docs/certificates.md."""


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
    {authorities}{not_given}"""

_NOT_GIVEN = """

WARNING: the request asked for more than it gets:
    {wishes}
The certificate has none of that. Ask the organisation why, before you send it."""

_KEPT = """What was in the folder before is now
    {kept}
Delete the key if there is one: it is accepted until its certificate ends.
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
        fingerprint=in_groups(signed.fingerprint),
        not_given=_NOT_GIVEN.format(wishes=wishes) if wishes else "",
        kept=_KEPT.format(kept=kept) if kept else "",
    )
    show_lines(text)
