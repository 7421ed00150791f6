"""What an option may be: said once, beside its field, and checked wherever a record of options is made."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from linker.errors import LinkerError, shorten


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers from `least` to `most`, both included; `above`: `least` is excluded. Neither nan nor an infinity is in any range."""

    least: float
    most: float
    above: bool = False

    def holds(self, value: float) -> bool:
        """Whether a number is in the range."""
        return (self.least < value if self.above else self.least <= value) and value <= self.most

    def expected(self, value: float) -> str:
        """What should stand in the place of a number that is not in the range."""
        if value > self.most:
            return (
                f"a number above {self.least}, at most {self.most}"
                if self.above
                else f"{self.least} to {self.most}"
            )
        return f"a number above {self.least}" if self.above else f"{self.least} or more"


# What several groups of options have. Upper ends are far beyond any use: what lies beyond them is a slip.
Share = Annotated[float, Range(0, 1)]
Weight = Annotated[
    float, Range(0, 1_000_000)
]  # float32 has seven digits: beside a larger one nothing else counts
Temperature = Annotated[float, Range(0.0001, 10_000)]
LearningRate = Annotated[float, Range(0, 100, above=True)]
Decay = Annotated[float, Range(0, 100)]
Epochs = Annotated[int, Range(0, 1_000_000)]
BatchSize = Annotated[int, Range(1, 65_536)]
Count = Annotated[
    int, Range(0, 1_000_000_000)
]  # of what takes no more time and memory than there are names
Seed = Annotated[int, Range(0, 2**32 - 1)]
UNITS = 100_000  # of a hidden layer: with word vectors of 200 components 160 MB, and several times that in training


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def choices(hint: Any) -> tuple[Any, ...]:
    """The values that a field may have by its type, where they are few: a `Literal`, or true and false; else none."""
    return get_args(hint) if get_origin(hint) is Literal else (True, False) if hint is bool else ()


def check(group: str, options: Any) -> None:
    """Hold each field of a record to its `Range`, or to its choices.

    Args:
        group: what messages call the record.
        options: a dataclass whose numbers are declared as `Annotated[int, Range(...)]`.

    Raises:
        LinkerError: a value is not among them; the message names the option, the value and what is expected.
    """
    for name, hint in _hints(options.__class__).items():
        value = getattr(options, name)
        some = choices(hint)
        if some and value not in some:
            raise LinkerError(
                f"{group}.{name} is {shorten(repr(value))}; choose one of: {', '.join(str(choice).lower() for choice in some)}"
            )
        for limit in getattr(hint, "__metadata__", ()):
            if not limit.holds(value):
                raise LinkerError(
                    f"{group}.{name} is {shorten(str(value))}; expected: {limit.expected(value)}"
                )
