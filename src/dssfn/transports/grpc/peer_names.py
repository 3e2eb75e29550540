"""Whose certificate it is at the other end of a connection, and whether it counts.

gRPC reads the names in a certificate more generously than a node may: it ends a name
at a NUL byte, and the end that dials also takes wildcards, upper case, a dot at the
end, or a common name alone. So nodes read the certificate themselves.

How this works. gRPC shows the certificate to the end that answers, but not to the end
that dials. That one begins a TLS handshake of its own, reads the certificate there, and
hangs up; then gRPC dials and trusts that one certificate alone. Whoever shows another
node's certificate at first does not have its key, and gets no further.

Nor does gRPC know which certificates were revoked. That is looked up at both ends,
before anything is read that the other end says.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from dssfn.certificate_names import names_in
from dssfn.errors import IdentityError, ProtocolError
from dssfn.federation import split_address
from dssfn.transports.grpc.credentials import Credentials
from dssfn.transports.grpc.refusals import Refusal, Refused
from dssfn.transports.grpc.troubles import DIALLING
from dssfn.transports.grpc.wire import excerpt

_CHUNK = 65536  # bytes
_HAS_EXPIRED = 10  # X509_V_ERR_CERT_HAS_EXPIRED
_NEXT_ADDRESS = 0.25  # seconds before the next of a host's addresses is tried


def certificate_of_caller(
    auth_context: Mapping[str, Iterable[bytes]],
) -> x509.Certificate:
    """Return the certificate of a node that dials this one.

    Parameters
    ----------
    auth_context : mapping
        What gRPC knows of the other end.

    Raises
    ------
    Refused
        If it presented no certificate, or one that cannot be read.
    """
    for pem in auth_context.get("x509_pem_cert", ()):
        return _loaded(pem, "its certificate")
    raise Refused("it presented no certificate", Refusal.CERTIFICATE)


def names_on(certificate: x509.Certificate, what: str = "its certificate") -> list[str]:
    """Return the names on another node's certificate.

    Raises
    ------
    Refused
        If it has names that no node may have.
    """
    try:
        return names_in(certificate, what)
    except IdentityError as exc:
        raise Refused(excerpt(str(exc)), Refusal.CERTIFICATE) from exc


def check_standing(
    certificate: x509.Certificate, mine: Credentials, what: str = "its certificate"
) -> None:
    """Refuse a certificate that was revoked, or has ended.

    TLS has looked at the dates before, but not if it went on with an earlier session.
    """
    if mine.is_revoked(certificate):
        raise Refused(
            f"{what} with the serial number {certificate.serial_number:x} was revoked",
            Refusal.REVOKED,
        )
    if ended := end_of(certificate):
        raise Refused(f"{what} {ended}", Refusal.CERTIFICATE)


def end_of(certificate: x509.Certificate) -> str:
    """Return when a certificate has ended, in words; empty if it has not."""
    end = certificate.not_valid_after_utc
    if datetime.now(UTC) <= end:
        return ""
    return f"expired on {end:%Y-%m-%d %H:%M} UTC"


async def certificate_of_peer(
    name: str, address: str, mine: Credentials
) -> x509.Certificate:
    """Return the certificate of a node that this one dials.

    Parameters
    ----------
    name : str
        The node's name, which the certificate must carry.
    address : str
        Its address, as "host:port".
    mine : Credentials
        This node's own, with the authorities that may vouch for the other one.

    Raises
    ------
    Refused
        If the certificate is another's, was revoked, or none of the authorities vouches
        for it.
    OSError
        If nobody answers.
    """
    reader, writer = await asyncio.open_connection(
        *split_address(address), happy_eyeballs_delay=_NEXT_ADDRESS
    )
    try:
        pem = await _shown(reader, writer, name, mine.authorities_pem)
    except ssl.SSLCertVerificationError as exc:
        with suppress(OSError):  # the other end is told why, by TLS
            await writer.drain()
            writer.close()
            await writer.wait_closed()
        has_ended = exc.verify_code == _HAS_EXPIRED
        meaning = DIALLING[
            "certificate has expired" if has_ended else "CERTIFICATE_VERIFY_FAILED"
        ]
        raise Refused(
            f"{name} cannot be reached at {address}: {meaning} "
            f"({excerpt(exc.verify_message)})",
            Refusal.CERTIFICATE,
        ) from exc
    finally:
        writer.transport.abort()
    what = f"{name} cannot be reached at {address}: its certificate"
    certificate = _loaded(pem.encode(), what)
    names = names_on(certificate, what)
    if name not in names:
        text = f"{what} is for {', '.join(names)}. Is the address right?"
        raise Refused(excerpt(text), Refusal.CERTIFICATE)
    check_standing(certificate, mine, what)
    return certificate


async def _shown(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    name: str,
    authorities_pem: bytes,
) -> str:
    """Return the certificate of a handshake that ends before this node shows one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False  # the names are read afterwards, more strictly
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # as gRPC does
    authorities = x509.load_pem_x509_certificates(authorities_pem)
    # As DER, since text between them may be in any encoding.
    context.load_verify_locations(
        cadata=b"".join(one.public_bytes(Encoding.DER) for one in authorities)
    )
    context.set_alpn_protocols(["h2"])
    received, to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(received, to_send, server_hostname=name)
    while True:
        try:
            tls.do_handshake()
            break
        except ssl.SSLWantReadError:
            writer.write(to_send.read())
            data = await reader.read(_CHUNK)
        except ssl.SSLError:
            writer.write(to_send.read())
            raise
        if not data:
            raise ProtocolError("it hung up")
        received.write(data)
    der = tls.getpeercert(binary_form=True)
    assert der is not None  # or the handshake had failed
    return ssl.DER_cert_to_PEM_cert(der)


def _loaded(pem: bytes, what: str) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(pem)
    except (ValueError, x509.InvalidVersion) as exc:
        text = f"{what} cannot be read: {exc}"
        raise Refused(excerpt(text), Refusal.CERTIFICATE) from exc
