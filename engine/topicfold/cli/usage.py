"""What may have been meant by a command line that cannot be: said better than the parser does."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import typer

_LIKENESS = 0.75
_LEAST_HELD = 5
"""Characters of what is taken for a part of an option: shorter ones are in many."""
_CALLED_ELSEWHERE: Mapping[str, str] = {"--json": "-o json", "--yaml": "-o yaml", "--format": "--output"}

_SELECTOR_OPTIONS = ("-l", "--selector")
_LOOKS: Mapping[str, re.Pattern[str]] = {
    "selector": re.compile(r"!?[^=]+=.+|!.+|.+ (not)?in ?\(.*"),
    "namespaces": re.compile(r"[^/=\s]+/[^/=\s]+"),
    "match": re.compile(r"(?!\*$)[^/\s]*\*[^/\s]*"),  # A star alone is all namespaces.
    "bootstrap": re.compile(r"\S+:\d+"),
    "labels": re.compile(r"[^=:]+[=:].+"),
    "keys": re.compile(r".+"),
}
"""How values look of options that are easily forgotten, by parameter. One of which there is one holds several."""


_FOUND: Mapping[str, str] = {
    "bootstrap": "; it names brokers of the Kafka cluster, as --kafka or --cluster-bootstrap of 'topicfold serve' does",
    "to": "; the versions are in 'topicfold history TOPIC', or 'topicfold namespaces history NAMESPACE'",
}
"""Where a value is found of options that are required, by parameter."""


def say_more(error: typer.TyperException, ctx: typer.Context) -> None:
    """Have an error of the parser know its command, whose help tells more, and offer what may be meant by an option."""
    error.ctx = ctx  # type: ignore[attr-defined]  # the parser leaves it out where an option lacks its value
    if hasattr(error, "possibilities"):
        shown = [each for each in ctx.command.params if not getattr(each, "hidden", False)]
        error.possibilities = _near(error.option_name, [name for each in shown for name in each.opts])  # type: ignore[attr-defined]


def said_of_names(error: typer.TyperException) -> str:
    """Return the end of a hint: how a name is written that was taken for an option, where the command takes names."""
    option, context = getattr(error, "option_name", ""), getattr(error, "ctx", None)
    if not hasattr(error, "possibilities") or option.startswith("--") or context is None:
        return ""
    takes_names = any(each.param_type_name == "argument" for each in context.command.params)
    return "; put -- before a name that begins with -" if takes_names else ""


def said_of_argument(error: typer.TyperException) -> str:
    """Return the end of a hint: how a command that has no selector takes it, or the topics that it finds; else "".

    `explain` takes alone what is behind -l everywhere else; others take one topic.
    """
    option, context = getattr(error, "option_name", ""), getattr(error, "ctx", None)
    if not hasattr(error, "possibilities") or option not in _SELECTOR_OPTIONS or context is None:
        return ""
    taken = {each.name for each in context.command.params}
    if "selector" in taken:
        return f"; write the selector without {option}"
    return f"; it takes one topic, 'topicfold topics list {option} SELECTOR' finds some" if "topic" in taken else ""


def said_of_missing(error: typer.TyperException) -> str:
    """Return the end of a hint: where a value is found that was left out."""
    name = getattr(getattr(error, "param", None), "name", "") if hasattr(error, "param_type") else ""
    return _FOUND.get(name, "")


def require_no_value_astray(ctx: typer.Context, given: Mapping[str, Any], astray: Sequence[Any]) -> None:
    """Return unless a value stands alone that looks like those of an option, or belongs to one that is required.

    `given` is what else is there, by name. What was taken for a namespace and cannot be one stands alone, too.

    Raises:
        BadParameter: it does; says how it is written.
    """
    place = given.get("namespace")
    alone = [*([place] if isinstance(place, str) and "/" not in place else []), *astray]
    options = [each for each in ctx.command.params if each.param_type_name == "option"]
    arguments: list[Any] = [each for each in ctx.command.params if each.param_type_name == "argument"]
    for param in arguments:
        if param.name == "selector" and astray and all(_LOOKS["selector"].fullmatch(str(each)) for each in astray):
            whole = shlex.quote(",".join([given["selector"], *astray]))
            raise typer.BadParameter(f"it is more than one; write {whole}", ctx, param)
    for param in options:
        looks = _LOOKS.get(param.name or "")
        if looks and (values := [value for value in alone if looks.fullmatch(str(value))]):
            raise _astray(ctx, param, given, values)
    for param in options:
        if param.required and param.name not in given and param.name not in _LOOKS and astray:
            raise _astray(ctx, param, given, astray)


def _astray(ctx: typer.Context, param: Any, given: Mapping[str, Any], values: Sequence[Any]) -> typer.BadParameter:
    """Return the error that says how `values` of an option are written."""
    if not getattr(param, "multiple", False):
        before = [given[param.name]] if param.name in given else []
        values = [",".join(map(str, [*before, *values]))] if param.name in _LOOKS else values[:1]
    option = max(param.opts, key=len)
    written = " ".join(f"{option} {shlex.quote(str(value))}" for value in values)
    what = "it is missing" if param.required and param.name not in given else "it stands alone"
    return typer.BadParameter(f"{what}; write {written}", ctx, param)  # Typer's


def _near(option: str, options: Sequence[str]) -> list[str]:
    """Return what may be meant by an option that there is not: what holds it, or what is spelled nearly so.

    >>> _near("--label", ["--custom-labels", "--label-selector", "--url"])
    ['--custom-labels', '--label-selector']
    >>> _near("--sort", ["--color", "--selector", "-ist"]), _near("--selectr", ["--selector"]), _near("--json", [])
    ([], ['--selector'], ['-o json'])
    """
    if option in _CALLED_ELSEWHERE:
        return [_CALLED_ELSEWHERE[option]]
    if not option.startswith("--"):
        return []
    long = [each for each in options if each.startswith("--")]
    holding = [each for each in long if len(option) >= _LEAST_HELD and option[2:] in each]
    return holding or get_close_matches(option, long, cutoff=_LIKENESS)
