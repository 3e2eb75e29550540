"""Signatures by the keys of certificates."""

from __future__ import annotations

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

from dssfn.node.verification import checked_kind

_HASH = hashes.SHA256()
_PADDING = padding.PSS(padding.MGF1(_HASH), padding.PSS.DIGEST_LENGTH)


def signature_of(key_pem: bytes, text: bytes) -> bytes:
    """Return the signature of a text by a private key, ECDSA or RSA."""
    key = serialization.load_pem_private_key(key_pem, password=None)
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return key.sign(text, ec.ECDSA(_HASH))
    assert isinstance(key, rsa.RSAPrivateKey)  # an identity has no other
    return key.sign(text, _PADDING, _HASH)


def is_signed_by(certificate: x509.Certificate, signature: bytes, text: bytes) -> bool:
    """Return whether a text was signed by the key of a certificate."""
    key = checked_kind(certificate.public_key(), "The key of the certificate")
    try:
        if isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, text, _PADDING, _HASH)
        else:
            key.verify(signature, text, ec.ECDSA(_HASH))
    except InvalidSignature:
        return False
    return True
