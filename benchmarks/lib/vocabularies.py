"""Vocabularies of several domains, each with mentions that people wrote for its concepts.

A vocabulary is a dictionary, mentions whose concepts it has, and the domains whose names it has no
concept for. Vocabularies that share concepts, texts or annotators are of one group: what is fitted
for a judgement of one of them has seen none of its group.
"""

from __future__ import annotations

import csv
import gzip
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np

from benchmarks.lib.data import CORPORA, documents, locate, medic
from benchmarks.lib.linkers import ONTOLOGIES, with_lent
from linker import Dictionary, Document, Mention
from linker.io import mentions as corpora
from linker.io import table
from linker.io.files import read_lines
from linker.records import Concept, GoldGroup, Name
from linker.text.normalize import normalize

SEED = 0
MOST = 2_500  # mentions that are asked of a vocabulary
DOID, HPO = ONTOLOGIES
BIORED = {
    "chemical": "ChemicalEntity",
    "disease": "DiseaseOrPhenotypicFeature",
    "gene": "GeneOrGeneProduct",
    "species": "OrganismTaxon",
    "cell line": "CellLine",
}
"""Domains, and the types by which BioRED marks their names."""
SPLITS = {"train": "other/BioRED_Train.pubtator.txt.gz", "dev": "other/BioRED_Dev.pubtator.txt.gz"}

Items = Sequence[Mention | Document]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A dictionary, and what is asked of it."""

    title: str
    group: str
    dictionary: Callable[[], Dictionary]
    asked: Callable[[Dictionary], Items]  # mentions whose concepts are in the dictionary
    foreign: Sequence[str]  # domains whose names have no concept in it
    is_of_names: bool = False  # whether names of dictionaries are asked, not what people wrote
    is_learnt: bool = False  # whether mentions are asked of a dictionary that learnt others, too

    @property
    def model(self) -> str:
        """A name for the model of its dictionary, which several vocabularies may share."""
        return MODELS.get(self.dictionary, self.title)


def annotated(text: str, concept: str) -> Mention:
    """A mention of one concept."""
    return Mention(text, gold=(GoldGroup((concept,)),))


def sample(mentions: Sequence[Mention]) -> list[Mention]:
    """At most `MOST` of some mentions."""
    order = np.random.default_rng(SEED).permutation(len(mentions))[:MOST]
    return [mentions[place] for place in sorted(order.tolist())]


def distinct(mentions: Iterable[Mention], dictionary: Dictionary) -> list[Mention]:
    """The mentions of distinct texts and concepts, of which the dictionary has one."""
    kept: dict[tuple[str, object], Mention] = {}
    for mention in mentions:
        ids = [identifier for group in mention.gold or () for identifier in group.ids]
        if any(map(dictionary.rows, ids)):
            kept.setdefault((mention.text.lower(), mention.gold), mention)
    return list(kept.values())


def table_rows(name: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a table of the data, which may be packed."""
    path = locate(name)
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)


def of_table(name: str, dictionary: Dictionary) -> list[Mention]:
    """The distinct mentions of a table with the columns mention and id."""
    mentions = (annotated(row["mention"], row["id"]) for row in table_rows(name))
    return sample(distinct(mentions, dictionary))


def tweets(dictionary: Dictionary) -> list[Mention]:
    """The mentions of TwADR-L that are no name of their concept."""
    known = set()
    for text, row in zip(dictionary.names, dictionary.name_concept.tolist(), strict=True):
        known.add((text.lower(), dictionary.ids[row]))
    pairs = [(row["mention"], row["id"]) for row in table_rows("other/twadrl_mentions.tsv")]
    others = (annotated(text, i) for text, i in pairs if (text.lower(), i) not in known)
    return distinct(others, dictionary)


@cache
def ids_of_corpora() -> frozenset[str]:
    """The documents of NCBI Disease and BC5CDR, their test documents among them."""
    found = [document for corpus in CORPORA for document in documents(corpus, *CORPORA[corpus])]
    return frozenset(document.id for document in found)


def of_biored(domain: str, *splits: str) -> list[Mention]:
    """The annotated mentions of a domain in BioRED.

    Of its documents 180 are those of NCBI Disease and BC5CDR, 70 of their test documents: these are
    left out.
    """
    found = []
    for split in splits:
        for document in corpora.read(locate(SPLITS[split]), type=BIORED[domain]):
            if document.id not in ids_of_corpora():
                found += [Mention(mention.text, gold=mention.gold) for mention in document.mentions]
    return found


def of_cdr(*splits: str) -> list[Mention]:
    """The annotated chemicals of BC5CDR."""
    names = {"train": "Training", "dev": "Development"}
    found = []
    for split in splits:
        path = locate(f"bc5cdr/CDR_{names[split]}Set.PubTator.txt.gz")
        for document in corpora.read(path, type="Chemical"):
            found += [Mention(mention.text, gold=mention.gold) for mention in document.mentions]
    return found


