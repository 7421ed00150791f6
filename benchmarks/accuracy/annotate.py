"""Mentions found and linked in the texts of development documents, beside exact matchers.

python benchmarks/accuracy/annotate.py

Writes results/annotate.json: the protocol `document` on NCBI Disease (MEDIC of 2017) and on the
diseases of BC5CDR (MEDIC of 2026), with the names of the dictionary alone, and with the mentions
of the training documents as names, too. spaCy's PhraseMatcher and Gilda's annotator search for the
same names; they run where `pip install spacy gilda` has been done.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.accuracy.ranker_weights import trained
from benchmarks.lib import measure, results
from benchmarks.lib.data import TITLES, documents, medic
from linker import Candidate, Dictionary, Mention, Part, Prediction
from linker.evaluation.documents import counts, summary
from linker.linking.documents import Annotator
from linker.linking.options import LinkerOptions
from linker.records import Document
from linker.text.normalize import normalize
from linker.training.data import collect

RELEASES = {"ncbi": "2017", "bc5cdr": "2026"}
SPLITS = {"dictionary": (), "annotated": ("train",)}  # what there is to learn from
Annotate = Callable[[Iterable[Document]], Iterable[Sequence[Prediction]]]
Found = Iterator[tuple[int, int, str]]  # start, end, id of the concept


def linker(dictionary: Dictionary, known: list[Any], corpus: str) -> Annotate:
    """Our own annotator, whose linker has static vectors beside characters."""
    annotator = Annotator(trained(corpus, dictionary, "static", known))
    return lambda texts: (predictions for _, predictions in annotator.annotate(texts, k=1))


def phrase_matcher(dictionary: Dictionary, known: list[Any], corpus: str) -> Annotate:
    """spaCy's PhraseMatcher in small letters, the longest of names that overlap."""
    import spacy
    from spacy.matcher import PhraseMatcher
    from spacy.util import filter_spans

    pipeline = spacy.blank("en")
    matcher = PhraseMatcher(pipeline.vocab, attr="LOWER")
    dictionary, concept_of = _extended(dictionary, known), {}
    for row, name in enumerate(dictionary.names):
        concept_of.setdefault(name.lower(), dictionary.ids[int(dictionary.name_concept[row])])
    for name, concept in concept_of.items():
        matcher.add(concept, [pipeline.make_doc(name)])

    def find(text: str) -> Found:
        for span in filter_spans(matcher(pipeline.make_doc(text), as_spans=True)):
            yield span.start_char, span.end_char, span.label_

    return _predicting(find)


def gilda(dictionary: Dictionary, known: list[Any], corpus: str) -> Annotate:
    """Gilda's annotator (Gyori et al. 2022), with its list of words that are no names."""
    from gilda.grounder import Grounder
    from gilda.ner import annotate
    from gilda.process import normalize as form
    from gilda.term import Term

    dictionary, terms = _extended(dictionary, known), []
    for row, name in enumerate(dictionary.names):
        concept = int(dictionary.name_concept[row])
        if form(name).strip():
            status = "name" if row == dictionary.preferred[concept] else "synonym"
            namespace, _, identifier = dictionary.ids[concept].partition(":")
            label = dictionary.preferred_name(concept)
            terms.append(Term(form(name), name, namespace, identifier, label, status, "medic"))
    grounder = Grounder(terms)
    # its models that tell concepts apart by context are for its own terms, and a download
    grounder.gilda_disambiguators = grounder.adeft_disambiguators = {}

    def find(text: str) -> Found:
        for annotation in annotate(text, grounder=grounder):
            term = annotation.matches[0].term
            yield annotation.start, annotation.end, f"{term.db}:{term.id}"

    return _predicting(find)


SYSTEMS = {"linker": linker, "spaCy PhraseMatcher": phrase_matcher, "Gilda": gilda}
PACKAGES = {"spaCy PhraseMatcher": "spacy", "Gilda": "gilda"}


def _extended(dictionary: Dictionary, known: list[Any]) -> Dictionary:
    """The dictionary with annotated mentions as names, as the linker takes them."""
    annotated = collect(known, LinkerOptions())
    names = [(mention.name, mention.ids) for mention in annotated if mention.name]
    return dictionary.add(names, normalize) if names else dictionary


def _predicting(find: Callable[[str], Found]) -> Annotate:
    """Turn what a matcher finds into predictions."""

    def predictions(text: str) -> Iterator[Prediction]:
        for start, end, concept in find(text):
            mention = Mention(text[start:end], ((start, end),))
            candidate = Candidate(concept, "", "", 1.0)
            yield Prediction(mention, (Part(mention.text, candidates=(candidate,)),))

    return lambda texts: [list(predictions(document.text)) for document in texts]


def measured(system: str, corpus: str, learnt: str) -> dict[str, Any]:
    """The figures of one system on one corpus."""
    dictionary = medic(RELEASES[corpus])
    known = documents(corpus, *SPLITS[learnt])
    annotate = SYSTEMS[system](dictionary, known, corpus)
    asked = documents(corpus, "devel")
    bare = [dataclasses.replace(document, mentions=()) for document in asked]
    list(annotate(bare[:1]))  # what is made at first use
    taken, predicted = measure.timed(lambda: list(annotate(bare)))
    pairs = zip(asked, predicted, strict=True)
    return summary([counts(document, of_one, dictionary.resolve) for document, of_one in pairs]) | {
        "documents_a_second": round(len(asked) / taken, 1),
        "peak_mb": round(measure.peak()),
    }


if __name__ == "__main__":
    results.parser(__doc__).parse_args()
    rows = []
    for corpus, learnt, system in itertools.product(TITLES, SPLITS, SYSTEMS):
        if system in PACKAGES and not importlib.util.find_spec(PACKAGES[system]):
            print(f"{system}: {PACKAGES[system]} is not installed", file=sys.stderr)
            continue
        figures = measure.apart(measured, system, corpus, learnt)
        rows.append({"system": system, "corpus": corpus, "learnt": learnt} | figures)
        print(rows[-1], flush=True)
    versions = {package: results.version(package) for package in PACKAGES.values()}
    results.save("annotate", {"rows": rows, "versions": versions}, seed=0)
