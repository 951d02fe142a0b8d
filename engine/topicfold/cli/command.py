"""How a function becomes a command: the options that all commands share, and the one place where errors end.

A command is a function of a `Session` and its own parameters. The shared options may stand before the command's name
too: `topicfold --url URL topics list` is `topicfold topics list --url URL`.
"""

from __future__ import annotations

import inspect
import os
import secrets
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer
from typer.core import TyperCommand, TyperGroup

from topicfold.cli.config import (
    ASKING,
    ColorMode,
    OutputFormat,
    require_none_asked,
    resolve_config,
    unknown_variables,
)
from topicfold.cli.exit_codes import EXIT_CODES_HELP, exit_code_of
from topicfold.cli.next_step import next_step, said_here
from topicfold.cli.output import Output, plain_output
from topicfold.cli.same_server import on_the_same_server
from topicfold.cli.service_links import forget_service_links
from topicfold.cli.session import Session
from topicfold.cli.usage import require_no_value_astray, say_more
from topicfold.errors import BadSetting, Forbidden, TopicfoldError
from topicfold.model.kafka.brokers import wrong_with_brokers

if TYPE_CHECKING:
    from topicfold.client.call import ChangeOptions

_HELP_IS_GONE = "There is no help here: with PYTHONOPTIMIZE=2 or -OO, Python leaves it out."
CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"]}

_BROKER = "HOST:PORT"
_PLACES = frozenset({"DIR", "FILE", "FILE|DIR|-", _BROKER, "GROUP", "URL", "ETAG", "KEY", "NAMESPACE"})
"""Metavars of what is never empty: a shell's variable that is not set is no name for the directory one is in, nor for
the version that is there.
"""


class _Command(TyperCommand):
    """A command whose places are named, or not given."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]  # Typer gives its own contexts
        """Read the arguments.

        Raises:
            BadParameter: a place is the empty text, or that of a broker is a URL.
        """
        try:
            texts, astray, _ = self.make_parser(ctx).parse_args(list(args))
        except typer.TyperException as error:
            say_more(error, ctx)
            raise
        if not ctx.resilient_parsing:
            require_no_value_astray(ctx, texts, astray)
        for param in self.params:
            metavar = getattr(param, "metavar", None)
            given = texts.get(param.name) if metavar in _PLACES else None
            if wrong := _wrong_with(metavar, [given] if isinstance(given, str) else given or ()):
                raise typer.BadParameter(wrong, ctx, param)  # type: ignore[arg-type]  # Typer's
        return super().parse_args(ctx, args)


def _wrong_with(metavar: str | None, places: Iterable[str]) -> str:
    """Return what is wrong with the places that were given, "" where nothing is."""
    for place in map(str.strip, places):
        if not place:
            return "it must not be empty"
        if metavar == _BROKER and (wrong := wrong_with_brokers(place)):
            return wrong
    return ""


def _keyword_only(function: Callable[..., None]) -> list[inspect.Parameter]:
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    return [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]


def _hidden(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return an option that is taken, and that no help shows."""
    kind, option = get_args(parameter.annotation)
    hidden = copy(option)
    hidden.hidden = True
    return parameter.replace(annotation=Annotated[kind, hidden])


def shared_options(
    url: Annotated[str | None, typer.Option(help="URL of the server, or URL,URL of nodes.", metavar="URL")] = None,
    token: Annotated[str | None, typer.Option(help="Token to authenticate with.", metavar="TOKEN")] = None,
    token_file: Annotated[str | None, typer.Option(help="File that holds the token.", metavar="FILE")] = None,
    tls_ca_file: Annotated[str | None, typer.Option(help="CA of the server's certificate.", metavar="FILE")] = None,
    client_cert_file: Annotated[str | None, typer.Option(help="Client certificate.", metavar="FILE")] = None,
    client_key_file: Annotated[
        str | None, typer.Option(help="Private key of the client certificate.", metavar="FILE")
    ] = None,
    output: Annotated[OutputFormat | None, typer.Option("--output", "-o", help="How to print data.")] = None,
    timeout_seconds: Annotated[float | None, typer.Option(help="Time for each call.", metavar="SECONDS")] = None,
    color: Annotated[ColorMode | None, typer.Option(help="When to use colour.")] = None,
    quiet: Annotated[bool | None, typer.Option("--quiet", "-q", help="Print only data, warnings and failures.")] = None,
    progress: Annotated[bool | None, typer.Option("--progress/--no-progress", help="Show progress.")] = None,
    debug: Annotated[bool | None, typer.Option("--debug", help="Show the traceback of an error.")] = None,
) -> None:
    """Hold the options that every command takes; `debug` is looked at in `main`, too, for errors that are not ours."""


def reason_option(
    reason: Annotated[
        str | None, typer.Option(help="Reason; recorded in the log with the change.", metavar="TEXT")
    ] = None,
) -> None:
    """Hold the option of commands that make many changes, or have a key of their own for each."""


def key_option(
    idempotency_key: Annotated[
        str | None, typer.Option(help="Apply the change only once for this key.", metavar="KEY")
    ] = None,
) -> None:
    """Hold the option of commands that make one change."""


def precondition_option(
    if_match: Annotated[
        str | None, typer.Option(help="Apply only if this is the current version.", metavar="ETAG")
    ] = None,
) -> None:
    """Hold the option of commands that change what is there."""


