"""The base class of groups of options: ranges of numbers, and messages about wrong values."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, model_validator
from pydantic.dataclasses import dataclass
from pydantic_core import ArgsKwargs

from linker.errors import LinkerError, shorten

if TYPE_CHECKING:
    from pydantic import ModelWrapValidatorHandler
    from typing_extensions import Self

# The upper ends are far beyond any use: a value beyond them is a typing mistake.
Share = Annotated[float, Field(ge=0, le=1)]
Weight = Annotated[
    float, Field(ge=0, le=1_000_000)
]  # float32 has seven digits: more hides the rest
Temperature = Annotated[float, Field(ge=0.0001, le=10_000)]
LearningRate = Annotated[float, Field(gt=0, le=100)]
Decay = Annotated[float, Field(ge=0, le=100)]
Epochs = Annotated[int, Field(ge=0, le=1_000_000)]
BatchSize = Annotated[int, Field(ge=1, le=65_536)]
Count = Annotated[int, Field(ge=0, le=1_000_000_000)]  # of names; costs no more than the names do
Seed = Annotated[int, Field(ge=0, le=2**32 - 1)]
Units = Annotated[int, Field(ge=1, le=100_000)]  # of a hidden layer; 160 MB for 200 components

_KINDS = {int: "a whole number", float: "a number", str: "text"}


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class OptionGroup:
    """A group of options: a frozen dataclass whose values pydantic reads and checks.

    Attributes:
        group: what messages call the group.
        renamed: former names of fields, which work with a warning, and the names of now.
    """

    group: ClassVar[str] = ""
    renamed: ClassVar[Mapping[str, str]] = {}

    @model_validator(mode="wrap")
    @classmethod
    def _validate(cls, values: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        fields: Any = values.kwargs if isinstance(values, ArgsKwargs) else values
        for name in (fields or {}).keys() & cls.renamed.keys():
            new = cls.renamed[name]
            text = (
                f"{cls.group}.{name} is now {cls.group}.{new}; the next release drops the old name"
            )
            warnings.warn(text, FutureWarning, stacklevel=3)
            fields[new] = fields.pop(name)
        try:
            return handler(values)
        except ValidationError as error:
            raise _refusal(cls, cls.group, error) from None


def replaced(record: Any, group: str, values: Mapping[str, Any]) -> Any:
    """Replace fields of a group of options, which may be any dataclass.

    Args:
        record: the options to start from.
        group: what messages call them.
        values: field -> value; a text is read as the type of the field ("true", "3", "char_wb").

    Raises:
        LinkerError: there is no such field, or the value does not fit.
    """
    hints = get_type_hints(type(record))
    names = [field.name for field in dataclasses.fields(record)]
    former = getattr(record, "renamed", {})
    if unknown := [name for name in values if name not in names and name not in former]:
        raise LinkerError(
            f"there is no option {group}.{shorten(unknown[0])}; {group} has: {', '.join(names)}"
        )
    plain = {
        name: _plain(f"{group}.{name}", value, hints[former.get(name, name)])
        for name, value in values.items()
    }
    fields = {name: getattr(record, name) for name in names}
    try:
        return TypeAdapter(type(record)).validate_python({**fields, **plain})
    except ValidationError as error:
        raise _refusal(type(record), group, error) from None


def limits(kind: Any, field: str) -> Mapping[str, float]:
    """The ends of the range of a number.

    Args:
        kind: a dataclass.
        field: of the dataclass.

    Returns:
        The ends, by their names in `pydantic.Field`: ge, gt, le, lt.
    """
    hint = get_type_hints(kind, include_extras=True)[field]
    metadata = [part for outer in getattr(hint, "__metadata__", ()) for part in _flat(outer)]
    return {
        end: getattr(part, end)
        for part in metadata
        for end in ("ge", "gt", "le", "lt")
        if getattr(part, end, None) is not None
    }


def _flat(metadata: Any) -> list[Any]:
    return list(getattr(metadata, "metadata", None) or [metadata])


def _plain(option: str, value: Any, hint: Any) -> Any:
    """Prepare a value for pydantic, which alone takes "yes" for true, and 3.0 for a whole number.

    Raises:
        LinkerError: a truth value is neither true nor false (in any case), or a whole number is
            written otherwise than in digits.
    """
    try:
        text = str(value)
    except ValueError:  # a hexadecimal number of more digits than Python writes in decimal
        raise LinkerError(
            f"{option} is a number of thousands of digits, which no option may be"
        ) from None
    if get_origin(hint) is Literal:
        return next((choice for choice in get_args(hint) if choice == text.lower()), value)
    if hint is bool:
        if text.lower() not in ("true", "false"):
            raise LinkerError(f"{option} is {shorten(repr(value))}; choose one of: true, false")
        return text.lower() == "true"
    if hint is int:
        try:
            return int(text)
        except ValueError:
            raise LinkerError(
                f"{option} is {shorten(repr(value))}; expected: {_KINDS[int]}"
            ) from None
    return text if hint in (str, float) else value


def _refusal(kind: Any, group: str, error: ValidationError) -> Exception:
    """The first error of a group of options, as a sentence."""
    first = error.errors(include_url=False)[0]
    if first["type"] == "unexpected_keyword_argument":
        return TypeError(f"{kind.__name__} has no field {first['loc'][0]}")
    if not first["loc"]:
        return LinkerError(f"{group}: {first['msg']}")
    place, value = first["loc"][0], first["input"]
    field = dataclasses.fields(kind)[place].name if isinstance(place, int) else str(place)
    option, hint = f"{group}.{field}", get_type_hints(kind)[field]
    choices = get_args(hint) if get_origin(hint) is Literal else ("true", "false")
    if first["type"] == "literal_error" or hint is bool:
        listed = ", ".join(map(str, choices))
        return LinkerError(f"{option} is {shorten(repr(value))}; choose one of: {listed}")
    if first["type"].startswith(("greater_than", "less_than")):
        number = hint(value)
        expected = _range(limits(kind, field), number)
        return LinkerError(f"{option} is {shorten(str(number))}; expected: {expected}")
    expected = _KINDS.get(hint, first["msg"])
    return LinkerError(f"{option} is {shorten(repr(value))}; expected: {expected}")


def _range(ends: Mapping[str, float], number: float) -> str:
    """The expected range, for the message about a number outside it."""
    low, high = ends.get("ge", ends.get("gt")), ends.get("le", ends.get("lt"))
    start = f"a number above {low}" if "gt" in ends else str(low)
    if high is None or low is None or not number > high:
        return start if "gt" in ends else f"{low} or more" if low is not None else f"up to {high}"
    return f"{start}, at most {high}" if "gt" in ends else f"{start} to {high}"
