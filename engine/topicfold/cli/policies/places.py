"""What bears policies on the command line: topics and namespaces. Which one a command means, and asking the server."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from topicfold.cli.arguments import At, Namespace, Topic
from topicfold.cli.policies.options import Given
from topicfold.cli.policies.output import stored_namespace_policy, stored_policy
from topicfold.cli.session import Session
from topicfold.errors import InvalidRequest
from topicfold.model.names import parse_namespace, parse_topic
from topicfold.model.policy.description import Policy

if TYPE_CHECKING:
    from topicfold.client import Written

# Pulsar's command has both short ones, each for some policies.
_APPLIED = ("--applied", "-ap", "-a")
_AT = inspect.Parameter("at", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=At)


@dataclass(frozen=True, slots=True)
class OnTopics:
    """Policies of topics. `group` is the group of the commands; Pulsar's older one knows one cluster only."""

    group: str
    has_global: bool

    noun: ClassVar[str] = "topic"
    sample: ClassVar[str] = "orders"
    """A topic to show in examples."""

    def which(self, policy: Policy, *, reads: bool) -> list[inspect.Parameter]:
        """Return the parameters that say which topic is meant, and which of its values."""
        asked = [inspect.Parameter("topic", inspect.Parameter.KEYWORD_ONLY, annotation=Topic)]
        if self.has_global and policy.topic.has_global:
            asked.append(_flag("is_global", "The value for all clusters.", "--global", "-g"))
        if reads and policy.topic.has_applied:
            asked.append(_flag("applied", "If unset, show the namespace's or broker's value.", *_APPLIED))
        if reads:
            asked.append(_AT)
        return asked

    def name(self, given: Given) -> str:
        """Return the full name of the topic."""
        return str(parse_topic(given["topic"]))

    def get(self, session: Session, policy: Policy, entry: str | None, given: Given) -> Any:
        """Return the topic's value, with `at` as it was then.

        Raises:
            InvalidRequest: what lay below the topic then is asked for, too.
        """
        is_global, applied, at = given.get("is_global", False), given.get("applied", False), given["at"]
        if at is None:
            return session.client.get_policy(
                given["topic"], policy.name, entry=entry, is_global=is_global, applied=applied
            )
        if applied:
            raise _refusal_of_applied(at, self.noun)
        return stored_policy(
            session.client.get_topic_at(given["topic"], at).readable(), policy, entry, is_global=is_global
        )

    def set(self, session: Session, policy: Policy, entry: str | None, given: Given, value: Any) -> Written:
        """Set the topic's value."""
        is_global = given.get("is_global", False)
        return session.client.set_policy(
            given["topic"], policy.name, value, entry=entry, is_global=is_global, **session.changes
        )

    def remove(self, session: Session, policy: Policy, entry: str | None, given: Given) -> Written:
        """Remove the topic's value."""
        is_global = given.get("is_global", False)
        return session.client.remove_policy(
            given["topic"], policy.name, entry=entry, is_global=is_global, **session.changes
        )


@dataclass(frozen=True, slots=True)
class OnNamespaces:
    """Policies of namespaces."""

    group: ClassVar[str] = "namespaces"
    noun: ClassVar[str] = "namespace"
    sample: ClassVar[str] = "public/default"

    def which(self, policy: Policy, *, reads: bool) -> list[inspect.Parameter]:
        """Return the parameters that say which namespace is meant, and which of its values."""
        asked = [inspect.Parameter("namespace", inspect.Parameter.KEYWORD_ONLY, annotation=Namespace)]
        if reads and policy.namespace and policy.namespace.has_applied:
            asked.append(_flag("applied", "If unset, show the broker's value.", *_APPLIED))
        if reads:
            asked.append(_AT)
        return asked

    def name(self, given: Given) -> str:
        """Return the name of the namespace."""
        return parse_namespace(given["namespace"])

    def get(self, session: Session, policy: Policy, entry: str | None, given: Given) -> Any:
        """Return the namespace's value, with `at` as it was then.

        Raises:
            InvalidRequest: what lay below the namespace then is asked for, too.
        """
        applied, at = given.get("applied", False), given["at"]
        if at is None:
            return session.client.get_namespace_policy(given["namespace"], policy.name, applied=applied)
        if applied:
            raise _refusal_of_applied(at, self.noun)
        return stored_namespace_policy(session.client.get_namespace_record(given["namespace"], at=at), policy)

    def set(self, session: Session, policy: Policy, entry: str | None, given: Given, value: Any) -> Written:
        """Set the namespace's value."""
        return session.client.set_namespace_policy(
            given["namespace"], policy.name, value, entry=entry, **session.changes
        )

    def remove(self, session: Session, policy: Policy, entry: str | None, given: Given) -> Written:
        """Remove the namespace's value."""
        return session.client.remove_namespace_policy(given["namespace"], policy.name, entry=entry, **session.changes)


Place = OnTopics | OnNamespaces


def _refusal_of_applied(at: str, noun: str) -> InvalidRequest:
    """Return the error that of a past time only the values of a topic or a namespace itself can be told."""
    return InvalidRequest(
        f"what applied at {at} is not known: only the {noun} itself is kept as it was, not what lay below it",
        hint="Leave out --applied, or --at.",
    )


def _flag(name: str, help_text: str, *flags: str) -> inspect.Parameter:
    taken = Annotated[bool, typer.Option(*flags, help=help_text)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=taken)
