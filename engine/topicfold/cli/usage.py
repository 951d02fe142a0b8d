"""What may have been meant by a command line that cannot be: said better than the parser does."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
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
}
"""How values look of options that are easily forgotten, by parameter."""


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
    """Return the end of a hint: that the command takes alone what is behind this option in others, "" if it does not.

    So `explain` takes the selector, which is behind -l everywhere else.
    """
    option, context = getattr(error, "option_name", ""), getattr(error, "ctx", None)
    if not hasattr(error, "possibilities") or option not in _SELECTOR_OPTIONS or context is None:
        return ""
    takes_selector = any(each.name == "selector" for each in context.command.params)
    return f"; write the selector without {option}" if takes_selector else ""


def require_no_value_astray(ctx: typer.Context, given: Collection[str], astray: Sequence[Any]) -> None:
    """Return unless a value stands alone that belongs to an option which is required, or whose values look like it.

    `given` are the names of what else is there.

    Raises:
        BadParameter: it does; says how it is written.
    """
    absent = [each for each in ctx.command.params if each.param_type_name == "option" and each.name not in given]
    for param in absent:
        looks = _LOOKS.get(param.name or "")
        alone = astray if param.required else [value for value in astray if looks and looks.fullmatch(str(value))]
        if alone:
            option, values = max(param.opts, key=len), alone if getattr(param, "multiple", False) else alone[:1]
            written = " ".join(f"{option} {shlex.quote(str(value))}" for value in values)
            what = "it is missing" if param.required else "it stands alone"
            raise typer.BadParameter(f"{what}; write {written}", ctx, param)  # type: ignore[arg-type]  # Typer's


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
