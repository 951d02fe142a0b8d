"""The Python client: `Client`, what it answers with, and the errors that only a client can meet."""

from topicfold.client.answers import Found, Operation, Readiness, ServerVersion, Tenant, Topic, Written
from topicfold.client.client import Client
from topicfold.client.conversation import RetryRule
from topicfold.client.errors import AnswerLost, ExtraMissing, ServerUnreachable, UnexpectedAnswer

__all__ = [
    "AnswerLost",
    "Client",
    "ExtraMissing",
    "Found",
    "Operation",
    "Readiness",
    "RetryRule",
    "ServerUnreachable",
    "ServerVersion",
    "Tenant",
    "Topic",
    "UnexpectedAnswer",
    "Written",
]
