"""The blocking client. What it can do is declared once, for both clients; how it is done is in their senders."""

from __future__ import annotations

from topicfold.client.access import AccessCalls
from topicfold.client.blocking import BlockingSender
from topicfold.client.find import FindCalls
from topicfold.client.history import HistoryCalls
from topicfold.client.namespace_properties import NamespacePropertyCalls
from topicfold.client.policies import PolicyCalls
from topicfold.client.resources import ResourceCalls


class Calls(ResourceCalls, NamespacePropertyCalls, FindCalls, PolicyCalls, AccessCalls, HistoryCalls):
    """All that a client can do; see `declaring` for what the methods return."""


class Client(BlockingSender, Calls):
    """A connection to Topicfold servers behind one URL.

    Reads what it wrote, on whatever node it arrives: each call carries a position that covers all answers so far,
    whichever thread had them (`read_your_writes=False` stops that). Threads may share a client, and so may processes
    that are forked. Changes carry an Idempotency-Key and are tried again when that may help, five times at most and
    within `timeout_seconds` for the whole call; an answer that has begun may come for longer, as long as it does not
    pause for that time.

        with Client() as client:
            client.create_topic("orders", labels={"team": "pay"})
            for topic in client.topics("team=pay"):
                print(topic.name)

    Every method raises the errors of `topicfold.errors` that the server answers with, `ServerUnreachable`,
    `AnswerLost` (changes only) and `UnexpectedAnswer`; names that break the rules are `InvalidName` before anything
    is sent.
    """
