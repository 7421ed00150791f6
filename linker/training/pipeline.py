"""A training from its plan to a linker; read this first.

`linker train` and `linker.train` make a plan (`plan.py`), which is checked before any work. Then

1. the dictionary and the mentions become names, indexed by characters (`data.py`);
2. the encoder is made, trained by gradients where it has weights, phase after phase (`encoder.py`),
   and all names are encoded;
3. the ranker is fitted to labelled candidate lists (`fit_ranker.py`) of the training mentions;
4. what came of it is reported: nothing has learnt the development mentions by then;
5. where a refit is asked for, 1 to 3 are done again, with the development mentions too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from linker.arguments import DICTIONARY, ITEMS, TEXT, Kind, public
from linker.dictionary import Dictionary
from linker.encoders import registry
from linker.encoders import words as word_vectors
from linker.encoders.base import Encoder, EncoderContext, is_unit
from linker.evaluation import metrics
from linker.linking import spans
from linker.linking.linker import Linker
from linker.linking.options import LinkerOptions
from linker.linking.ranker import Ranker
from linker.records import Activity, Document, Mention
from linker.search.concepts import Generator
from linker.search.hybrid import HybridGenerator, NameVectors
from linker.training import fit_ranker
from linker.training import plan as plans
from linker.training.data import TrainingData, check_known, collect
from linker.training.plan import Record, RunSettings, TrainingPlan, flat

Items = Sequence[Mention | Document]
Validate = Callable[[Linker], Mapping[str, float]]
"""Measures a linker on development data; `dev_acc1` chooses the epoch that is kept."""


@public(
    "linker.train",
    dictionary=DICTIONARY,
    encoder=TEXT.or_none(),
    mentions=ITEMS,
    dev=ITEMS,
    options=Kind("a LinkerOptions record, as linker.preset gives", (LinkerOptions,)).or_none(),
    settings=Kind("a linker.RunSettings", (RunSettings,)).or_none(),
)
def train(
    dictionary: Dictionary,
    *,
    encoder: str | None = None,
    mentions: Iterable[Mention | Document] = (),
    dev: Iterable[Mention | Document] = (),
    refit: bool = False,
    options: LinkerOptions | None = None,
    corrections: Mapping[str, str] | None = None,
    words: word_vectors.WordVectors | None = None,
    settings: RunSettings | None = None,
) -> Linker:
    """Fit a linker to a dictionary and annotated mentions.

    Args:
        dictionary: the names to link to.
        encoder: of `registry.encoders()`, or "FIRST,SECOND", of which the second one is not trained
            and tells the ranker more of the candidates of the first; None: the best that needs no
            download (`static`).
        mentions: annotated mentions, which become names; without, synonyms are trained on.
        dev: annotated mentions that choose the best epoch, by Acc@1 of the protocol `strict`;
            only a refit learns them.
        refit: whether to train again on `mentions` and `dev`, with the choices made.
        options: the defaults of the encoder where None.
        corrections: misspelt words or phrases, and what they become.
        words: vectors for encoders made of words; trained on the dictionary where None.
        settings: checkpoints and progress of a dense encoder's training.

    Raises:
        LinkerError: what is asked for does not fit together, or the training fails.
    """
    plan = plans.make(
        encoder,
        options=None if options is None else lambda _: options,
        has_words=words is not None,
        corrections=corrections,
    )
    plan = replace(plan, words=words, refit=refit)
    return run(plan, dictionary, list(mentions), list(dev), settings)


def run(
    plan: TrainingPlan,
    dictionary: Dictionary,
    mentions: Items = (),
    dev: Items = (),
    settings: RunSettings | None = None,
) -> Linker:
    """Train a linker as a plan says; see `train` for the other arguments."""
    settings = settings or RunSettings()
    validate = partial(_accuracies, dev) if dev else None
    if dev:
        check_known([*collect(dev, plan.options)], dictionary, "development mentions")
        digest = hashlib.sha256(repr(list(dev)).encode("utf-8", "replace")).hexdigest()
        settings = replace(settings, development=digest)
    linker = without_ranker(plan, dictionary, mentions, settings, validate)
    start = Ranker.shipped()
    seed = plan.options.training.seed
    linker = linker.with_ranker(start)
    report = settings.on_activity
    lists = fit_ranker.training_lists(linker, dictionary, mentions, report)
    ranker = fit_ranker.fitted(lists, start, seed, report)
    settings.say(f"ranker: {ranker.described}")
    settings.on_trained(linker.with_ranker(ranker))  # which has not learnt `dev`
    if plan.refit:
        report(Activity("linking the development mentions", None))
        lists += fit_ranker.development_lists(linker, dev)
        ranker = fit_ranker.fitted(lists, start, seed, report)
        history, epochs = linker.history, linker.best_epoch
        del linker  # its vectors, while the next ones are made
        settings.say(
            "refit: the model learns the development mentions, too"
            + (f", in {epochs} epochs" if epochs else "")
            + "; what was reported is of the one that had not learnt them"
        )
        settings.say(f"ranker: {ranker.described}")
        if epochs:  # of the list-wise phase, as many as were best
            training = replace(plan.options.training, epochs=epochs)
            plan = replace(plan, options=replace(plan.options, training=training))
        mentions = [*mentions, *dev]
        settings = replace(settings, refit=True, resume=True)  # aligned already
        linker = without_ranker(plan, dictionary, mentions, settings)
        refit = [record for record in linker.history if record["phase"] == "refit"]
        linker = replace(linker, history=[*history, *refit])
    linker = linker.with_ranker(ranker)
    if any(isinstance(item, Document) for item in mentions):
        report(Activity("learning where mentions stand", None))
        linker.spans = spans.fit(linker.found_names, mentions, plan.options.training.seed)
    return linker


def without_ranker(
    plan: TrainingPlan,
    dictionary: Dictionary,
    mentions: Items,
    settings: RunSettings,
    validate: Validate | None = None,
) -> Linker:
    """Train once, as a plan says; candidates are ordered by score."""
    data = TrainingData.of(plan, dictionary, mentions, on_activity=settings.on_activity)
    check_known(data.mentions, dictionary, "training mentions")
    options, corrections, seen = plan.options, plan.corrections, data.seen
    linker = Linker(data.extended, data.indexed, options, seen, corrections, plan.encoder)
    if plan.is_sparse:
        return linker

    def measure(generator: Generator) -> Mapping[str, float]:
        return validate(replace(linker, generator=generator)) if validate else {}

    generator, history = with_encoder(plan, data, settings, measure if validate else None)
    options = replace(options, encoder=generator.encoder.options)
    if plan.second:
        settings.on_activity(Activity(f"encoding names by {plan.second}", None))
        context = EncoderContext(options.second, data.table, None, options.training.seed)
        encoder = registry.load(plan.second).create(context)
        generator = generator.with_second(NameVectors.of(encoder, data.indexed.table))
        options = replace(options, second=encoder.options)
    return replace(linker, generator=generator, options=options, history=history)


def with_encoder(
    plan: TrainingPlan,
    data: TrainingData,
    settings: RunSettings,
    validate: Callable[[Generator], Mapping[str, float]] | None = None,
) -> tuple[HybridGenerator, list[Record]]:
    """Create the encoder of a plan, train it where it has weights, and index all names with it.

    Word vectors that it is made of and that are not given are trained on the names of the
    dictionary.

    Returns:
        What ranks all names, and a record for each epoch of each phase.
    """
    names, options = list(data.table.texts), plan.options
    provenance = {"encoder": plan.first} | flat(options, "encoder")
    words = None
    if plan.reads("words"):
        words = plan.words or word_vectors.train(
            map(word_vectors.tokens, names), options.words, settings.on_activity
        )
        # without the mentions, which a refit has more of
        provenance["words"] = words.pruned(names).checksum
        words = words.pruned(data.indexed.table.texts).to_fp16()
    settings.on_activity(Activity(f"making the encoder {plan.first}", None))
    context = EncoderContext(options.encoder, data.table, words, options.training.seed)
    encoder: Encoder = plan.encoder_class.create(context)
    if encoder.provenance:
        provenance["provenance"] = encoder.provenance
    if plan.is_trained:
        from linker.training.encoder import train

        return train(encoder, provenance, plan, data, settings, validate)
    settings.on_activity(Activity("encoding names", None))
    weight = options.recipe.sparse_weight / options.recipe.scale(is_unit(encoder))
    return data.generator(encoder, weight, options.recipe), []


def _accuracies(dev: Items, linker: Linker) -> Mapping[str, float]:
    """Acc@k on development mentions, by the protocol strict."""
    from linker.evaluation import protocols

    ranks = [outcome.rank for outcome in protocols.strict(linker, dev, 20)]
    names = {"dev_acc1": 1, "dev_acc5": 5, "candidate_recall": 20}
    return {name: round(float(np.mean(metrics.hits(ranks, k))), 5) for name, k in names.items()}
