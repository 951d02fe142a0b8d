"""A certificate authority for tests: it signs servers and clients, and writes what TLS wants to read."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

LOOPBACK = (x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1")))
DAY = timedelta(days=1)


class Authority:
    """Signs certificates; its own is in `file`."""

    def __init__(self, directory: Path, name: str = "authority") -> None:
        self._directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(name)
        basic = x509.BasicConstraints(ca=True, path_length=0)
        # Since Python 3.13 TLS asks for all that RFC 5280 does.
        signs = x509.KeyUsage(
            key_cert_sign=True, crl_sign=True, digital_signature=False, content_commitment=False,
            key_encipherment=False, data_encipherment=False, key_agreement=False, encipher_only=False,
            decipher_only=False,
        )  # fmt: skip
        itself = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        made = _certificate(self._name, self._name, self._key).add_extension(basic, critical=True)
        made = made.add_extension(signs, critical=True).add_extension(itself, critical=False)
        self.file = directory / f"{name}.pem"
        self.file.write_bytes(made.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM))

    def sign(
        self, common_name: str, names: Sequence[x509.GeneralName] = (), ends: timedelta = DAY
    ) -> tuple[Path, Path]:
        """Return the files of a certificate that lasts until `ends` from now, and of its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        made = _certificate(_named(common_name), self._name, key, ends).add_extension(issuer, critical=False)
        if names:
            made = made.add_extension(x509.SubjectAlternativeName(names), critical=False)
        stem = f"{self.file.stem}-{common_name or 'nobody'}"
        certificate, private = self._directory / f"{stem}.pem", self._directory / f"{stem}.key"
        certificate.write_bytes(made.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM))
        private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return certificate, private

    def trusting(self, client: tuple[Path, Path] | None = None) -> ssl.SSLContext:
        """Return how a client that trusts this authority speaks TLS, with a certificate of its own or none."""
        context = ssl.create_default_context(cafile=str(self.file))
        if client is not None:
            context.load_cert_chain(*client)
        return context


def _named(common_name: str) -> x509.Name:
    organization = x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Tests")
    named = [x509.NameAttribute(NameOID.COMMON_NAME, common_name)] if common_name else []
    return x509.Name([organization, *named])


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, ends: timedelta = DAY
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 2 * DAY)
        .not_valid_after(now + ends)
    )
