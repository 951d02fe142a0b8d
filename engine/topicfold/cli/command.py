"""How a function becomes a command: the options that all commands share, and the one place where errors end.

A command is a function of a `Session` and its own parameters. The shared options may stand before the command's name
too: `topicfold --url URL topics list` is `topicfold topics list --url URL`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Annotated, Any

import typer

from topicfold.cli.config import ColorMode, OutputFormat, resolve_config
from topicfold.cli.exit_codes import EXIT_CODES_HELP, exit_code_of
from topicfold.cli.next_step import next_step
from topicfold.cli.output import Output
from topicfold.cli.session import Session
from topicfold.errors import BadSetting, TopicfoldError

CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"]}


def _keyword_only(function: Callable[..., None]) -> list[inspect.Parameter]:
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    return [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]


def shared_options(
    url: Annotated[str | None, typer.Option(help="URL of the server.", metavar="URL")] = None,
    output: Annotated[OutputFormat | None, typer.Option("--output", "-o", help="How to print data.")] = None,
    timeout_seconds: Annotated[float | None, typer.Option(help="Time for each call.", metavar="SECONDS")] = None,
    color: Annotated[ColorMode | None, typer.Option(help="Whether to colour.")] = None,
    quiet: Annotated[bool | None, typer.Option("--quiet", "-q", help="Print data and failures only.")] = None,
    progress: Annotated[bool | None, typer.Option("--progress/--no-progress", help="Show progress.")] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an unexpected error.")] = False,
) -> None:
    """Hold the options that every command takes; `debug` is looked at in `main`."""


def creation_options(
    reason: Annotated[str | None, typer.Option(help="Why, for the topic's history.", metavar="TEXT")] = None,
    idempotency_key: Annotated[str | None, typer.Option(help="Applied once for a key.", metavar="KEY")] = None,
) -> None:
    """Hold the options that every command which makes or changes something takes."""


def precondition_option(
    if_match: Annotated[str | None, typer.Option(help="Only if this is the current version.", metavar="ETAG")] = None,
) -> None:
    """Hold the option of commands that change what is there."""


SHARED_OPTIONS = _keyword_only(shared_options)
CREATION_OPTIONS = _keyword_only(creation_options)
CHANGE_OPTIONS = [*CREATION_OPTIONS, *_keyword_only(precondition_option)]


def new_app(help_text: str = "", *, has_completion: bool = False) -> typer.Typer:
    """Return an empty group of commands. Plain help: rich would cost as much as all the rest of `--help`."""
    group = typer.Typer(
        help=help_text,
        add_completion=has_completion,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=CONTEXT_SETTINGS,
        epilog=EXIT_CODES_HELP,
    )
    # Without a callback, Typer takes a group of one command for that command.
    group.callback()(lambda: None)
    return group


def command(
    app: typer.Typer, name: str, options: Sequence[inspect.Parameter] = (), *, hidden: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds a function of a Session and own parameters to `app`; its docstring is the help.

    `options` are `CREATION_OPTIONS` or `CHANGE_OPTIONS`, which the function finds in `Session.changes`.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        own = [parameter for parameter in _keyword_only(function) if parameter.annotation is not Session]
        added = [*options, *SHARED_OPTIONS]

        @wraps(function)
        def run(ctx: typer.Context, **given: Any) -> None:
            flags = {parameter.name: given.pop(parameter.name) for parameter in added}
            _run(function, ctx, flags, given)

        context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
        run.__signature__ = inspect.Signature([context, *own, *added])  # type: ignore[attr-defined]
        app.command(name, hidden=hidden, epilog=EXIT_CODES_HELP, context_settings=CONTEXT_SETTINGS)(run)
        return function

    return register


def flags_of(ctx: typer.Context) -> dict[str, Any]:
    """Return the shared options that stand before the command's name."""
    return {name: value for name, value in ctx.find_root().params.items() if value is not None}


def _run(function: Callable[..., None], ctx: typer.Context, flags: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Run a command; print what it fails with.

    Raises:
        Exit: with the code of the failure.
    """
    merged = flags_of(ctx) | {name: value for name, value in flags.items() if value is not None}
    try:
        config = resolve_config(merged)
    except BadSetting as error:
        Output(OutputFormat.TABLE, ColorMode.AUTO, is_quiet=False).failure(error.reason, error.hint)
        raise typer.Exit(exit_code_of(error)) from None
    output = Output(config["output"], config["color"], config["quiet"])
    session = Session(
        config,
        output,
        {
            "reason": flags.get("reason"),
            "if_match": flags.get("if_match"),
            "idempotency_key": flags.get("idempotency_key"),
        },
    )
    try:
        function(session, **given)
    except TopicfoldError as error:
        output.failure(error.reason, next_step(error, given))
        raise typer.Exit(exit_code_of(error)) from None
    finally:
        session.close()
