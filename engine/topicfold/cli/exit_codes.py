"""Exit codes, and which error ends in which. Documented in every `--help`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from topicfold import errors
from topicfold.errors import TopicfoldError


class ExitCode(IntEnum):
    """What a command ends with."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    CONFLICT = 4
    DENIED = 5
    UNREACHABLE = 6
    PARTLY_FAILED = 7
    INTERRUPTED = 130
    UNREAD = 141
    """As who dies of SIGPIPE ends. Not 1, which of `diff` says that something differs."""


EXIT_CODES_HELP = (
    "Exit codes: 0 ok, 1 failed, 2 usage, 3 not found, 4 conflict or failed precondition, 5 denied, "
    "6 server unreachable or time-out, 7 partly failed, 130 interrupted, 141 nobody reads what it prints."
)

# The most specific class wins.
_EXIT_CODE: Mapping[type[TopicfoldError], ExitCode] = {
    TopicfoldError: ExitCode.FAILED,
    errors.FixRequest: ExitCode.USAGE,
    errors.BadSetting: ExitCode.USAGE,
    errors.NotFound: ExitCode.NOT_FOUND,
    errors.PolicyUnmet: ExitCode.CONFLICT,
    errors.WrongKind: ExitCode.CONFLICT,
    errors.FewerPartitions: ExitCode.CONFLICT,
    errors.KeyReused: ExitCode.CONFLICT,
    errors.Unauthenticated: ExitCode.DENIED,
    errors.Forbidden: ExitCode.DENIED,
    errors.UnknownCluster: ExitCode.NOT_FOUND,
    errors.Reread: ExitCode.CONFLICT,
    errors.Wait: ExitCode.UNREACHABLE,
    errors.OutcomeUnknown: ExitCode.UNREACHABLE,
}


def exit_code_of(error: TopicfoldError) -> ExitCode:
    """Return the code that a command which met `error` ends with."""
    return next(_EXIT_CODE[cls] for cls in type(error).__mro__ if cls in _EXIT_CODE)
