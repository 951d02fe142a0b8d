"""The command `topicfold`: all commands together, and the boundary where no traceback passes.

Nothing heavy is imported here: `--help` costs little more than Typer. A group of commands is imported when one of
them is asked for, and the client, the server or Kafka's library when a command runs.
"""

from __future__ import annotations

import errno
import inspect
import os
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Annotated, Any, TextIO

import typer
from typer.core import TyperGroup
from typer.main import get_command

from topicfold import __version__
from topicfold.cli import (
    compact,
    consume,
    copy,
    demo,
    doctor,
    enforce,
    explain,
    history,
    renew,
    serve,
    trim,
    version,
    watch,
)
from topicfold.cli.bash_words import whole_words
from topicfold.cli.command import CHANGE_OPTIONS, SHARED_OPTIONS, command, new_app
from topicfold.cli.exit_codes import ExitCode
from topicfold.cli.output import escape_what_stdout_cannot_take, plain_output
from topicfold.cli.usage import said_of_argument, said_of_missing, said_of_names
from topicfold.process.shortage import shortage_in

PROGRAM = "topicfold"

# Name, module and help of each group of commands.
_GROUPS: Mapping[str, tuple[str, str]] = {
    "topics": ("topicfold.cli.topics", "Create, find, label and delete topics."),
    "topicPolicies": ("topicfold.cli.topic_policies", "Get, set and remove policies of topics."),
    "namespaces": ("topicfold.cli.namespaces", "Create, list and delete namespaces; set their policies."),
    "tenants": ("topicfold.cli.tenants", "Create, change, list and delete tenants."),
    "clusters": ("topicfold.cli.clusters", "Register the clusters that topics may be copied to."),
    "policies": ("topicfold.cli.policies.files", "Keep labels and policies in files: export, diff, apply."),
    "operations": ("topicfold.cli.operations", "See whether a change was applied."),
    "import": ("topicfold.cli.import_kafka", "Adopt the topics of a Kafka cluster."),
    "report": ("topicfold.cli.report", "Report how labels are used."),
    "config": ("topicfold.cli.config_view", "See the settings in force, including a server's."),
}

_ORDER = (
    "serve", "demo", "import", "topics", "topicPolicies", "namespaces", "tenants", "clusters", "policies",
    "watch", "consume", "explain", "report", "history", "rollback", "operations", "enforce", "doctor", "config",
    "compact", "trim", "copy", "renew", "version",
)  # fmt: skip
"""Commands as help lists them: to begin with, for every day, then for whoever operates servers."""

_OTHER_NAMES: Mapping[str, str] = {"topic-policies": "topicPolicies"}

_MEANT: Mapping[str, str] = {
    "find": "topics list --help",
    "search": "topics list --help",
    "describe": "topics get --help",
    "show": "topics get --help",
    "label": "topics set-custom-labels --help",
    "tag": "topics set-custom-labels --help",
    "completion": "--show-completion",
}
"""Commands that there are not, and what to type instead."""

_UNWRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)

_HELP = """Labels and policies for Kafka topics.

\b
First steps:
  topicfold serve
  topicfold topics create orders
  topicfold topics set-custom-labels orders --labels team=pay,tier=gold
  topicfold topics list --custom-labels team:pay

Settings come from flags, then TOPICFOLD_URL, _TOKEN, _TOKEN_FILE, _TLS_CA_FILE, _CLIENT_CERT_FILE, _CLIENT_KEY_FILE,
_OUTPUT, _COLOR, _TIMEOUT_SECONDS, _QUIET and _PROGRESS, then the file topicfold/config.toml in the XDG configuration
directory (or the one TOPICFOLD_CONFIG names), then defaults.
'topicfold config view --show-origin' shows them.
"""

