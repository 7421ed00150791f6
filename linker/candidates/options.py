"""The options of the index of a model's vectors; importing them needs no faiss."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from linker.fields import OptionGroup, Share

LARGE = 500_000
"""Names from which on `auto` takes indexes that may miss some of the best names."""


@dataclass(frozen=True, slots=True)
class IndexOptions(OptionGroup):
    """How the vectors of names are searched; a model folder is written accordingly."""

    group: ClassVar[str] = "index"

    # exact: each query with every name; auto: by the number of names;
    # ivf: vectors by faiss, however few the names
    kind: Literal["auto", "exact", "ivf"] = "auto"
    # lists that similar names share; 0: by the number of names
    lists: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    # lists that a search reads; 0: as few as `recall` needs
    probes: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    # share of the 20 best names by exact search that must be found; an index of less is refused
    recall: Share = 0.97


AUTO = IndexOptions()
