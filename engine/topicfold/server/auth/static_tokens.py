"""Tokens written in a file, for development: each line is a token, a space, and the role of whoever sends it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from topicfold.errors import BadSetting, Unauthenticated
from topicfold.server.auth.principal import Principal, principal_with


def read_static_tokens(file: Path) -> Mapping[str, Principal]:
    """Return who each token in `file` stands for. Empty lines and comments, which begin with `#`, say nothing.

    Raises:
        BadSetting: the file cannot be read, or a line is not a token and a role; says which.
    """
    try:
        # Some editors begin a file with a byte order mark, which would be one with the first token.
        lines = [line.strip() for line in file.read_text(encoding="utf-8-sig").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise BadSetting(f"auth_static_tokens_file {file}: cannot be read: {error}") from None
    tokens: dict[str, Principal] = {}
    for number, line in enumerate(lines, 1):
        if not line or line.startswith("#"):
            continue
        token, _, role = line.partition(" ")
        try:
            principal = principal_with([role.strip()])
        except Unauthenticated:
            raise BadSetting(
                f"auth_static_tokens_file {file}: line {number} is not a token and a role", hint="Write: TOKEN ROLE"
            ) from None
        if tokens.setdefault(token, principal) != principal:
            raise BadSetting(f"auth_static_tokens_file {file}: line {number} gives a token a second role")
    if not tokens:
        raise BadSetting(f"auth_static_tokens_file {file}: holds no token", hint="Write a line: TOKEN ROLE")
    return tokens
