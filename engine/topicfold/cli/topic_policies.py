"""`topicfold topicPolicies`: policies of topics, under the names that Pulsar's command has for them."""

from __future__ import annotations

from topicfold.cli.arguments import Topic
from topicfold.cli.command import CHANGE_OPTIONS, command, new_app
from topicfold.cli.policies.commands import topic_policies
from topicfold.cli.policies.group import policy_group
from topicfold.cli.retention_warning import warning_after
from topicfold.cli.session import Session
from topicfold.model.names import parse_topic

app = new_app(group=policy_group(*topic_policies()))


@command(app, "delete", CHANGE_OPTIONS)
def delete(session: Session, topic: Topic) -> None:
    """Remove all policies of a topic. Those for all clusters, too; labels stay.

    \b
    Example:
      topicfold topicPolicies delete orders --reason "back to the namespace's"
    """
    name = str(parse_topic(topic))
    warning = warning_after(session, name)
    written = session.client.remove_policies(topic, **session.changes)
    session.show_change("removed all policies from", name, written, "it had no policies of its own", warning)
