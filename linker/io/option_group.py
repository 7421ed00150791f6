"""The base class of groups of options: ranges of numbers, and messages about wrong values."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_origin, get_type_hints

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, model_validator
from pydantic.dataclasses import dataclass

from linker.errors import LinkerError, shorten

if TYPE_CHECKING:
    from pydantic import ModelWrapValidatorHandler
    from typing_extensions import Self

# The upper ends are far beyond any use: a value beyond them is a typing mistake.
ZeroToOne = Annotated[float, Field(ge=0, le=1)]
LearningRate = Annotated[float, Field(gt=0, le=100)]
Epochs = Annotated[int, Field(ge=0, le=1_000_000)]
BatchSize = Annotated[int, Field(ge=1, le=65_536)]
Count = Annotated[int, Field(ge=0, le=1_000_000_000)]  # of names; costs no more than the names do
Seed = Annotated[int, Field(ge=0, le=2**32 - 1)]
Units = Annotated[int, Field(ge=1, le=100_000)]  # of a hidden layer; 160 MB for 200 components

_EXPECTED = {  # in place of pydantic's words for what a text should have been
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_parsing": "a number",
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "unexpected_keyword_argument": "no option of this name",
}


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class OptionGroup:
    """A group of options: a frozen dataclass whose values pydantic reads and checks.

    Attributes:
        group: what messages call the group.
    """

    group: ClassVar[str] = ""

    @model_validator(mode="wrap")
    @classmethod
    def _validate(cls, values: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(values)
        except ValidationError as error:
            refusal = _refusal(cls, cls.group, error)
            if error.errors()[0]["type"] == "unexpected_keyword_argument":
                raise TypeError(str(refusal)) from None  # as of any dataclass
            raise refusal from None


def replaced(record: Any, group: str, values: Mapping[str, Any]) -> Any:
    """Replace fields of a group of options, which may be any dataclass.

    Args:
        record: the options to start from.
        group: what messages call them.
        values: field -> value; a text is read as the type of the field ("true", "3", "char_wb").

    Raises:
        LinkerError: there is no such field, or the value does not fit.
    """
    fields = {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}
    if unknown := [name for name in values if name not in fields]:
        raise LinkerError(
            f"there is no option {group}.{shorten(unknown[0])}; {group} has: {', '.join(fields)}"
        )
    hints = get_type_hints(type(record))
    given = {name: _as_text(value, hints[name]) for name, value in values.items()}
    try:
        return TypeAdapter(type(record)).validate_python({**fields, **given})
    except ValidationError as error:
        raise _refusal(type(record), group, error) from None


def _as_text(value: Any, hint: Any) -> Any:
    """A value of TOML or JSON as --set gives it, so that pydantic reads all three alike."""
    if get_origin(hint) is not Literal and hint not in (bool, int, float, str):
        return value  # of a plug-in
    try:
        text = str(value)
    except ValueError:  # Python writes no number of thousands of digits in decimal
        text = hex(value)
    return text.lower() if get_origin(hint) is Literal else text


def _refusal(kind: Any, group: str, error: ValidationError) -> LinkerError:
    """The first error of a group of options, as a sentence."""
    first = error.errors(include_url=False)[0]
    if not first["loc"]:
        return LinkerError(f"{group}: {first['msg']}")
    place = first["loc"][0]
    field = dataclasses.fields(kind)[place].name if isinstance(place, int) else place
    expected = _EXPECTED.get(first["type"], first["msg"].removeprefix("Input should be "))
    value = shorten(repr(first["input"]))
    return LinkerError(f"{group}.{field} is {value}; expected: {expected}")
