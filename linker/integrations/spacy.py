"""The pipeline component `linker` of spaCy (https://spacy.io): links the entities of documents.

Every `spacy.blank` and `spacy.load` imports this module, by its entry point, so that what takes
long to import is imported when the first document is linked.
"""
# without `from __future__ import annotations`: spaCy checks options by the annotations

import itertools
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linker.errors import needing
from linker.integrations import linker_of
from linker.io import jsonl
from linker.io.outputs import joined_ids
from linker.records import Document, Mention, Passage, Prediction, Selection

with needing("the component linker", "spacy"):
    from spacy.language import Language
    from spacy.tokens import Doc, Span
    from spacy.util import filter_spans

if TYPE_CHECKING:
    from linker.linking.linker import Linker

NIL = "NIL"  # the id of an entity without a concept, as spaCy's own entity_linker writes it


@Language.factory(
    "linker", requires=["doc.ents"], assigns=["doc.ents", "doc.spans", "token.ent_kb_id"]
)
@dataclass(eq=False)
class LinkerComponent:
    """Links the entities of documents, and finds and links further ones where it is told to.

    The fields are the options in `config.cfg`. NAME is that of the component: "linker", if it was
    given no other. A document has then

    - `ent.kb_id_`: the best id; those of a composite's parts are joined by "|", with -1 for a part
      without a concept. "NIL": there is no concept. Empty: the entity was not to be linked.
    - `ent._.NAME`: the `Prediction`, with candidates and confidences, but without gold ids and
      type; None where the entity was not to be linked. `ent._.NAME_json` is the same as a text.
    - `ent._.NAME_assertion`: what the text says of the entity: "present", "absent" where it denies
      it, "possible", "historical", "family", or "mixed"; None where it was not to be linked.
    - `doc.spans[NAME]`: all spans that were linked. Those that were found may overlap; the longest
      of them are entities.
    """

    nlp: Language = field(repr=False)
    name: str
    model: str = "linker-model"  # see `linker_of`; it is read when the first text is linked
    k: int = 5  # concepts for each part of a mention
    threshold: float | None = None  # the confidence that an answer needs, as for `Linker.link`
    ent_labels: list[str] | None = None  # link the entities with these labels only; None: all
    overwrite: bool = True  # link entities that have a kb_id_, too
    find: str = ""  # find names of the dictionary, as entities with this label; empty: do not
    # the part of the dictionary to answer with, as `linker.Selection` has it; None: the whole
    under: list[str] | None = None
    not_under: list[str] | None = None
    types: list[str] | None = None
    namespaces: list[str] | None = None

    def __post_init__(self) -> None:
        del self.nlp  # which holds the component, and would be copied to processes with it
        self.process = os.getpid()
        chosen = self.under, self.not_under, self.types, self.namespaces
        self.within = Selection(*(tuple(texts or ()) for texts in chosen))
        Span.set_extension(f"{self.name}_json", default=None, force=True)
        Span.set_extension(self.name, getter=partial(_prediction, self.name), force=True)
        said = partial(_assertion, self.name)
        Span.set_extension(f"{self.name}_assertion", getter=said, force=True)

    def __getstate__(self) -> dict[str, Any]:  # a spawned process reads the model folder
        return {key: value for key, value in vars(self).items() if key != "linker"}

    @cached_property
    def linker(self) -> "Linker":
        """The linker of the model.

        Raises:
            LinkerError: as for `linker_of`.
        """
        return linker_of(self.model)

    def __call__(self, doc: Doc) -> Doc:
        """Link one document, in place.

        Raises:
            LinkerError: the model folder cannot be read, or an option has a wrong value.
        """
        self._link([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Link documents, in place, `batch_size` of them together."""
        stream = iter(stream)
        while docs := list(itertools.islice(stream, batch_size)):
            self._link(docs)
            yield from docs

    def _link(self, docs: Sequence[Doc]) -> None:
        if self.process != os.getpid():
            self.process = _use_one_thread()
        entities = [[ent for ent in doc.ents if self._is_wanted(ent)] for doc in docs]
        documents = map(self._document, docs, entities)
        linked = self.linker.link_items(documents, k=self.k, threshold=self.threshold)
        answers = [predictions for _, predictions in linked]
        found = self._found(docs)
        for doc, ents, given, others in zip(docs, entities, answers, found, strict=True):
            self._write(doc, [*zip(ents, given, strict=True)], [*self._placed(doc, others)])

    def _is_wanted(self, entity: Span) -> bool:
        has_label = self.ent_labels is None or entity.label_ in self.ent_labels
        return has_label and (self.overwrite or not entity.kb_id)

    def _document(
        self, doc: Doc, entities: Iterable[Span], gold: tuple[()] | None = None
    ) -> Document:
        """The text of a document with its entities; those with `gold` are not linked."""
        mentions = (Mention(ent.text, ((ent.start_char, ent.end_char),), gold) for ent in entities)
        return Document("", (Passage(doc.text),), tuple(mentions), within=self.within)

    def _found(self, docs: Sequence[Doc]) -> Iterable[Sequence[Prediction]]:
        """The answers for names of the dictionary outside the entities; longer ones first."""
        if not self.find:
            return [()] * len(docs)
        from linker.linking.documents import Annotator

        documents = (self._document(doc, doc.ents, gold=()) for doc in docs)
        annotated = Annotator(self.linker).annotate(
            documents, k=self.k, threshold=self.threshold, overlaps="all"
        )
        return (sorted(found, key=lambda p: -len(p.mention.text)) for _, found in annotated)

    def _placed(self, doc: Doc, found: Iterable[Prediction]) -> Iterator[tuple[Span, Prediction]]:
        """The tokens of mentions that were found, unless an entity or a longer one has the same."""
        taken = {(ent.start, ent.end) for ent in doc.ents}
        for prediction in found:
            place = prediction.mention.spans[0]
            span: Any = doc.char_span(*place, self.find, alignment_mode="expand")
            if (span.start, span.end) not in taken:
                taken.add((span.start, span.end))
                yield span, prediction

    def _write(
        self,
        doc: Doc,
        entities: Sequence[tuple[Span, Prediction]],
        found: Sequence[tuple[Span, Prediction]],
    ) -> None:
        """Write to a document what was linked in it."""
        spans = [self._span(doc, *each) for each in (*entities, *found)]
        for span in spans[: len(entities)]:
            for token in span:
                token.ent_kb_id = span.kb_id
        new = (s for s in spans[len(entities) :] if not any(t.ent_iob_ in ("B", "I") for t in s))
        doc.set_ents(filter_spans(new), default="unmodified")
        doc.spans[self.name] = sorted(spans)

    def _span(self, doc: Doc, place: Span, prediction: Prediction) -> Span:
        ids = joined_ids(prediction)
        kb_id = NIL if ids == "-1" else ids
        span = Span(doc, place.start, place.end, place.label, kb_id=kb_id)
        record = json.dumps(prediction.to_dict(), ensure_ascii=False)
        span._.set(f"{self.name}_json", record)
        return span

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the model folder, so that the pipeline needs no other one where it is loaded."""
        self.linker.save(path)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "LinkerComponent":
        """Take the model folder of a pipeline; without one in it, the option `model` stays."""
        if Path(path).exists():
            self.model = str(path)
            vars(self).pop("linker", None)
        return self


def _prediction(name: str, entity: Span) -> Prediction | None:
    """What `ent._.NAME` is; as JSON it is the same behind `Doc.to_bytes` and `DocBin`."""
    record = entity._.get(f"{name}_json")
    return None if record is None else jsonl.from_json(json.loads(record))


def _assertion(name: str, entity: Span) -> str | None:
    """What `ent._.NAME_assertion` is."""
    prediction = _prediction(name, entity)
    return None if prediction is None else prediction.assertion


def _use_one_thread() -> int:
    """Compute with one thread in a process of `nlp.pipe(n_process=...)`; the id of the process.

    One that was forked would wait for threads that it does not have, and each has its own core.
    """
    from threadpoolctl import threadpool_limits

    os.environ["OMP_NUM_THREADS"] = "1"
    threadpool_limits(1)
    return os.getpid()
