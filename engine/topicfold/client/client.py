"""The blocking client. The methods of both clients are declared once; their senders do the I/O."""

from __future__ import annotations

from topicfold.client.access import AccessCalls
from topicfold.client.find import FindCalls
from topicfold.client.history import HistoryCalls
from topicfold.client.namespace_properties import NamespacePropertyCalls
from topicfold.client.policies import PolicyCalls
from topicfold.client.resources import ResourceCalls
from topicfold.client.transport.blocking import BlockingSender


class Calls(ResourceCalls, NamespacePropertyCalls, FindCalls, PolicyCalls, AccessCalls, HistoryCalls):
    """All methods of a client; see `declaring` for what they return."""


class Client(BlockingSender, Calls):
    """A client of the Topicfold servers behind one URL.

    A client reads its own writes, whichever node answers: each call carries a position that covers all answers that
    the client has received so far, in any thread (`read_your_writes=False` turns this off). A client can be shared
    between threads, and used on after a fork. Calls are retried when that may help, with at most five attempts, all
    within `timeout_seconds`. An answer that has begun can take longer, as long as it never pauses for that time.

    Every change takes `if_match`, the ETag of the version that it is meant for: if another is current, it raises
    `PreconditionFailed`. However often a change is sent with the same `idempotency_key`, it is applied once; each gets
    a key of its own unless one is given. The `reason` is kept in the topic's history.

        with Client() as client:
            client.create_topic("orders", labels={"team": "pay"})
            for topic in client.topics("team=pay"):
                print(topic.name)

    Every method raises the errors of `topicfold.errors` that the server answers with, and also `ServerUnreachable`,
    `AnswerLost` (changes only) and `UnexpectedAnswer`. An invalid name raises `InvalidName` before anything is sent.
    """
