"""Known misspellings and their corrections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from linker.errors import InputError, OnError, stop
from linker.io.files import Pathlike, read_lines
from linker.text import languages
from linker.text.normalize import NormalizeOptions, normalize

NO_PAIR = "this is no pair of texts"


def read(path: Pathlike, on_error: OnError = stop) -> dict[str, str]:
    """Read a spelling list, `wrong||right` on each line; an empty right side drops the word.

    Args:
        path: the file.
        on_error: what to do with a line that is none of these; returns to skip it.

    Raises:
        InputError: a line has no `||`, or nothing before it, and `on_error` raises.
    """
    pairs = read_pairs(path, "||", lambda wrong, _: "" if wrong else NO_PAIR, on_error)
    return {" ".join(wrong.split()): " ".join(right.split()) for wrong, right in pairs}


def read_pairs(
    path: Pathlike, sign: str, problem_of: Callable[[str, str], str], on_error: OnError
) -> Iterator[tuple[str, str]]:
    """Yield the two sides of each line of a list; lines that begin with # are notes.

    Args:
        path: the file.
        sign: between the sides.
        problem_of: what is wrong with a pair; empty: nothing.
        on_error: what to do with a line that is wrong; returns to skip it.
    """
    for number, line in read_lines(path, on_error=on_error):
        if not line.strip() or line.startswith("#"):
            continue
        left, *right = (side.strip() for side in line.split(sign))
        if not (problem := problem_of(left, right[0]) if len(right) == 1 else NO_PAIR):
            yield left, right[0]
            continue
        expected, remedy = f"two texts with {sign!r} between them", "mend or delete the line"
        on_error(
            InputError(path, problem, line=number, value=line, expected=expected, remedy=remedy)
        )


def correct(text: str, corrections: Mapping[str, str]) -> str:
    """Replace the words and phrases of a spelling list; case matters.

    Words are split at white space. At each word the longest phrase of the list is taken, and what
    replaces it is not corrected again.
    """
    words = text.split()
    longest = max((key.count(" ") + 1 for key in corrections), default=0)
    result: list[str] = []
    at = 0
    while at < len(words):
        for size in range(min(longest, len(words) - at), 0, -1):
            if (phrase := " ".join(words[at : at + size])) in corrections:
                result += corrections[phrase].split()
                at += size
                break
        else:
            result.append(words[at])
            at += 1
    return " ".join(result)


def normalized(
    corrections: Mapping[str, str], options: NormalizeOptions, language: str = "en"
) -> dict[str, str]:
    """Bring both sides of a spelling list into normal form; see `normal_form`."""
    form = partial(normal_form, options=options, corrections={}, language=language)
    return {form(wrong): form(right) for wrong, right in corrections.items()}


def normal_form(
    text: str, options: NormalizeOptions, corrections: Mapping[str, str], language: str = "en"
) -> str:
    """The form of a name by which it is indexed and looked up.

    Args:
        text: the name as written.
        options: of the normal form.
        corrections: a spelling list in normal form; see `normalized`.
        language: the languages whose rules are used; see `languages.named`.
    """
    for spoken in languages.named(language):
        text = spoken.plain(text)
    text = normalize(text, options)
    return correct(text, corrections) if corrections else text
