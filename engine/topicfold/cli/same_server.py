"""Commands to be typed next ask the server that this one asked: where flags named it, they name it again."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from topicfold.cli.config import ASKING, FLAG, Config, flag_of

_WHICH = frozenset({"url", "tls_ca_file"})
_SECRET = frozenset({"token"})
_WAITING = frozenset({"timeout_seconds"})
# Those that ask a server, but for what names its server already.
_COMMAND = re.compile(
    r"\btopicfold (?=(?:tenants|namespaces|topics|topicPolicies|clusters|policies|operations|history|explain"
    r"|import|doctor)\b(?!.* --url\b))"
)


def server_flags(config: Config, left_out: Iterable[str] = _SECRET) -> list[str]:
    """Return the flags that said which server is asked, as whom, and for how long, to be given again.

    What a variable or the file said holds for the next command by itself. `left_out` is a token: it is never shown.
    """
    settings = {name: config.settings[name] for name in ASKING if name not in left_out}
    return [word for name, each in settings.items() if each.origin == FLAG for word in (flag_of(name), str(each.value))]


def on_the_same_server(hint: str, config: Config, *, is_for_others: bool = False) -> str:
    """Return `hint` with each command in it asking the same server; one `is_for_others` does so as whoever types it."""
    others = frozenset(ASKING) - _WHICH if is_for_others else _WAITING
    flags = server_flags(config, _SECRET | others)
    return _COMMAND.sub(lambda found: f"{found[0]}{shlex.join(flags)} ", hint) if flags else hint
