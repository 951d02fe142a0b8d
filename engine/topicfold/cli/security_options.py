"""Options of `topicfold serve` that say who may come in, and how TLS is spoken; each is the setting of its name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

Issuer = Annotated[str | None, typer.Option(metavar="TEXT", help="Required issuer of a token (claim iss).")]
Audience = Annotated[str | None, typer.Option(metavar="TEXT", help="Required audience of a token (claim aud).")]
RoleClaim = Annotated[
    str | None, typer.Option(metavar="CLAIM", help="Claim of a token that names the role (default sub).")
]
JwksUrl = Annotated[
    str | None,
    typer.Option(metavar="URL", help="URL of the key set that verifies tokens: https, or http on this machine."),
]
JwtKeyFile = Annotated[
    str | None, typer.Option(metavar="FILE", help="File with such a key set, or with public keys in PEM.")
]
AcceptWithoutNbf = Annotated[
    bool | None,
    typer.Option("--auth-accept-without-nbf", help="Accept tokens without the claim nbf, such as Pulsar's."),
]
StaticTokensFile = Annotated[
    str | None, typer.Option(metavar="FILE", help="File with lines of TOKEN ROLE. For development only.")
]
Superusers = Annotated[str | None, typer.Option(metavar="ROLE,…", help="Roles that may do everything.")]
TlsCertFile = Annotated[str | None, typer.Option(metavar="FILE", help="Certificate chain of the server; turns on TLS.")]
TlsKeyFile = Annotated[
    str | None, typer.Option(metavar="FILE", help="Private key of that certificate, if in another file.")
]
TlsClientCaFile = Annotated[
    str | None, typer.Option(metavar="FILE", help="CA of clients' certificates, whose names are roles.")
]
Insecure = Annotated[
    bool | None, typer.Option("--insecure", help="Serve any address without authentication: anybody may do anything.")
]


def security_options(
    auth_jwks_url: JwksUrl = None,
    auth_jwt_key_file: JwtKeyFile = None,
    auth_issuer: Issuer = None,
    auth_audience: Audience = None,
    auth_role_claim: RoleClaim = None,
    auth_accept_without_nbf: AcceptWithoutNbf = None,
    auth_static_tokens_file: StaticTokensFile = None,
    superusers: Superusers = None,
    tls_cert_file: TlsCertFile = None,
    tls_key_file: TlsKeyFile = None,
    tls_client_ca_file: TlsClientCaFile = None,
    insecure: Insecure = None,
) -> None:
    """Hold the options."""


def with_security_options(function: Callable[..., None]) -> Callable[..., None]:
    """Return `function`, whose last parameter is `**security`, with the options in that place."""
    own = [each for each in _parameters(function) if each.kind is not inspect.Parameter.VAR_KEYWORD]
    added = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in _parameters(security_options)]
    function.__signature__ = inspect.Signature([*own, *added])  # type: ignore[attr-defined]  # Typer reads it
    return function


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(function, eval_str=True).parameters.values())