SHARED_OPTIONS = _keyword_only(shared_options)
REASON_OPTION = _keyword_only(reason_option)
LOCAL_OPTIONS = [_hidden(each) if each.name in ASKING else each for each in SHARED_OPTIONS]
CREATION_OPTIONS = [*REASON_OPTION, *_keyword_only(key_option)]
CHANGE_OPTIONS = [*CREATION_OPTIONS, *_keyword_only(precondition_option)]


def new_app(help_text: str = "", *, has_completion: bool = False, group: type[TyperGroup] = TyperGroup) -> typer.Typer:
    """Return an empty group of commands. Plain help: rich would cost as much as all the rest of `--help`."""
    app = typer.Typer(
        help=help_text,
        add_completion=has_completion,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=CONTEXT_SETTINGS,
        epilog=EXIT_CODES_HELP,
    )
    # Without a callback, Typer takes a group of one command for that command.
    app.callback(cls=group, invoke_without_command=True)(_help_alone)
    return app


def _help_alone(ctx: typer.Context) -> None:
    """Print a group's help where none of its commands is named."""
    if ctx.invoked_subcommand is None:
        sys.stdout.write(f"{ctx.get_help()}\n")


def command(
    app: typer.Typer, name: str, options: Sequence[inspect.Parameter] = (), *, hidden: bool = False, instead: str = ""
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds a function of a Session and own parameters to `app`; its docstring is the help.

    `options` are `REASON_OPTION`, `CREATION_OPTIONS` or `CHANGE_OPTIONS`, which the function finds in
    `Session.changes`. A parameter of its own takes the place of a shared option of the same name. A command that asks
    no server says what to give `instead` of the options that are about one.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        own = [parameter for parameter in _keyword_only(function) if parameter.annotation is not Session]
        taken = {parameter.name for parameter in own}
        shared = LOCAL_OPTIONS if instead else SHARED_OPTIONS
        added = [*options, *(parameter for parameter in shared if parameter.name not in taken)]

        @wraps(function)
        def run(ctx: typer.Context, **given: Any) -> None:
            flags = {parameter.name: given.pop(parameter.name) for parameter in added}
            _run(function, ctx, flags, given, instead)

        context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
        run.__signature__ = inspect.Signature([context, *own, *added])  # type: ignore[attr-defined]  # Typer reads it
        run.__doc__ = function.__doc__ or _HELP_IS_GONE
        app.command(name, cls=_Command, hidden=hidden, epilog=EXIT_CODES_HELP, context_settings=CONTEXT_SETTINGS)(run)
        return function

    return register


def with_parameters(
    function: Callable[..., None], parameters: Sequence[inspect.Parameter], help_text: str, example: str
) -> Callable[..., None]:
    """Return a function of a `session` and `**given` with the parameters and the help of a command.

    `example` is what follows the program's name.
    """
    session = inspect.Parameter("session", inspect.Parameter.KEYWORD_ONLY, annotation=Session)
    function.__signature__ = inspect.Signature([session, *parameters])  # type: ignore[attr-defined]  # Typer reads it
    function.__doc__ = f"{help_text}\n\n\b\nExample:\n  topicfold {example}"
    return function


def flags_of(ctx: typer.Context) -> dict[str, Any]:
    """Return the shared options that stand before the command's name."""
    return {name: value for name, value in ctx.find_root().params.items() if value is not None}


def _run(
    function: Callable[..., None], ctx: typer.Context, flags: Mapping[str, Any], given: Mapping[str, Any], instead: str
) -> None:
    """Run a command; print what it fails with.

    Raises:
        Exit: with the code of the failure.
    """
    forget_service_links(os.environ)
    merged = flags_of(ctx) | {name: value for name, value in flags.items() if value is not None}
    try:
        config = resolve_config(merged)
    except BadSetting as error:
        plain_output().failure(error.reason, error.hint)
        raise typer.Exit(exit_code_of(error)) from None
    output = Output(config["output"], config["color"], config["quiet"])
    for warning in unknown_variables(os.environ):
        output.warning(warning)
    session = Session(config, output, _changes(flags))
    command_name = ctx.command_path.partition(" ")[2]

    def hint_at(error: TopicfoldError) -> str:
        return next_step(error, command_name, {**given, "if_match": session.changes.get("if_match")})

    try:
        if instead:
            require_none_asked(config, instead)
        function(session, **given)
        session.warn_if_stale()
    except TopicfoldError as error:
        if merged.get("debug"):
            import traceback

            traceback.print_exception(error)
        hint = hint_at(error)
        is_for_others = isinstance(error, Forbidden)
        output.failure(said_here(error.reason), on_the_same_server(hint, config, is_for_others=is_for_others))
        raise typer.Exit(exit_code_of(error)) from None
    except KeyboardInterrupt:
        if key := session.changes.get("idempotency_key"):
            from topicfold.client.errors import AnswerLost

            lost = AnswerLost("interrupted; the change may or may not be applied", url="", idempotency_key=key)
            output.failure(lost.reason, hint_at(lost))
        raise
    finally:
        session.close()


def _changes(flags: Mapping[str, Any]) -> ChangeOptions:
    """Return the options of a change, nothing for a read. The key is made up here, so that an interrupt can name it."""
    if "reason" not in flags:
        return {}
    if "idempotency_key" not in flags:
        return {"reason": flags["reason"]}
    key = flags["idempotency_key"]
    return {
        "reason": flags["reason"],
        "if_match": flags.get("if_match"),
        "idempotency_key": secrets.token_hex(16) if key is None else key,
    }
