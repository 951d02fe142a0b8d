"""Options of a policy's commands: what the command line takes for them, and the JSON value that they state together.

Each option is checked by itself, as the policy's kind has it, so that what is wrong is said of the option and not of
a member of JSON. What concerns several of them is the server's to check.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, assert_never

import typer

from topicfold.cli.arguments import read_words
from topicfold.cli.units import in_whole, read_bytes, read_seconds
from topicfold.errors import InvalidRequest
from topicfold.model.policy.options import Option, Unit
from topicfold.model.policy.values import Decimal, Kind, ListOf, MapOf, Number, Shape, plain_value, read_value

_METAVARS: Mapping[Unit, str] = {
    Unit.SECONDS: "TIME", Unit.MINUTES: "TIME", Unit.MILLISECONDS: "TIME", Unit.BYTES: "SIZE", Unit.MEBIBYTES: "SIZE",
    Unit.LIST: "A,B", Unit.CONSTANT: "WORD",
}  # fmt: skip

Given = Mapping[str, Any]
"""What a command was given, by the names that its parameters have in Python."""


def parameter(option: Option, kind: Kind) -> inspect.Parameter:
    """Return the parameter that takes `option`; a text, for what stands in it is read later."""
    taken: Any = str
    metavar: str | None = _METAVARS.get(option.unit)
    default: Any = inspect.Parameter.empty
    if option.unit in (Unit.TRUE, Unit.FALSE):
        taken, default = bool, False
    elif option.unit is Unit.LIST:
        taken = list[str]
    elif not option.is_required:
        taken, default = str | None, option.default or None
    if option.unit is Unit.PLAIN:
        metavar = "N" if isinstance(_kind_of(kind, option), Number | Decimal) else "TEXT"
    told = typer.Option(*option.flags, metavar=metavar, help=option.help)
    return inspect.Parameter(
        parameter_name(option), inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[taken, told]
    )


def stated_value(options: Sequence[Option], kind: Kind, given: Given) -> Any:
    """Return the JSON value of this kind that the options of a command state.

    Raises:
        InvalidRequest: an option's text is not what it takes, or two of them contradict each other.
        InvalidPolicy: an option's value is not one that the policy takes.
    """
    stated = dict(_members(options, kind, given))
    return stated if isinstance(_entry(kind), Shape) else stated[""]


def parameter_name(option: Option) -> str:
    """Return the name in Python of the parameter that takes `option`."""
    return option.flags[0].lstrip("-").replace("-", "_")


def _members(options: Sequence[Option], kind: Kind, given: Given) -> Iterator[tuple[str, Any]]:
    """Yield each member that is stated, with its value."""
    partners = {option.member: option for option in options if option.unit is Unit.FALSE}
    for option in options:
        found = given[parameter_name(option)]
        if option.unit is Unit.FALSE:
            continue
        if option.unit is Unit.TRUE:
            partner = partners.get(option.member)
            if partner is not None and given[parameter_name(partner)] == found:
                raise InvalidRequest(f"expected either {option.flags[0]} or {partner.flags[0]}")
            yield option.member, found
        elif found is not None:
            yield option.member, _converted(option, found, kind)


def _converted(option: Option, found: Any, kind: Kind) -> Any:
    """Return the value that the text of `option` stands for."""
    name, kind = option.flags[0], _kind_of(kind, option)
    match option.unit:
        case Unit.PLAIN:
            value = found
        case Unit.SECONDS:
            value = read_seconds(found, name)
        case Unit.MINUTES:
            value = in_whole(read_seconds(found, name), 60, found, name, "minute")
        case Unit.MILLISECONDS:
            # Of -1, too, as Pulsar's own command does: what is below zero is no limit, whatever it is.
            value = read_seconds(found, name) * 1000
        case Unit.BYTES:
            value = read_bytes(found, name)
        case Unit.MEBIBYTES:
            value = in_whole(read_bytes(found, name), 1 << 20, found, name, "mebibyte")
        case Unit.LIST:
            item = kind.item if isinstance(kind, ListOf) else kind
            value = [read_value(item, word, name) for word in read_words(found)]
        case Unit.CONSTANT:
            value = found.upper().replace("-", "_")
        case Unit.TRUE | Unit.FALSE:
            raise TypeError(f"{name} takes no value")
        case _:
            assert_never(option.unit)
    return plain_value(read_value(kind, value, name))


def _entry(kind: Kind) -> Kind:
    """Return the kind of what one command states: of a map, one of its entries."""
    return kind.value if isinstance(kind, MapOf) else kind


def _kind_of(kind: Kind, option: Option) -> Kind:
    shape = _entry(kind)
    if not isinstance(shape, Shape):
        return shape
    return next(member.kind for member in shape.members if member.name == option.member)
