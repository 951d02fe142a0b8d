"""Query parameters: decoded strictly, with one meaning each; unknown ones are treated as each API wants."""

from __future__ import annotations

import re
from collections.abc import Collection
from difflib import get_close_matches
from urllib.parse import parse_qsl, unquote_to_bytes

from starlette.requests import Request

from topicfold.errors import InvalidRequest
from topicfold.model.labels import parse_pairs

MAX_PARAMETERS = 200
AUTHORITATIVE = "authoritative"
"""What a redirect adds (`ownership`), so every path takes it."""
LABEL_FILTERS = ("custom-labels", "custome-labels", "customLabels", "customeLabels")

Query = dict[str, list[str]]

_NONE: Query = {}


def query_of(request: Request, known: Collection[str] | None = None) -> Query:
    """Return the parameters, each with all its values. With `known`, no others are taken.

    Raises:
        InvalidRequest: not UTF-8, too many, or one that is not known.
    """
    raw = request.scope["query_string"]
    if not raw:
        return _NONE
    try:
        pairs = parse_qsl(raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_PARAMETERS)
    except ValueError as error:
        if isinstance(error, UnicodeError):
            raise InvalidRequest("query: not valid UTF-8") from None
        raise InvalidRequest(
            f"query: more than {MAX_PARAMETERS} parameters",
            hint="Ask several times, each for fewer namespaces or labels.",
        ) from None
    query: Query = {}
    for name, value in pairs:
        if known is not None and name not in known and name != AUTHORITATIVE:
            raise InvalidRequest(f"query parameter {name[:80]!r} is not known here", hint=_did_you_mean(name, known))
        query.setdefault(name, []).append(value)
    return query


def require_no_dry_run(request: Request) -> None:
    """Return unless `request`, a change, is under `/admin/v2` and only to be tried: there it would be made.

    Other parameters are passed over there, as Pulsar does.

    Raises:
        InvalidRequest: it is, in whichever spelling; or the query cannot be read.
    """
    scope = request.scope
    if b"dry" not in unquote_to_bytes(scope["query_string"]).lower() or not scope["path"].startswith("/admin/v2/"):
        return
    for name in query_of(request):
        if re.sub("[-_]", "", name.lower()) == "dryrun":
            raise InvalidRequest(
                f"query parameter {name[:80]!r}: there are no dry runs under /admin/v2",
                hint="PUT, PATCH or DELETE a topic, or PATCH a namespace, with dryRun=All under /api/v1;"
                " or leave it out to make the change.",
            )


def one(query: Query, name: str) -> str | None:
    """Return the value of a parameter that may be given once, None where it is not.

    Raises:
        InvalidRequest: it is given twice.
    """
    values = query.get(name)
    if values is None:
        return None
    if len(values) > 1:
        raise InvalidRequest(f"query parameter {name} is given {len(values)} times")
    return values[0]


def label_filter(query: Query) -> dict[str, str]:
    """Return the labels that a listing under `/admin/v2` asks for, in whichever spelling.

    Other parameters are passed over, as Pulsar does; but not one that means labels and is spelt wrong, for then the
    answer would be every topic.

    Raises:
        InvalidRequest: a text is not pairs of key and value, or a parameter is a misspelling.
    """
    for name in query:
        if "label" in name.lower() and name not in LABEL_FILTERS:
            raise InvalidRequest(f"query parameter {name[:80]!r} is not known here", hint="Did you mean custom-labels?")
    texts = [text for name in LABEL_FILTERS for text in query.get(name, ())]
    return parse_pairs(texts, LABEL_FILTERS[0])


def equalities(query: Query, name: str) -> dict[str, str]:
    """Return what parameters `name=key=value` want to be equal; a value is taken as it stands.

    Raises:
        InvalidRequest: one is no such pair, or a key is given two values.
    """
    wanted: dict[str, str] = {}
    for text in query.get(name, ()):
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise InvalidRequest(f"{name}: {text[:80]!r} is not key=value", hint=f"Write {name}=team=payments.")
        if wanted.setdefault(key, value) != value:
            raise InvalidRequest(f"{name}: no topic can have two values of {key!r}, {wanted[key]!r} and {value!r}")
    return wanted


def _did_you_mean(name: str, known: Collection[str]) -> str:
    near = get_close_matches(name, known, n=1)
    return f"Did you mean {near[0]}?" if near else f"Known are: {', '.join(sorted(known)) or 'none'}."