@cache
def of_medmentions(split: str) -> tuple[Mention, ...]:
    """The annotated mentions of a list of MedMentions."""
    cells = (line.split("\t") for _, line in read_lines(locate(f"medmentions/{split}.txt.gz")))
    return tuple(annotated(row[1], row[2].strip()) for row in cells if row[1].strip())


def made_of(mentions: Iterable[Mention]) -> Dictionary:
    """A dictionary whose names are mentions; the most frequent one of a concept is preferred."""
    counts_of: dict[str, dict[str, int]] = {}
    for mention in mentions:
        ids = [identifier for group in mention.gold or () for identifier in group.ids]
        if len(ids) != 1:
            continue
        counts = counts_of.setdefault(ids[0], {})
        counts[mention.text] = counts.get(mention.text, 0) + 1
    concepts = []
    for identifier, counts in counts_of.items():
        texts = sorted(counts, key=lambda text: (-counts[text], text))
        names = [Name(texts[0], identifier, "preferred")]
        names += [Name(text, identifier) for text in texts[1:]]
        concepts.append(Concept(identifier, texts[0], tuple(names)))
    return in_memory(concepts)


def in_memory(concepts: Iterable[Concept]) -> Dictionary:
    """A dictionary of some concepts."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "names.tsv"
        with path.open("w", encoding="utf-8") as file:
            table.write(concepts, file)
        return Dictionary.read(path)


def of_corpus(corpus: str, _dictionary: Dictionary) -> Items:
    """The training and development documents of a corpus of diseases."""
    return [*documents(corpus, "train"), *documents(corpus, "devel")]


@cache
def held_out(name: str) -> tuple[Dictionary, tuple[Mention, ...]]:
    """A dictionary without a sample of its names, and these names; no preferred ones.

    Names that are equal in normal form to one that is held out go with it.
    """
    whole = read(name)
    forms = [normalize(text) for text in whole.names]
    is_preferred = np.zeros(len(forms), bool)
    is_preferred[whole.preferred] = True
    kept_forms = {forms[row] for row in np.flatnonzero(is_preferred)}
    rows = [row for row in range(len(forms)) if not is_preferred[row]]
    rows = [row for row in rows if forms[row] not in kept_forms]
    order = np.random.default_rng(SEED).permutation(len(rows))[:MOST]
    asked = {forms[rows[place]]: rows[place] for place in order.tolist()}
    out = [row for row in range(len(forms)) if forms[row] in asked and not is_preferred[row]]
    mentions = tuple(name_of(whole, row) for row in asked.values())
    return whole.without(np.array(out, np.int64)), mentions


def name_of(dictionary: Dictionary, row: int) -> Mention:
    """A name of a dictionary, given its row, as a mention of its concept."""
    return annotated(dictionary.names[row], dictionary.ids[dictionary.name_concept[row]])


@cache
def mapped() -> Mapping[str, str]:
    """The MeSH concepts of concepts of DOID, by the exact matches of MONDO."""
    mesh = {}
    for mondo, identifier in mappings("mesh"):
        mesh[mondo] = identifier.replace("mesh:", "MESH:")
    return {doid: mesh[mondo] for mondo, doid in mappings("doid") if mondo in mesh}


def mappings(vocabulary: str) -> Iterator[tuple[str, str]]:
    """Yield the concepts of MONDO with their exact matches in a vocabulary."""
    name = f"mappings/mondo_exactmatch_{vocabulary}.sssom.tsv.gz"
    for _, line in read_lines(locate(name)):
        cells = line.split("\t")
        if cells[0].startswith("MONDO:"):
            yield cells[0], cells[3]


def names_of_other(
    other: Dictionary, other_ids: Mapping[str, str], dictionary: Dictionary
) -> Items:
    """Names that another dictionary has for concepts of a dictionary, which lacks them.

    Args:
        other: the other dictionary.
        other_ids: for ids of the other dictionary, those of the dictionary.
        dictionary: the dictionary that is asked.
    """
    known = set(map(normalize, dictionary.names))
    mentions = []
    for text, row in zip(other.names, other.name_concept.tolist(), strict=True):
        identifier = other_ids.get(other.ids[row])
        if identifier and dictionary.rows(identifier) and normalize(text) not in known:
            mentions.append(annotated(text, identifier))
    return sample(mentions)


def doid_names(dictionary: Dictionary) -> Items:
    """Names of DOID, asked of MEDIC."""
    return names_of_other(Dictionary.read(locate(DOID)), mapped(), dictionary)


def medic_names(dictionary: Dictionary) -> Items:
    """Names of MEDIC, asked of DOID."""
    return names_of_other(
        medic("2017"), {mesh: doid for doid, mesh in mapped().items()}, dictionary
    )


def biored_mentions(domain: str, splits: Sequence[str], dictionary: Dictionary) -> Items:
    """The distinct mentions of a domain in BioRED."""
    return sample(distinct(of_biored(domain, *splits), dictionary))


def read(name: str) -> Dictionary:
    """A dictionary of the data."""
    return Dictionary.read(locate(name))


MEDIC_ALONE = partial(medic, "2017")
DOID_ALONE = partial(read, DOID)
MODELS: Mapping[Callable[[], Dictionary], str] = {
    MEDIC_ALONE: "MEDIC",
    with_lent: "MEDIC, lent names",
    DOID_ALONE: "DOID",
}
NOT_DISEASES = ("chemical", "gene", "species", "cell line", "cell", "anatomy")
VOCABULARIES = (
    Vocabulary("NCBI Disease", "diseases", MEDIC_ALONE, partial(of_corpus, "ncbi"), NOT_DISEASES),
    Vocabulary("BC5CDR", "diseases", MEDIC_ALONE, partial(of_corpus, "bc5cdr"), NOT_DISEASES),
    Vocabulary(
        "NCBI Disease, lent names",
        "diseases",
        with_lent,
        partial(of_corpus, "ncbi"),
        NOT_DISEASES,
        is_learnt=True,
    ),
    Vocabulary(
        "BC5CDR, lent names",
        "diseases",
        with_lent,
        partial(of_corpus, "bc5cdr"),
        NOT_DISEASES,
        is_learnt=True,
    ),
    Vocabulary(
        "BioRED, diseases",
        "diseases",
        MEDIC_ALONE,
        partial(biored_mentions, "disease", ("train", "dev")),
        NOT_DISEASES,
    ),
    Vocabulary(
        "MEDIC, names of DOID",
        "diseases",
        MEDIC_ALONE,
        doid_names,
        NOT_DISEASES,
        is_of_names=True,
    ),
    Vocabulary(
        "DOID, names of MEDIC",
        "diseases",
        DOID_ALONE,
        medic_names,
        NOT_DISEASES,
        is_of_names=True,
    ),
    Vocabulary(
        "HPO, names held out",
        "phenotypes",
        lambda: held_out(HPO)[0],
        lambda dictionary: held_out(HPO)[1],
        NOT_DISEASES,
        is_of_names=True,
    ),
    Vocabulary(
        "Cell Ontology, CRAFT",
        "cells",
        partial(read, "other/cl.obo.gz"),
        partial(of_table, "other/craft_cl_mentions.tsv.gz"),
        ("chemical", "gene", "species", "disease"),
    ),
    Vocabulary(
        "Uberon, CRAFT",
        "anatomy",
        partial(read, "other/uberon.obo.gz"),
        partial(of_table, "other/craft_uberon_mentions.tsv.gz"),
        ("chemical", "gene", "species", "disease"),
    ),
    Vocabulary(
        "TwADR-L",
        "tweets",
        partial(read, "other/twadrl_names.tsv"),
        tweets,
        ("gene", "species", "cell line", "cell", "anatomy"),
    ),
    Vocabulary(
        "MedMentions",
        "medmentions",
        lambda: made_of(of_medmentions("dev")),
        lambda dictionary: sample(distinct(of_medmentions("test"), dictionary)),
        ("gene", "cell line"),
    ),
    Vocabulary(
        "BC5CDR, chemicals",
        "chemicals and genes",
        lambda: made_of(of_cdr("train")),
        lambda dictionary: sample(distinct(of_cdr("dev"), dictionary)),
        ("gene", "species", "disease", "cell", "anatomy"),
    ),
    Vocabulary(
        "BioRED, genes and species",
        "chemicals and genes",
        lambda: made_of([*of_biored("gene", "train"), *of_biored("species", "train")]),
        lambda dictionary: distinct(
            [*of_biored("gene", "dev"), *of_biored("species", "dev")], dictionary
        ),
        ("chemical", "disease", "cell", "anatomy"),
    ),
)
"""What the ranker is fitted to, and judged on."""


def marked(domain: str, split: str) -> list[Mention]:
    """The mentions of a domain in BioRED, and those of chemicals in BC5CDR, too."""
    return [*of_biored(domain, split), *(of_cdr(split) if domain == "chemical" else ())]


@cache
def names_of_domain(domain: str, split: str) -> tuple[str, ...]:
    """Names of a domain, for dictionaries that have none of them.

    Args:
        domain: of `BIORED`, or "cell" or "anatomy".
        split: "train" to fit to, "dev" to judge by; neither has a name of the other.
    """
    if domain in BIORED:
        texts = [mention.text for mention in marked(domain, "train")]
        if split == "dev":
            known = {text.lower() for text in texts}
            texts = [m.text for m in marked(domain, "dev") if m.text.lower() not in known]
    else:
        name = {"cell": "other/cl.obo.gz", "anatomy": "other/uberon.obo.gz"}[domain]
        dictionary = read(name)
        texts = [dictionary.preferred_name(row) for row in range(len(dictionary))]
        order = np.random.default_rng(SEED).permutation(len(texts))
        half = order[: len(texts) // 2] if split == "train" else order[len(texts) // 2 :]
        texts = [texts[row] for row in half[:400].tolist()]
    return tuple({text.lower(): text for text in texts}.values())
