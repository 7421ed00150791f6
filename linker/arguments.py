"""Arguments of public functions: a sentence says which one of which function is wrong."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral, Real
from os import PathLike
from typing import Any, NamedTuple, TypeVar

from linker.errors import ArgumentError, shorten

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Kind(NamedTuple):
    """What an argument must be."""

    words: str  # for the message
    classes: tuple[type | str, ...]  # one of these; by its name where importing it takes long
    is_optional: bool = False  # whether None stands for nothing

    def has(self, value: Any) -> bool:
        """Whether a value is of this kind; a text is none of several things."""
        if value is None:
            return self.is_optional
        types = tuple(one for one in self.classes if isinstance(one, type))
        if isinstance(value, str | bytes):
            return str in types
        bases = {base.__name__ for base in type(value).__mro__}
        return isinstance(value, types) or not bases.isdisjoint(self.classes)

    def or_none(self) -> Kind:
        """The same kind, where None stands for nothing."""
        return self._replace(is_optional=True)


WHOLE = Kind("a whole number", (Integral,))
NUMBER = Kind("a number", (Real,))
PATH = Kind("a path", (str, PathLike))
TEXT = Kind("a text", (str,))
ITEMS = Kind("mentions or documents, such as list(linker.read_mentions(PATH))", (Iterable,))
LINKER = Kind("a linker, as linker.load or linker.train gives", ("Linker",))
DICTIONARY = Kind("a dictionary, such as linker.Dictionary.read(PATH)", ("Dictionary",))


def public(
    name: str, limits: Mapping[str, Kind] | None = None, /, **kinds: Kind
) -> Callable[[_Function], _Function]:
    """Check the arguments of a function whenever it is called.

    Args:
        name: of the function, as its users write it.
        limits: what its further keywords may be.
        kinds: of its own arguments; of those that are not named, only the names are checked.

    Raises:
        ArgumentError: at a call, an argument is missing, unknown, or of another kind.
    """

    def decorate(function: _Function) -> _Function:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def called(*args: Any, **keywords: Any) -> Any:
            _check(name, signature, kinds, limits or {}, args, keywords)
            return function(*args, **keywords)

        return called  # type: ignore[return-value]

    return decorate


def _check(
    name: str,
    signature: inspect.Signature,
    kinds: Mapping[str, Kind],
    limits: Mapping[str, Kind],
    args: tuple[Any, ...],
    keywords: Mapping[str, Any],
) -> None:
    named = [p.name for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    known = [one for one in (*named, *limits) if one not in ("self", "cls")]
    try:
        values = signature.bind(*args, **keywords).arguments
    except TypeError as error:
        raise ArgumentError(f"{name}: {error}; its arguments are {', '.join(known)}") from None
    for argument in keywords:
        if argument not in known:
            raise ArgumentError(
                f"{name}: there is no argument {argument!r}; its arguments are {', '.join(known)}"
            )
    given = {**values, **keywords}
    for argument, kind in {**kinds, **limits}.items():
        parameter = signature.parameters.get(argument)
        is_many = parameter is not None and parameter.kind is parameter.VAR_POSITIONAL
        of_argument = [given[argument]] if argument in given else []
        for value in of_argument[0] if is_many and of_argument else of_argument:
            if not kind.has(value):
                raise ArgumentError(
                    f"{name}: {argument} is {shorten(repr(value))} ({type(value).__name__}); "
                    f"expected {kind.words}"
                )
