"""Whose certificate it is at the other end of a connection.

gRPC reads the names in a certificate more generously than a node may: it ends a name
at a NUL byte, and the end that dials also takes wildcards, upper case, a dot at the
end, or a common name alone. So nodes read the certificate themselves.

How this works. gRPC shows the certificate to the end that answers, but not to the end
that dials. That one begins a TLS handshake of its own, reads the certificate there, and
hangs up; then gRPC dials and trusts that one certificate alone. Whoever shows another
node's certificate at first does not have its key, and gets no further.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable, Mapping
from contextlib import suppress

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from dssfn.certificate_names import names_in
from dssfn.errors import IdentityError, ProtocolError
from dssfn.federation import split_address
from dssfn.transports.grpc.refusals import Refusal, Refused
from dssfn.transports.grpc.troubles import DIALLING
from dssfn.transports.grpc.wire import excerpt

_CHUNK = 65536  # bytes
_NEXT_ADDRESS = 0.25  # seconds before the next of a host's addresses is tried


def names_of_peer(auth_context: Mapping[str, Iterable[bytes]]) -> list[str]:
    """Return the names on the certificate of a node that dials this one.

    Parameters
    ----------
    auth_context : mapping
        What gRPC knows of the other end.

    Raises
    ------
    Refused
        If it shows no certificate, or one with names that no node may have.
    """
    for pem in auth_context.get("x509_pem_cert", ()):
        return _names(pem.decode(), "its certificate")
    raise Refused("it shows no certificate", Refusal.CERTIFICATE)


async def certificate_of_peer(name: str, address: str, authorities_pem: bytes) -> bytes:
    """Return the certificate of a node that this one dials, as PEM.

    Parameters
    ----------
    name : str
        The node's name, which the certificate must carry.
    address : str
        Its address, as "host:port".
    authorities_pem : bytes
        The certificates of the authorities that may vouch for it.

    Raises
    ------
    Refused
        If the certificate is another's, or none of the authorities vouches for it.
    OSError
        If nobody answers.
    """
    reader, writer = await asyncio.open_connection(
        *split_address(address), happy_eyeballs_delay=_NEXT_ADDRESS
    )
    try:
        pem = await _shown(reader, writer, name, authorities_pem)
    except ssl.SSLCertVerificationError as exc:
        with suppress(OSError):  # the other end is told why, by TLS
            await writer.drain()
            writer.close()
            await writer.wait_closed()
        meaning = DIALLING["CERTIFICATE_VERIFY_FAILED"]
        raise Refused(
            f"{name} cannot be reached at {address}: {meaning} "
            f"({excerpt(exc.verify_message)})",
            Refusal.CERTIFICATE,
        ) from exc
    finally:
        writer.transport.abort()
    what = f"{name} cannot be reached at {address}: its certificate"
    names = _names(pem, what)
    if name not in names:
        text = f"{what} is for {', '.join(names)}. Is the address right?"
        raise Refused(excerpt(text), Refusal.CERTIFICATE)
    return pem.encode()


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


def _names(pem: str, what: str) -> list[str]:
    try:
        return names_in(x509.load_pem_x509_certificate(pem.encode()), what)
    except (IdentityError, ValueError) as exc:
        raise Refused(excerpt(str(exc)), Refusal.CERTIFICATE) from exc
