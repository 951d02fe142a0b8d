"""What is given to a client: of the types that its methods state, each text as a plain `str`.

Whoever uses no type checker is told here, and not by what goes wrong deep inside with a value of another type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import cache, wraps
from inspect import Parameter, Signature, signature
from numbers import Real
from types import MappingProxyType, NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Final,
    ParamSpec,
    SupportsIndex,
    TypeVar,
    Union,
    Unpack,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from topicfold.client.plain import plain
from topicfold.errors import InvalidRequest

if TYPE_CHECKING:
    from types import FunctionType

_TAKEN_FOR: Final = MappingProxyType({int: SupportsIndex, float: Real})
"""numpy's numbers are as good as Python's."""

_WORDS: Final = MappingProxyType(
    {str: "text", int: "a whole number", bool: "True or False", float: "a number", Mapping: "a mapping",
     Iterable: "several texts", Callable: "a function"}
)  # fmt: skip


P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S")


def taking_what_it_states(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Make `method` one that is called only with what has the types that it states, each text a plain `str`.

    `help`, and whatever else looks at its signature, is told of each option that a TypedDict lists by its name.

    Raises:
        InvalidRequest: names the first argument that is of another, and not what it holds: it may be a secret.
        TypeError: it has no such argument. Python refuses none where a method takes what a TypedDict lists, and a
            condition on a change that is misspelled would be none.
    """
    code = method.__code__
    names = code.co_varnames[1 : code.co_argcount]

    @wraps(method)
    def checked(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        args, kwargs = plain(args), plain(kwargs)
        hints = _hints(method)
        for name in kwargs.keys() - hints.keys():
            near = "".join(f". Did you mean {each!r}?" for each in get_close_matches(name, hints, 1))
            raise TypeError(f"{method.__qualname__}() got an unexpected keyword argument {name!r}{near}")
        for name, given in (*zip(names, args, strict=False), *kwargs.items()):
            if fault := _fault(given, hints.get(name, Any)):
                raise InvalidRequest(f"{name}: {fault}")
        return method(self, *args, **kwargs)

    checked.__dict__["__signature__"] = _spelled_out(cast("FunctionType", method))
    return checked


def _spelled_out(method: FunctionType) -> Signature:
    """Return the signature of `method`, with each option that a TypedDict lists in its place."""
    stated = signature(method)
    *others, last = stated.parameters.values()
    if last.kind is not Parameter.VAR_KEYWORD:
        return stated
    listing = method.__globals__[last.annotation.removeprefix("Unpack[").removesuffix("]")]
    options = (
        Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=hint.__forward_arg__)
        for name, hint in listing.__annotations__.items()
    )
    return stated.replace(parameters=[*others, *options])


@cache
def _hints(function: Callable[..., Any]) -> Mapping[str, Any]:
    """Return the types of parameters; of options that a TypedDict lists, each by its own name."""
    hints = get_type_hints(function)
    hints.pop("return", None)
    for name, hint in list(hints.items()):
        if get_origin(hint) is Unpack:
            hints |= get_type_hints(get_args(hint)[0])
            del hints[name]
    return hints


def _fault(given: object, hint: Any, where: str = "") -> str:
    """Return what is wrong with `given`, "" if it is of the type `hint`."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    fitting = [kind for kind in kinds if _is_one(given, kind)]
    if not fitting:
        words = " or ".join(_words(kind) for kind in kinds if kind is not NoneType)
        return f"expected {words}{where}, not {'None' if given is None else type(given).__name__}"
    faults = [_fault_within(given, kind) for kind in fitting]
    return "" if "" in faults else faults[0]


def _is_one(given: object, kind: Any) -> bool:
    """Return whether `given` is of `kind`, whatever it holds. Bytes pass for several of something nowhere."""
    if kind is Any or isinstance(kind, TypeVar):
        return True
    outside = get_origin(kind) or kind
    return isinstance(given, _TAKEN_FOR.get(outside, outside)) and not isinstance(given, bytes | bytearray)


def _fault_within(given: Any, kind: Any) -> str:
    match get_args(kind):
        case (key, value) if isinstance(given, Mapping):
            held = [(each, key) for each in given] + [(each, value) for each in given.values()]
        case (item,):
            held = [(each, item) for each in given]
        case _:
            held = []
    return next(filter(None, (_fault(each, hint, " inside") for each, hint in held)), "")


def _words(kind: Any) -> str:
    outside = get_origin(kind) or kind
    return _WORDS.get(outside) or outside.__name__