_NAME_THE_LOG = "Leave it out; name the log with --log FILE or --kafka HOST:PORT."
_MOST_NAMED = 3
_NO_COMMAND = re.compile(r"No such command '(?P<name>[\w-]+)'")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. Prints whatever goes wrong, and raises nothing.

    That code is also the process's: what is left in a stream that cannot be written is given up, for else the
    interpreter complains and ends with 120.
    """
    try:
        return _code_of(arguments)
    finally:
        for stream in (sys.stdout, sys.stderr):
            _give_up_unwritten(stream)


def _code_of(arguments: Sequence[str] | None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    _open_closed_streams()
    _let_sigterm_end_process_1()
    escape_what_stdout_cannot_take()
    try:
        with whole_words():
            code = get_command(app).main(given or ["--help"], prog_name=PROGRAM, standalone_mode=False)
        sys.stdout.flush()
    except typer.TyperException as error:
        return _usage(error)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        return ExitCode.UNREAD
    except OSError as error:
        if error.errno not in _UNWRITTEN or error.filename is not None:
            return _unexpected(error, is_debugged="--debug" in given)
        plain_output().failure(f"the output cannot be written: {error.strerror}", "")
        return ExitCode.FAILED
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):
            # Typer ends what it runs itself then.
            return ExitCode.UNREAD
        return end.code if isinstance(end.code, int) else ExitCode.FAILED
    except Exception as error:  # noqa: BLE001 - the outermost boundary
        return _unexpected(error, is_debugged="--debug" in given)
    return code if isinstance(code, int) else ExitCode.OK


class _LazyGroup(TyperGroup):
    """The root: knows its groups by name and help, and imports the one that is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands in the order of help."""
        return sorted(super().list_commands(ctx), key=_ORDER.index)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Put the real group into the place of its stand-in, then go on as always."""
        args = [_OTHER_NAMES.get(args[0], args[0]), *args[1:]] if args else args
        if args and args[0] in _GROUPS:
            module, summary = _GROUPS[args[0]]
            group = get_command(import_module(module).app)
            group.help = summary
            self.commands[args[0]] = group
        return super().resolve_command(ctx, args)


def _root(**_: object) -> None:
    """Take the shared options; each command looks them up."""


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        from topicfold.build import build_id

        sys.stdout.write(f"{PROGRAM} {__version__} (build {build_id()})\n")
        raise typer.Exit


def _new_app() -> typer.Typer:
    asked = Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")]
    shown = inspect.Parameter("version", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=asked)
    _root.__signature__ = inspect.Signature([*SHARED_OPTIONS, shown])  # type: ignore[attr-defined]  # Typer reads it
    root = new_app(_HELP, has_completion=True)
    root.callback(cls=_LazyGroup)(_root)
    command(root, "serve", instead="Leave it out; say where to serve with --host and --port.")(serve.serve)
    command(root, "demo", instead="Leave it out; say where to serve with --port.")(demo.demo)
    command(root, "enforce", instead=_NAME_THE_LOG)(enforce.enforce)
    command(root, "compact", instead=_NAME_THE_LOG)(compact.compact)
    command(root, "trim", instead=_NAME_THE_LOG)(trim.trim)
    command(root, "copy", instead=_NAME_THE_LOG)(copy.copy)
    command(root, "renew", instead="Leave it out; name the log with --log FILE.")(renew.renew)
    command(root, "version")(version.version)
    command(root, "history")(history.history)
    command(root, "rollback", CHANGE_OPTIONS)(history.rollback)
    command(root, "watch")(watch.watch)
    command(root, "explain")(explain.explain)
    command(root, "doctor")(doctor.doctor)
    command(root, "consume")(consume.consume)
    for name, (_, summary) in _GROUPS.items():
        root.add_typer(new_app(summary), name=name)
    return root


