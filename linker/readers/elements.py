"""Elements of XML files of any length, one at a time; nothing in a file is resolved or fetched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

from linker.errors import InputError
from linker.files import Pathlike, line_limit, open_binary, reading, too_large

_BLOCK = 1 << 16  # bytes read at a time


def blocks_of(path: Pathlike) -> Iterator[bytes]:
    """The bytes of a file, plain or gzip, in blocks."""
    with open_binary(path) as file, reading(path):
        while block := file.read(_BLOCK):
            yield block


def elements(
    path: Pathlike, blocks: Iterable[bytes], form: str, root: str, tag: str
) -> Iterator[Any]:
    """Yield the elements of a tag below the root as they are complete; one at a time is in memory.

    Entities are left as they are, DTDs are not read, and nothing is fetched.

    Args:
        path: the file, for messages.
        blocks: its bytes.
        form: the name of the format.
        root: the tag that the element around all others must have.
        tag: of the elements.

    Raises:
        InputError: the XML is broken, its root is another one, or an element, or what stands
            before it, has more bytes than a line may have.
    """
    parser = etree.XMLPullParser(
        events=("end",), tag=tag, resolve_entities=False, no_network=True, load_dtd=False
    )
    size = 0  # of what is in memory
    try:
        for block in blocks:
            parser.feed(block)
            size += len(block)
            for _, element in parser.read_events():
                size = 0
                parent = element.getparent()
                _check_root(path, element if parent is None else parent, form, root)
                yield element
                element.clear()
                while (old := element.getprevious()) is not None and old.tag == tag:
                    parent.remove(old)
            if size > line_limit():
                what = f"a {tag}, or what stands before it,"
                raise too_large(what, line_limit()).at(path, None)
        _check_root(path, parser.close(), form, root)
    except etree.XMLSyntaxError as error:
        raise InputError(
            path,
            f"the XML is broken ({error.msg})",
            line=error.lineno,
            expected=f"{form} XML",
            remedy="fetch or write the file again",
        ) from None


def _check_root(path: Pathlike, element: Any, form: str, root: str) -> None:
    if element.tag != root:
        tag = f"its element <{element.tag}> stands where <{root}> should"
        problem, expected = f"the XML is no {form}: {tag}", f"{form} XML"
        remedy = f"give a {form} file, or name its format"
        raise InputError(path, problem, line=element.sourceline, expected=expected, remedy=remedy)
