"""Queries of the protocol, as clients send them, and what is wrong with bad ones."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic import model_validator as validator

from linker.errors import LinkerError

BATCH = 100  # queries in a batch, and at most as many answers to each
ENTITIES = 1_000  # concepts in a request for data extension
_PROPERTIES = 20  # in a query, or in a request for data extension
_VALUES = 100  # of a property in a query
_BATCH_VALUES = 5_000  # of all properties of a batch
_LIMIT = 5  # answers to a query that names no limit


_Read = TypeVar("_Read")


class Bad(LinkerError):
    """A request that cannot be answered.

    Args:
        message: one sentence that says why.
        status: of HTTP.
    """

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


def _texts(value: Any) -> list[str]:
    """The values of a property that are not empty, as texts; a reconciled cell is its id."""
    values = value if isinstance(value, list) else [value]
    values = [v["id"] if isinstance(v, dict) and "id" in v else v for v in values]
    if not all(v is None or isinstance(v, str | int | float) for v in values):
        raise ValueError("expected: texts, numbers, true or false, or reconciled cells with an id")
    return [str(v) for v in values if v is not None and str(v).strip()]


class Wanted(BaseModel):
    """What a query says of a property."""

    pid: str
    texts: Annotated[list[str], BeforeValidator(_texts)] = Field(alias="v", max_length=_VALUES)


class Query(BaseModel):
    """A query, of which version 0.1 needs the text, and 0.2 the text or a property.

    The text of an empty cell is empty, or null; the query has no answers then.
    """

    model_config = ConfigDict(extra="forbid")

    query: str | None = None
    type: str | list[str] | None = None
    limit: int | None = Field(None, ge=0)  # some clients write 0 for "as many as usual"
    properties: list[Wanted] = Field([], max_length=_PROPERTIES)
    type_strict: Literal["any", "all", "should"] | None = None

    @validator(mode="after")
    def _asks(self) -> Query:
        if "query" not in self.model_fields_set and not self.properties:
            raise ValueError("expected: query, or properties")
        return self

    @property
    def types(self) -> list[str]:
        """The ids of the wanted types."""
        types = [self.type] if isinstance(self.type, str) else self.type or []
        return [text for text in types if text]

    @property
    def k(self) -> int:
        """How many candidates are wanted."""
        return min(self.limit or _LIMIT, BATCH)


class ExtensionProperty(BaseModel):
    """A property to fetch."""

    id: str
    settings: dict[str, Any] | None = None


class ExtensionQuery(BaseModel):
    """What is to be fetched of which concepts."""

    ids: list[str]
    properties: list[ExtensionProperty] = Field(max_length=_PROPERTIES)


_BATCH = TypeAdapter(dict[str, Query])


def batch(text: str) -> dict[str, Query]:
    """Read the parameter `queries`."""
    queries = _checked(_BATCH, text, "queries")
    if len(queries) > BATCH:
        raise Bad(f"{len(queries)} queries in a batch; the service takes at most {BATCH}", 413)
    values = sum(len(w.texts) for query in queries.values() for w in query.properties)
    if values > _BATCH_VALUES:
        raise Bad(f"{values} values of properties; the service takes at most {_BATCH_VALUES}", 413)
    return queries


def single(text: str) -> Query:
    """Read the parameter `query` of version 0.1: a query, or its text alone."""
    if text.lstrip().startswith("{"):
        return _checked(TypeAdapter(Query), text, "query")
    return Query.model_validate({"query": text})


def extension(text: str) -> ExtensionQuery:
    """Read the parameter `extend`."""
    query = _checked(TypeAdapter(ExtensionQuery), text, "extend")
    if len(query.ids) > ENTITIES:
        raise Bad(f"{len(query.ids)} ids to extend; the service takes at most {ENTITIES}", 413)
    return query


def _checked(adapter: TypeAdapter[_Read], text: str, parameter: str) -> _Read:
    """Read JSON, and check it."""
    try:
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False).encode()  # which half of a surrogate pair is not in
        return adapter.validate_python(value)
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise Bad(f"{parameter} has {half!r}, which is half of a character") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise Bad(f"{parameter}: {place or 'the object'}: {first['msg']}") from None
    except (ValueError, RecursionError) as error:
        raise Bad(f"{parameter} is no JSON: {error}") from None