def _usage(error: typer.TyperException) -> int:
    """Say what was wrong with the command line, and where its help is."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context else PROGRAM
    # Typer shows what pydantic says, to which a value is an input, and of what kind the error is.
    message = re.sub("Value error, |Input (?=should be)|, unable to parse string as .*", "", error.format_message())
    if (unknown := _NO_COMMAND.match(message)) and (elsewhere := _found_elsewhere(unknown["name"])):
        # What is spelled nearly so is not meant, then.
        typed = "; or ".join(f"{PROGRAM} {each}" for each in elsewhere[:_MOST_NAMED])
        plain_output().failure(f"{unknown[0]}.", typed)
    else:
        more = said_of_argument(error) or f"{_commands_that_take(error)}{said_of_names(error)}{said_of_missing(error)}"
        plain_output().failure(message, f"{path} --help{more}")
    return error.exit_code


def _found_elsewhere(name: str) -> list[str]:
    """Return what tells of the commands of that name, whichever groups they are in; of the hidden ones last.

    Where there is none, what may be looked for under it.
    """
    found = {
        f"{prefix}{name}": called.hidden for prefix, group in _groups().items() if (called := group.commands.get(name))
    }
    if not found and name in _MEANT:
        return [_MEANT[name]]
    return [f"{each} --help" for each in sorted(found, key=lambda each: found[each])]


def _commands_that_take(error: typer.TyperException) -> str:
    """Return the end of a hint: which commands of a group have the option that it, or this one of them, has not.

    Of an option that is a word also those of other groups: where none of its own has it, or where it is in none itself.
    """
    # Only an option that there is not has `possibilities`; others lack a value.
    option = getattr(error, "option_name", "") if hasattr(error, "possibilities") else ""
    context = getattr(error, "ctx", None)
    if not option or context is None:
        return ""
    group = context.command if isinstance(context.command, TyperGroup) else context.parent.command
    taking = _taking(option, group)
    if option.startswith("--") and (not taking or group is context.find_root().command):
        everywhere = [f"{prefix}{each}" for prefix, other in _groups().items() for each in _taking(option, other)]
        taking = list(dict.fromkeys((*taking, *everywhere)))
    return f"; {option} is an option of {', '.join(taking[:_MOST_NAMED])}" if taking else ""


def _taking(option: str, group: TyperGroup) -> list[str]:
    shown = {name: each for name, each in group.commands.items() if not each.hidden}
    return [name for name, each in shown.items() if any(option in parameter.opts for parameter in each.params)]


def _groups() -> dict[str, TyperGroup]:
    """Return all groups of commands by what is typed before theirs, first the one of which all others are."""
    groups = {
        "": get_command(app),
        **{f"{name} ": get_command(import_module(_GROUPS[name][0]).app) for name in _GROUPS},
    }
    return {prefix: group for prefix, group in groups.items() if isinstance(group, TyperGroup)}


def _unexpected(error: Exception, is_debugged: bool) -> int:
    if is_debugged:
        import traceback

        traceback.print_exception(error)
    if shortage := shortage_in(error):
        plain_output().failure(f"this process cannot continue: {shortage}", "Raise its limits: 'ulimit -a' shows them.")
        return ExitCode.FAILED
    hint = "" if is_debugged else "Run it again with --debug to see where."
    plain_output().failure(f"unexpected {type(error).__name__}: {error}", hint)
    return ExitCode.FAILED


def _open_closed_streams() -> None:
    """Open what whoever started this closed of stdin, stdout and stderr, which Python has as None: to nobody.

    In their order, so that each has its own number again, and for processes that are started, too. Else a file or a
    connection is given it: what some library writes to stderr goes there, and uvloop aborts where it is closed.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode)  # noqa: SIM115 -- as long as the process lasts
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)


def _let_sigterm_end_process_1() -> None:
    """Have SIGTERM end the first process of a container, as it ends any other, until a command takes it itself.

    Linux keeps from that process each signal that it has no handler for: a server that was stopped while it started
    would go on, until it is killed half a minute later.
    """
    if os.getpid() == 1 and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, lambda number, _: os._exit(128 + number))


def _give_up_unwritten(stream: TextIO) -> None:
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


app = _new_app()
