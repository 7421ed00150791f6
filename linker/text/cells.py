"""What stands around a name in a cell, as people fill them in: marks, codes, cues, several names.

"2. E11.9 - h/o type 2 diabetes (2014)" is type 2 diabetes, historical. A text that is a name of the
dictionary is left as it is: nothing of it is a mark.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Literal

from linker.records import Assertion, Span
from linker.text import assertion, clauses, composites, scales, things
from linker.text.assertion import stronger
from linker.text.clauses import Clause
from linker.text.composites import IsName
from linker.text.functions import is_function, lacking
from linker.text.modifiers import kept_together
from linker.text.normalize import rows_of, without_unseen

LONGEST = 1_000  # characters of a cell that is read
LABEL_ENDS = " :=|–—-"
"""What may stand between the label of a field and what is entered."""
_MOST_LABELS = 3  # colons and dashes that may stand behind a label
_MOST_ROUNDS = 10  # in which marks and cues are taken off
_MOST_RESULTS = 4  # of tests, in brackets or behind other marks
_LONGEST_NAME = 200  # characters of a text that may be a name, or end with one
_LONGEST_LABELLED = 400  # characters of a name with a label in front of it
_END = 200  # characters in which what stands behind a name is looked for
_MOST_WORDS = 8  # of a text that is searched for a name at its end
_SHORTEST = 4  # characters of such a name
_REMEMBERED = 30_000  # texts of which it is kept what names may be in them

_LINE = re.compile(r"<\s*(?:br|/p|/li|/div|/td|/tr)\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-z][^<>]*>", re.IGNORECASE)
_BETA = re.compile(r"(?<![^\W\d_])ß(?![^\W\d_])")  # in no word, it is typed for a Greek letter
_SPACE = re.compile(r"[^\S\n]+")
_REPEATED = re.compile(r"((?![?\ufffd])[\W_]{1,4}?)\1{7,}")  # signs, of which a line may be drawn
_LINE_DRAWN = 40  # characters of a text that is searched for them


def _patterns() -> Mapping[str, list[re.Pattern[str]]]:
    """The patterns of marks.tsv, which says what its columns are."""
    parts: dict[str, str] = {}
    patterns: dict[str, list[re.Pattern[str]]] = {}
    for name, case, pattern in rows_of("marks.tsv"):
        for part, of_part in parts.items():
            pattern = pattern.replace(f"<{part}>", of_part)
        if not case:
            parts[name] = pattern
            continue
        compiled = re.compile(pattern, re.IGNORECASE if case == "any" else 0)
        patterns.setdefault(name, []).append(compiled)
    return patterns


_PATTERNS = _patterns()
_ONE = {name: of_one[0] for name, of_one in _PATTERNS.items()}

_PRESENT: Assertion = "present"
_AROUND = re.compile(r"^[\W_]+|(?<![\W_])[\W_]+$")  # a run is entered at its start alone
_UNMARKED = re.compile(r"[^\W\d_](?:[^\W\d_]|[ '-])*[^\W\d_]")
_ASKED = re.compile(r"\s*[(\[]?\?+[)\]]?\s*")
_CROSSED_LETTERS = re.compile(r"(?:[^\u0335-\u0338][\u0335-\u0338])+")
_CROSSED_OUT = re.compile(
    r"~~(?P<marked>.+?)~~|<(?P<tag>s|del|strike)\b[^<>]*>(?P<tagged>.*?)</(?P=tag)\s*>",
    re.IGNORECASE | re.DOTALL,
)
_WRAPPED = re.compile(r"([(\[{<\"'“‘«|])\s*(.+?)\s*([)\]}>\"'”’»|])", re.DOTALL)
_PAIRS = (("(", ")"), ("[", "]"), ("{", "}"))
_CLOSING = dict(zip("([{<\"'“‘«|", ")]}>\"'”’»|", strict=True))

_BEHIND_LABEL = r"\s*(?:[:=|]+|[-–—]+(?!ve\b))\s*|\s+|$"  # "-ve" is an entry

_STATES = r"(?:(?:he|she|pt|patient)\s+)?(?:has|have|positive for|\+ve for|diagnosed with)\s"
_STRONG = re.compile(rf"\s*(?:[;|¦]|(?<!-)\n|[•·▪●]|,?\sbut\s|,\s*(?={_STATES}))\s*", re.IGNORECASE)
_STRONG_IN_TEXT = re.compile(r"\s*[;|¦]\s*")
_ITEM = re.compile(r"(?:^|(?<=[\s;,.|]))\(?(\d{1,2})[.)](?:\s*(?=[^\W\d_])|\s+(?=\d+[^\W\d_]))")
_DIVIDES = re.compile(r",|\s[-–—]+\s")  # names of which a cue behind the last holds for it alone
_LAST = re.compile(r"(.*\S)(?:\s*,\s*|\s+[-–—]+\s+|\s+with\s+)(.+)", re.DOTALL)
_BUT = re.compile(r",?\s+but\s+(?=(?:with\s+)?(?:no|not|without)\s)", re.IGNORECASE)
_BEFORE_RESULT = re.compile(r"\s+[-–—]+\s+|\s*(?:/|:(?=\s))\s*")
_AMONG_TESTED = re.compile(r"\s*[,;:/&+(]\s*|\s+(?:and|or|[-–—]+)\s+")
_JOINED = re.compile(r"\s(?:and|or|nor|und|et|y)\s", re.IGNORECASE)
_VERSUS = re.compile(r"\b(?:vs|versus)\b")

_STAGE = re.compile(r"(.*[^\W\d_])[ -](?:st\.? |gr\.? |stage )?(\d[ab]?|[IV]{1,3})", re.IGNORECASE)
_CUT = re.compile(r"[^\W\d_]{2}\.(?:\s+[^\W\d_]|$)")
_SIDE = re.compile(r"(?<![\w/])(?:[LR]|[LR]t|LT|RT|B/L|bilat|left|right|bilateral)(?![\w/])\.?")

# what a name may lack: how bad, how far, on which side
_BRACKETS = re.compile(r"\s*[(\[{][^()\[\]{}]*[)\]}]?\s*")


Aside = Literal["extra", "tail"]
"""What is left out of a text: grades, stages, sides and brackets; or all behind its head, too."""


@dataclass(frozen=True, slots=True)
class CellPart:
    """A name in a cell, without what stands around it."""

    text: str
    assertion: Assertion = "present"
    is_doubtful: bool = False  # it counts only if it names a concept: "no medication" does not


def plain(text: str) -> str:
    """A text without tags, entities and unseen characters, with β for ß and straight quotes.

    What is crossed out stands on a line of its own, with a sign of denial.
    """
    if not text.isascii():
        text = _CROSSED_LETTERS.sub(lambda m: f"\n∅ {m[0][::2]}\n", text)
    if "&" in text:
        text = html.unescape(text)
    if "~~" in text or "</" in text:
        text = _CROSSED_OUT.sub(lambda m: f"\n∅ {m['marked'] or m['tagged']}\n", text)
    if "<" in text:
        text = _TAG.sub("", _LINE.sub("\n", text))
    if "ß" in text:
        text = _BETA.sub("β", text)
    text = without_unseen(text).replace("’", "'")
    if len(text) > _LINE_DRAWN:
        text = _REPEATED.sub(r"\1\1\1", text)
    return _SPACE.sub(" ", text).strip()


def parts(
    text: str,
    is_name: IsName,
    codes: tuple[str, ...] = ("en",),
    *,
    is_known: IsName | None = None,
    is_modifier: IsName = lambda _: False,
    lines: bool = True,
) -> list[CellPart]:
    """The names in a cell; none where nothing was entered, or marks, codes and dates alone.

    It is taken apart at semicolons, bars, line ends and numbers of items; at commas, slashes and
    the like only where both parts, or two and half of several, are names. A cell of more than
    1,000 characters is not read.

    Args:
        text: as it is written, but for `plain`.
        is_name: tells the names of the dictionary.
        codes: of the languages whose cues are looked for.
        is_known: tells what may be a name in another spelling; None: `is_name`.
        is_modifier: tells what stays with the name before it: "asthma; severe".
        lines: whether a line end divides names; it does not in running text.
    """
    if len(text) > LONGEST:
        return []
    if is_name(text) and not _is_signed(text):
        return [CellPart(text)]  # also "unknown", where the dictionary has such a concept
    if is_nothing(text, codes):
        return []
    if _is_plain(text, codes):
        return [CellPart(text)]
    known = is_known or is_name
    whole = bare(text, is_name, codes, is_known=known, behind=False)
    if is_name(whole.text):  # which may hold a semicolon
        return [whole]
    text = _ONE["tag"].sub("", text)  # of SNOMED, no name: "gout excluded (situation)"
    between = _STRONG if lines else _STRONG_IN_TEXT
    found: list[CellPart] = []
    of_all = _PRESENT
    if lines:  # "migraine but no aura" may be a name, which "but" would divide
        text = _BUT.sub(" ", text)
    if lines and ":" in text:
        text = _ONE["ticked"].sub(r"\1;", text)  # "asthma: no gout: yes"
    pieces = [piece for item in _items(text) for piece in _outside_brackets(item, between)]
    pieces = kept_together(pieces, is_modifier)
    pieces = [_without_results(piece, is_name, known, codes, is_modifier) for piece in pieces]
    pieces = [part for piece in pieces for part in _without_normal(piece, is_name, known, codes)]
    read = _clauses if lines else _read
    for place, piece in enumerate(pieces):
        if lines:
            values = scales.spans(
                piece, is_name, is_first=not place, is_known=known, is_modifier=is_modifier
            )
            piece = ", ".join(clauses.without(piece, values)) if values else piece
        if _ONE["alone"].fullmatch(piece.strip(" ()[]{}.,:-")):
            continue
        cue = piece.strip(" ()[].")
        of_last = assertion.alone(cue, codes)
        is_cue = not is_nothing(piece, codes) or assertion.is_normal(cue, codes)
        if found and of_last is not None and is_cue:
            found[-1] = replace(found[-1], assertion=stronger(found[-1].assertion, of_last))
            continue
        if (said := assertion.heading(piece.strip(), codes)) is not None:
            of_all = said
            continue
        of_piece = list(read(piece, is_name, known, codes, is_modifier))
        of_all = _heading_of(piece, codes) or of_all
        found += [replace(p, assertion=stronger(p.assertion, of_all)) for p in of_piece]
    return list(dict.fromkeys(found))


def _is_plain(text: str, codes: tuple[str, ...]) -> bool:
    """Whether a text is words alone, none of which is a mark, a cue, a scale or between names."""
    return bool(
        _UNMARKED.fullmatch(text)
        and not _is_signed(text)
        and not _STRONG.search(text)
        and not _ONE["weak"].search(text)
        and not _ONE["marking"].search(text)
        and not _ONE["alone"].fullmatch(text)
        and not assertion.may_hold_cue(text, codes)
        and not scales.is_alone(text)
    )


def _without_results(
    piece: str, is_name: IsName, is_known: IsName, codes: tuple[str, ...], is_modifier: IsName
) -> str:
    """A piece without the results of tests behind its names: "epilepsy (EEG normal)".

    A test that is normal or negative does not deny the disease that it was made for.
    """
    is_marked = _BRACKETS.search(piece) or _BEFORE_RESULT.search(piece)
    if not is_marked or len(piece) > _LONGEST_LABELLED or is_name(piece):
        return piece

    def is_disease(text: str) -> bool:
        name = bare(text, is_name, codes, is_known=is_known).text
        return _is_named(name, is_name, is_known) and not is_function(name)

    for bracket in list(_BRACKETS.finditer(piece))[: -_MOST_RESULTS - 1 : -1]:
        tested = _tested(bracket[0], is_name, is_known, codes, is_modifier)
        before = piece[: bracket.start()]
        if tested and is_disease(before):
            piece = f"{before} {piece[bracket.end() :]}".strip().replace(" ,", ",")
    for mark in list(_BEFORE_RESULT.finditer(piece))[: -_MOST_RESULTS - 1 : -1]:
        tested = _tested(piece[mark.end() :], is_name, is_known, codes, is_modifier)
        is_between_names = mark[0].strip() == "/" and not assertion.names_test(f" {tested}")
        before = piece[: mark.start()]
        if tested and not is_between_names and is_disease(before):
            return before
    return piece


def _tested(
    text: str, is_name: IsName, is_known: IsName, codes: tuple[str, ...], is_modifier: IsName
) -> str:
    """What a text says to be normal or negative; empty where that may be a disease itself.

    "Type 2" of "diabetes (type 2): negative" is no test.
    """
    cue = assertion.cue_of(text.strip(" ()[]{},;:"), codes, is_name)
    if cue is None or not (cue.is_normal or cue.is_result):
        return ""
    members = [member for member in _AMONG_TESTED.split(cue.rest) if member.strip()]
    if any(is_known(bare(member, is_name, codes).text) for member in members):
        return ""
    is_of_disease = things.is_of_disease(cue.rest) or is_modifier(cue.rest)
    return "" if is_of_disease else cue.rest


def _without_normal(
    piece: str, is_name: IsName, is_known: IsName, codes: tuple[str, ...]
) -> list[str]:
    """A piece without what it says to be normal beside a name, unless that is a name, too.

    Of "epilepsy, development normal" it is "epilepsy"; where no name stands beside it, each is
    left: "gait normal, speech normal".
    """
    clauses_of_piece = [clause for clause in piece.split(", ") if clause.strip()]
    if len(clauses_of_piece) < 2:
        return [piece]
    cues = [assertion.cue_of(clause.strip(), codes, is_name) for clause in clauses_of_piece]
    if not any(cue and cue.is_normal for cue in cues):
        return [piece]
    if name := clauses.denying_name(piece, codes, partial(_is_denying, is_name=is_name)):
        return [name]
    normal: list[str] = []
    others: list[str] = []
    for clause, cue in zip(clauses_of_piece, cues, strict=True):
        (normal if cue and cue.is_normal else others).append(clause)
    if not others:
        return normal
    if not any(is_known(bare(clause, is_name, codes).text) for clause in others):
        return [piece]
    named = [clause for clause in normal if is_known(bare(clause, is_name, codes).text)]
    return [", ".join(others), *named]


def _is_signed(text: str) -> bool:
    """Whether a text has signs that the normal form drops, and that say something."""
    if not _may_be_signed(text):
        return "?" in text
    return "?" in text or any(_ONE[name].search(text) for name in ("denied", "denied_behind"))


def _may_be_signed(text: str) -> bool:
    """Whether a text begins or ends with what is no letter and no digit, or with "Ø"."""
    ends = text[:1] + text[-1:]
    return not ends.isalnum() or "ø" in ends.lower()


def _heading_of(piece: str, codes: tuple[str, ...]) -> Assertion | None:
    """What the beginning of a piece up to a colon says of all names behind it."""
    head, colon, _ = piece.partition(":")
    if not colon or assertion.comes_to_patient(piece):  # "mother: asthma, self: gout"
        return None
    return assertion.heading(head.strip() + colon, codes)


def without_label(text: str, labels: tuple[str, ...], is_name: IsName) -> str:
    """A cell without the label of its field, where it begins with one; a name stays as it is.

    Args:
        text: as `plain` gives it.
        labels: as the user gives them, in any case, with or without a colon at their end.
        is_name: tells the names of the dictionary.

    Returns:
        An empty text where the cell holds nothing but the label.
    """
    match = _labels_of(labels).match(text)
    if match is None or is_name(text):
        return text
    return text[match.end() :]


@lru_cache(maxsize=32)
def _labels_of(labels: tuple[str, ...]) -> re.Pattern[str]:
    """The pattern of labels at the beginning of a cell, the longest first."""
    written = [plain(label).rstrip(LABEL_ENDS) for label in labels]
    written.sort(key=len, reverse=True)
    escaped = [r"\s+".join(map(re.escape, label.split())) for label in written]
    return re.compile(rf"(?:{'|'.join(escaped)})(?:{_BEHIND_LABEL})", re.IGNORECASE)


def is_nothing(text: str, codes: tuple[str, ...]) -> bool:
    """Whether a cell says that nothing was entered: "n/a", "unknown", "see letter".

    Words of all languages are known; those of a few letters mean something else in another one.
    """
    words = _AROUND.sub("", text.casefold().replace("’", "'")).split()
    language = _nothing().get(" ".join(words))
    return language is not None and (language in ("any", "en", *codes) or len("".join(words)) > 3)


@lru_cache(maxsize=1)
def _nothing() -> Mapping[str, str]:
    """The table of what stands for nothing, each with its language."""
    return {words: language for language, words in rows_of("nothing.tsv")}


def _items(text: str) -> list[str]:
    """A text cut before the numbers of its items, where these count up from the first one."""
    marks = list(_ITEM.finditer(text))
    numbers = [int(mark[1]) for mark in marks]
    if len(marks) < 2 or numbers != list(range(numbers[0], numbers[0] + len(marks))):
        return [text]
    starts = [mark.start() for mark in marks]
    return [
        text[: starts[0]],
        *(text[a:b] for a, b in zip(starts, [*starts[1:], None], strict=True)),
    ]


def _outside_brackets(text: str, between: re.Pattern[str]) -> list[str]:
    """A text split at separators, but for those in a bracket: "(G6PD; EC 1.1.1.49)"."""
    pieces: list[str] = []
    start = 0
    for match in between.finditer(text):
        piece = text[start : match.start()]
        is_outside = all(
            piece.count(opening) <= piece.count(closing) or closing not in text
            for opening, closing in _PAIRS
        )
        if is_outside:
            pieces.append(piece)
            start = match.end()
    return [*pieces, text[start:]]


def _read(
    piece: str, is_name: IsName, is_known: IsName, codes: tuple[str, ...], is_modifier: IsName
) -> Iterator[CellPart]:
    """The name in a piece of a cell, or the names that weak separators divide."""
    whole = bare(piece, is_name, codes, is_known=is_known)
    if not any(map(str.isalpha, whole.text)) or is_nothing(piece, codes):
        return
    members = [] if is_name(whole.text) else divided(piece, is_name, is_known, codes, is_modifier)
    if _are_names(members, is_known):
        yield from members
    else:
        yield whole


def _are_names(members: Sequence[CellPart], is_known: IsName) -> bool:
    """Whether two and at least half of the texts between weak separators are names."""
    known = sum(is_known(member.text) for member in members)
    return known > 1 and 2 * known >= len(members)


def _clauses(
    piece: str,
    is_name: IsName,
    is_known: IsName,
    codes: tuple[str, ...],
    is_modifier: IsName,
) -> Iterator[CellPart]:
    """The names in a piece of a cell, whose clauses are read one by one, in their order."""

    def is_named(text: str) -> bool:
        is_long = len(text) > _LONGEST_NAME
        return not is_long and _is_named(
            bare(text, is_name, codes, is_known=is_known).text, is_name, is_known
        )

    piece = _ONE["either"].sub("with or without", piece)
    is_alone = scales.is_alone(piece.strip(" ()[].,:")) or clauses.is_empty(piece, codes)
    if is_alone and not is_name(bare(piece, is_name, codes).text):
        return
    cut = clauses.cut(piece, codes, is_name, is_named, partial(_is_denying, is_name=is_name))
    members: list[CellPart] = []
    rests: list[str] = []
    for rest in cut.rests if cut else [piece]:
        asides = _asides(rest, is_name, is_known, codes)
        members += [aside for aside, _ in asides]
        rests += clauses.without(rest, [span for _, span in asides]) if asides else [rest]
    denied = [
        part
        for clause in (cut.clauses if cut else ())
        for part in _of_clause(clause, is_name, is_known, codes)
    ]
    if not cut and (last := _last_denied(piece, is_named, is_name, codes)):
        rests, denied = last
    members += _of_rests(rests, denied, is_name, is_known, codes, is_modifier)
    yield from sorted(members + denied, key=lambda member: piece.find(member.text.split()[0]))


def _is_denying(text: str, is_name: IsName) -> bool:
    """Whether a text is a name that denies, grades and sides aside: "migraine without aura"."""
    short = ungraded(_without_marks(text, is_name), is_name)
    return is_name(short) and any(f" {word} " in short for word in clauses.DENYING)


def _asides(
    piece: str, is_name: IsName, is_known: IsName, codes: tuple[str, ...]
) -> list[tuple[CellPart, Span]]:
    """The names that brackets say something of, with the spans of these: "(gout: no)"."""
    asides = []
    for match in _BRACKETS.finditer(piece):
        if any(map(str.isalpha, piece[: match.start()])):
            inner = bare(match[0].strip(" ()[]{}"), is_name, codes, is_known=is_known)
            is_list = _ONE["listed"].search(inner.text) and not is_name(inner.text)
            if inner.assertion != _PRESENT and is_known(inner.text) and not is_list:
                asides.append((inner, match.span()))
    return asides


def _last_denied(
    piece: str, is_named: IsName, is_name: IsName, codes: tuple[str, ...]
) -> tuple[list[str], list[CellPart]] | None:
    """A piece without the last name in it, and this, where a cue behind it is of it alone."""
    match = _LAST.fullmatch(piece) if len(piece) < _LONGEST_NAME else None
    if match is None:
        return None
    head, last = match.groups()
    part = bare(last, is_name, codes)
    is_behind = part.assertion != bare(last, is_name, codes, behind=False).assertion
    if part.assertion == _PRESENT or not is_behind or not is_named(last) or not is_named(head):
        return None
    return [head], [part]


def _of_rests(
    rests: list[str],
    denied: list[CellPart],
    is_name: IsName,
    is_known: IsName,
    codes: tuple[str, ...],
    is_modifier: IsName,
) -> list[CellPart]:
    """The names in what is left of a piece, which may have commas between them.

    Args:
        rests: what is left, one text for a piece without clauses.
        denied: the names in the clauses, which count among those between the commas.
        is_name, is_known, codes, is_modifier: as of `parts`.
    """
    text = ", ".join(rests)
    joined = bare(text, is_name, codes, is_known=is_known)
    if not any(map(str.isalpha, joined.text)) or is_nothing(text, codes):
        return []
    apart = divided(text, is_name, is_known, codes, is_modifier)
    if not is_name(joined.text):
        if _are_names(apart, is_known):
            return apart
        is_short = len(text) <= _LONGEST_NAME
        # not "gout and jaw tumor syndrome"
        if is_short and not _JOINED.search(text) and _are_diseases(apart, is_name, is_known):
            return apart
    if len(rests) == 1 and not denied:
        return [joined]
    divisible = [member for member in apart if not _ONE["tail"].match(f" {member.text} ")]
    known = sum(is_known(member.text) for member in divisible)
    known_denied = sum(not part.is_doubtful for part in denied)
    if 2 * (known + known_denied) < len(divisible) + len(denied):
        divisible = []
    whole = _read(rests[0], is_name, is_known, codes, is_modifier)
    return divisible or [
        *whole,
        *(
            member
            for rest in rests[1:]
            if not _ONE["tail"].match(f" {rest} ")  # "on insulin" names nothing
            for member in _read(rest, is_name, is_known, codes, is_modifier)
        ),
    ]


def _are_diseases(members: list[CellPart], is_name: IsName, is_known: IsName) -> bool:
    """Whether all of some texts are names, or end with one that ends no other one of them.

    "Gout, renal nephropathy" is two, "leukemia, Philadelphia positive leukemia" is one.
    """
    texts = [member.text for member in members]
    last_words = {text.split()[-1].lower() for text in texts}
    return (
        1 < len(texts) == len(last_words)
        and not any(_ONE["tail"].search(f" {text} ") for text in texts)
        and all(_is_named(text, is_name, is_known) for text in texts)
    )


def _of_clause(
    clause: Clause, is_name: IsName, is_known: IsName, codes: tuple[str, ...]
) -> Iterator[CellPart]:
    """The names in a clause; those that are no names of the dictionary are doubtful."""
    whole = bare(clause.text, is_name, codes, is_known=is_known)
    if not any(map(str.isalpha, whole.text)):
        return
    written = [text for text in _ONE["listed"].split(clause.text) if any(map(str.isalpha, text))]
    members = [bare(text, is_name, codes, is_known=is_known) for text in written]
    members = [member for member in members if any(map(str.isalpha, member.text))]
    is_list = len(members) > 1 and all(is_known(member.text) for member in members)
    is_one = is_name(whole.text) or (not is_list and len(composites.split(whole.text, is_name)) > 1)
    if is_one or len(members) < 2:
        is_certain = is_one or _is_named(whole.text, is_name, is_known)
        yield CellPart(whole.text, stronger(whole.assertion, clause.assertion), not is_certain)
        return
    for member in members:
        said = stronger(member.assertion, clause.assertion)
        yield CellPart(member.text, said, not is_known(member.text))


def _is_named(text: str, is_name: IsName, is_known: IsName) -> bool:
    """Whether a text is a name, in another spelling perhaps, or its last words are one."""
    if is_known(text):
        return True
    words = text.split()
    endings = (" ".join(words[place:]) for place in range(1, min(len(words), _MOST_WORDS)))
    return any(len(ending) >= _SHORTEST and is_name(ending) for ending in endings)


def divided(
    text: str, is_name: IsName, is_known: IsName, codes: tuple[str, ...], is_modifier: IsName
) -> list[CellPart]:
    """The texts between commas, slashes and the like; none where none of them is a name.

    A cue in front of all holds for each; one behind all does, too, unless commas divide them.
    """
    if len(text) > LONGEST or not _ONE["weak"].search(text):
        return []
    inner = bare(text, is_name, codes, is_known=is_known, behind=not _DIVIDES.search(text))
    written = [member for member in _ONE["weak"].split(inner.text) if member.strip()]
    written = kept_together(written, is_modifier)
    if len(written) < 2 or any(m.count("(") != m.count(")") for m in written):
        return []
    of_all = stronger(inner.assertion, "possible" if _VERSUS.search(text) else _PRESENT)
    members = [bare(member, is_name, codes, is_known=is_known) for member in written]
    are_names = all(any(map(str.isalpha, member.text)) for member in members)
    if not are_names or not any(is_known(member.text) for member in members):
        return []
    return [replace(m, assertion=stronger(m.assertion, of_all)) for m in members]


def is_respelt(text: str, is_name: IsName) -> bool:
    """Whether a text is a name, perhaps in the singular."""
    return is_name(text) or (text[-1:] == "s" and is_name(text[:-1]))


def bare(
    text: str,
    is_name: IsName,
    codes: tuple[str, ...],
    *,
    is_known: IsName | None = None,
    behind: bool = True,
    is_labelled: bool = True,
) -> CellPart:
    """A text without marks, codes, dates and cues at its ends, and what the cues say.

    Args:
        text: a cell, or a part of one.
        is_name: tells the names of the dictionary, of which nothing is taken off.
        codes: of the languages whose cues are looked for.
        is_known: tells what may be a name in another spelling; None: `is_name`.
        behind: whether cues at the end are.

    Returns:
        For a function that is lacking the name of that, or an empty text, as for one that is denied
        otherwise: "spleen not palpable".
    """
    known = is_known or is_name
    said, text, before = _PRESENT, text.strip(), ""
    is_normal = False
    is_lacking = False
    if "?" in (text[:2] + text[-3:]):
        said, text = "possible", _ASKED.sub(" ", text).strip()
    for _ in range(_MOST_ROUNDS):
        if text == before:
            break
        before = text
        text, said = _without_signs(text, said)
        if is_name(text):
            break
        text, said = _without_signs(_without_marks(text, is_name), said)
        if is_name(text):
            break
        labelled = _without_label(text, is_name, codes, known) if is_labelled else None
        if labelled:
            text = labelled.text
            said = stronger(said, labelled.assertion)
            break
        cue = assertion.cue_of(text, codes, is_name, behind=behind)
        if cue and (
            not cue.is_weak or _is_spelt(_without_marks(cue.rest, is_name), is_name, known)
        ):
            text, said = cue.rest, stronger(said, cue.assertion)
            is_normal = is_normal or cue.is_normal
            is_lacking = is_lacking or cue.is_lacking
    if said == "absent" and not is_normal and is_function(text):
        finding = next(filter(is_name, lacking(text) if is_lacking else ()), "")
        if finding or not is_name(text):
            return CellPart(finding)
    return CellPart(text, said)


def _without_label(
    text: str, is_name: IsName, codes: tuple[str, ...], is_known: IsName
) -> CellPart | None:
    """The name behind the label of a field, "Reason for visit: gout"; None: no label is before one.

    A label has a word of labels, or many words; what is a name itself, and a cue, is none.
    """
    if len(text) > _LONGEST_LABELLED:
        return None
    for match in itertools.islice(_ONE["label"].finditer(text), _MOST_LABELS):
        label = text[: match.start()]
        if not any(map(str.isalpha, label)) or is_known(label):
            return None
        if assertion.heading(f"{label}:", codes) or not _ONE["labelling"].search(label):
            continue
        rest = text[match.end() :]
        part = bare(rest, is_name, codes, is_known=is_known, is_labelled=False)
        if is_name(part.text):
            said = stronger(part.assertion, assertion.of_label(label, codes))
            return replace(part, assertion=said)
    return None


def _without_signs(text: str, said: Assertion) -> tuple[str, Assertion]:
    """A text without the signs of denial at its ends, and what is said then."""
    if not _may_be_signed(text):
        return text, said
    for sign in ("denied", "denied_behind"):
        start = 0 if sign == "denied" else max(0, len(text) - _END)
        match = _ONE[sign].search(text, start)
        rest = text[: match.start()] + text[match.end() :] if match else ""
        if any(map(str.isalpha, rest)):
            text = rest.strip()
            said = stronger(said, "absent")
    return text, said


def _is_spelt(text: str, is_name: IsName, is_known: IsName) -> bool:
    """Whether all of a text is known."""
    return is_name(text) or (is_known(text) and not _ONE["tail"].search(text))


def _without_marks(text: str, is_name: IsName) -> str:
    """A text without the marks at its ends, unless nothing else is left."""
    if _UNMARKED.fullmatch(text) and not _ONE["marking"].search(text):
        return text  # as most are
    wrapped = _WRAPPED.fullmatch(text)
    if wrapped and _CLOSING[wrapped[1]] == wrapped[3] and _is_closed(*wrapped.groups()):
        text = wrapped[2]
    known = _ONE["known"].match(text)
    if known and is_name(text[known.end() :]):
        return text[known.end() :]
    if is_name(text):
        return text
    for pattern in (*_PATTERNS["before"], _ONE["date"]):
        match = pattern.match(text)
        if match and any(map(str.isalpha, text[match.end() :])):
            text = text[match.end() :]
            if is_name(text):
                return text
    start = max(0, len(text) - _END)
    for pattern in _PATTERNS["behind"]:
        match = pattern.search(text, start)
        if match and any(map(str.isalpha, text[: match.start()])):
            text = text[: match.start()]
            start = max(0, len(text) - _END)
            if is_name(text):
                return text
    return text.strip()


def _is_closed(opening: str, inner: str, closing: str) -> bool:
    """Whether each bracket inside a pair is closed there: "(a) b (c)" is not in one pair."""
    depth = 0
    for character in inner:
        depth += (character == opening) - (character == closing)
        if depth < 0:
            return False
    return depth == 0 and (opening != closing or opening not in inner)


@lru_cache(_REMEMBERED)
def shortened(text: str) -> Sequence[tuple[str, Aside]]:
    """What may be the name in a text, and what is left out of it then."""
    shorter: list[tuple[str, Aside]] = []
    without = _without_extras(text)
    if without != text and any(map(str.isalpha, without)):
        shorter.append((without, "extra"))
    if tail := _ONE["tail"].search(text):
        head = _without_extras(text[: tail.start()])
        if head not in (text, without) and any(map(str.isalpha, head)):
            shorter.append((head, "tail"))
    return shorter


def ungraded(text: str, is_name: IsName) -> str:
    """A text up to the first name without how bad it is, its stage, its side, and what it lacks."""
    while not is_name(text) and (marks := list(_ONE["sure"].finditer(text))):
        start, end = marks[-1].span()  # those behind come off first: "left heart failure, mild"
        if not (short := (text[:start] + text[end:]).strip()):
            break
        text = short
    return text


def unbracketed(text: str) -> str:
    """A text without what stands in brackets, unless nothing else is left."""
    return _BRACKETS.sub(" ", text).strip() or text


def staged(text: str) -> Iterator[str]:
    """What a text with a lone number behind it may be: "chronic kidney disease 3".

    The number is of a type or a stage that names may have; else it is left out.
    """
    stage = _STAGE.fullmatch(text)
    if stage:
        name, number = stage.groups()
        for word in ("type", "stage", "grade"):
            yield f"{name} {word} {number}"
            yield f"{word} {number} {name}"
        yield name


def has_cut_words(text: str) -> bool:
    """Whether a text has words with a point behind them, at its end or before other words."""
    return _CUT.search(text) is not None


def without_sides(text: str) -> str:
    """A text without the letters and words for sides inside: "osteoarthritis L hip"."""
    return _SPACE.sub(" ", _SIDE.sub("", text)).strip()


def _without_extras(text: str) -> str:
    before = ""
    text = unbracketed(text)
    while text != before:
        before = text
        text = _ONE["extra"].sub("", text).strip(" ,;:–—-") or text
    return text
