"""Methods that are declared once and work on both clients.

A method declares what is asked for and returns it as a value: a `Call`, a `Listing`, a `WatchQuery`. The decorators
here turn it into one that does it: on `Client` it returns what was asked for, on `AsyncClient` it must be awaited, or
iterated with `async for`. Type checkers see either signature whole; at run time both are one function.

    class TopicCalls:
        @asks
        def get_topic(self, topic: str) -> Call[Topic]:
            return Call("GET", native_topic_path(topic), topic_in)

    Client().get_topic("orders")             # Topic
    await AsyncClient().get_topic("orders")  # Topic
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, cast, overload

from topicfold.client.argument_types import taking_what_it_states
from topicfold.client.call import Call
from topicfold.client.find_calls import Listing
from topicfold.client.watching import WatchQuery

if TYPE_CHECKING:
    from topicfold.client.async_watch import AsyncWatch
    from topicfold.client.pages import AsyncPager, Pager
    from topicfold.client.transport.awaiting import AwaitingSender
    from topicfold.client.transport.blocking import BlockingSender
    from topicfold.client.watch import Watch

P = ParamSpec("P")
T = TypeVar("T")
Blocking_co = TypeVar("Blocking_co", covariant=True)
Awaiting_co = TypeVar("Awaiting_co", covariant=True)


class Twofold(Protocol[P, Blocking_co, Awaiting_co]):
    """A method that returns one thing on the blocking client and another on the asynchronous one."""

    @overload
    def __get__(self, client: BlockingSender, owner: type[Any]) -> Callable[P, Blocking_co]: ...
    @overload
    def __get__(self, client: AwaitingSender, owner: type[Any]) -> Callable[P, Awaiting_co]: ...
    @overload
    def __get__(self, client: None, owner: type[Any]) -> Callable[..., Any]: ...


def asks(declare: Callable[Concatenate[Any, P], Call[T]]) -> Twofold[P, T, Coroutine[object, None, T]]:
    """Make the declaration of a call a method that performs it.

    A coroutine of `Any` would do for `await`, but mypy makes all of what `asyncio.gather` returns of it `Any`.
    """
    declared = taking_what_it_states(declare)
    _say_returned(declared, signature(declared).return_annotation.removeprefix("Call[").removesuffix("]"))

    @wraps(declared)
    def method(client: BlockingSender, *args: P.args, **kwargs: P.kwargs) -> T:
        return client.perform(declared(client, *args, **kwargs))

    return cast("Twofold[P, T, Coroutine[object, None, T]]", method)


def pages(declare: Callable[Concatenate[Any, P], Listing]) -> Twofold[P, Pager, AsyncPager]:
    """Make the declaration of a listing a method that returns its pager."""
    declared = taking_what_it_states(declare)
    _say_returned(declared, "Pager")

    @wraps(declared)
    def method(client: BlockingSender, *args: P.args, **kwargs: P.kwargs) -> Pager:
        return client.page_through(declared(client, *args, **kwargs))

    return cast("Twofold[P, Pager, AsyncPager]", method)


def follows(declare: Callable[Concatenate[Any, P], WatchQuery]) -> Twofold[P, Watch, AsyncWatch]:
    """Make the declaration of a watch a method that returns its frames."""
    declared = taking_what_it_states(declare)
    _say_returned(declared, "Watch")

    @wraps(declared)
    def method(client: BlockingSender, *args: P.args, **kwargs: P.kwargs) -> Watch:
        return client.follow(declared(client, *args, **kwargs))

    return cast("Twofold[P, Watch, AsyncWatch]", method)


def _say_returned(declared: Callable[..., Any], returned: str) -> None:
    """Have `help` say what the method returns, not the declaration."""
    declared.__dict__["__signature__"] = signature(declared).replace(return_annotation=returned)
