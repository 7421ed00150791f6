"""Accuracy of dense linkers: the runs that `ncbi_disease.py --encoder transformer` and `bc5cdr.py` make, keep and put together.

A run is one configuration trained with one seed and judged on one corpus, kept in results/runs/ as it ends; a second call goes on with what
is missing, from the last checkpoint of a run that was interrupted. Self-alignment sees no mentions: runs that share its options share it.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import shutil
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.encoders.name_encoders import vectors
from benchmarks.lib.common import DATA, RESULTS, ROOT, medic, save
from linker import Linker, LinkerOptions, matching, metrics
from linker.encoders.trainable import pick_device, settle
from linker.evaluation import breakdown, protocols, report
from linker.options import PRESETS, changed, preset
from linker.readers import mentions
from linker.training.plot import plot
from linker.training.settings import RunSettings

KS = (1, 5, 20)
UNTRAINED_WEIGHT = (
    10  # λ of the hybrid score before the list-wise phase, half of the scale of the dense score
)
EXAMPLE = "B-cell non-Hodgkins lymphomas", "MESH:D016393"  # BCNH, Table 2
FROM_WORDS = {
    "dan": "dan",
    "dan-higher": "dan",
    "fewshot": "fewshot",
    "bne": "bne",
}  # encoders made of words, and the options of each
AGREE, DOCUMENT_WEIGHT = (
    ", mentions of a document agree",
    0.03,
)  # behind the name of a configuration; chosen by rescoring.py
PLOTS = RESULTS / "plots"
WORK = ROOT / "benchmarks" / "work"  # checkpoints, not in version control
FILES = {
    "ncbi": {
        split: DATA / "ncbi-disease" / f"NCBI_{split}.pubtator.txt.gz"
        for split in ("train", "devel", "test")
    },
    "bc5cdr": {
        "train": DATA / "bc5cdr" / "CDR_TrainingSet.PubTator.txt.gz",
        "devel": DATA / "bc5cdr" / "CDR_DevelopmentSet.PubTator.txt.gz",
    },
}


LEVERS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "without alignment": {"align": {"epochs": 0}},
    "two passes of alignment": {"align": {"epochs": 2}},
    "random negatives": {"align": {"hard_negatives": False}},
    "marginal": {"training": {"loss": "marginal"}},
    "target temperature 1": {"training": {"relevance_temperature": 1}},
    "without frequency": {"training": {"frequency_weight": 0}},
    "scale 40": {"training": {"score_scale": 40}},
    "all candidates dense": {"training": {"dense_ratio": 1}},
    "40 candidates": {"training": {"top_k": 40}},
    "ancestors up to 3": {"training": {"height": 3}},
    "batch 32": {"training": {"batch_size": 32}},
    "learning rate 5e-5": {"training": {"learning_rate": 5e-5}},
    "starting at λ 2": {"training": {"sparse_weight": 2}},
    "first token": {"transformer": {"pooling": "cls"}},
    "norm loss, any length": {
        "transformer": {"normalize": False},
        "training": {"hypernym_norm": True},
    },
    "second stage": {"rerank": {"epochs": 2}},
    "second stage without context": {"rerank": {"epochs": 2, "words": 0}},
}

WORD_LEVERS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "without grounding": {"ground": {"epochs": 0}},
    "3 epochs of grounding": {"ground": {"epochs": 3}},
    "12 epochs of grounding": {"ground": {"epochs": 12}},
    "grounding at a constant 0.003": {"ground": {"warmup": 0}},
    "grounding at a constant 0.001": {"ground": {"warmup": 0, "learning_rate": 1e-3}},
    "triplets": {
        "ground": {
            "loss": "triplet",
            "prototype_weight": 1,
            "batch_size": 64,
            "learning_rate": 1e-3,
        }
    },
    "marginal": {"training": {"loss": "marginal"}},
    "lists at 0.002": {"training": {"learning_rate": 2e-3}},
    "lists at 0.0005": {"training": {"learning_rate": 5e-4}},
    "20 epochs of lists": {"training": {"epochs": 20}},
    "starting at λ 4": {"training": {"sparse_weight": 4}},
    "starting at λ 12": {"training": {"sparse_weight": 12}},
    "without frequency": {"training": {"frequency_weight": 0}},
}
BNE_LEVERS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "lists at 0.0003": {"training": {"learning_rate": 3e-4}}
}


@dataclass(frozen=True, slots=True)
class Configuration:
    """What is trained: a row of a table."""

    name: str
    medic: str
    options: LinkerOptions
    mentions: bool = True  # False: the dictionary is all there is to learn from
    encoder: str = "transformer"  # dan and its kind take the word vectors of name_encoders.py
    text: bool = True  # False: the word vectors are from the names of the dictionary alone
    agree: bool = (
        False  # True: the same model is also judged with document-level consistency, see `both`
    )
    over: tuple[str, ...] = ()  # the configurations of the same release that it is compared with


Runs = Mapping[int, dict[str, Any]]
"""The figures of a configuration's runs, by seed."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is trained on and judged: a corpus and one of its splits; earlier splits are trained on."""

    corpus: str
    on: str

    @property
    def known(self) -> list[Any]:
        """The documents to train on."""
        splits = list(FILES[self.corpus])
        return [
            document for split in splits[: splits.index(self.on)] for document in self.read(split)
        ]

    @property
    def judged(self) -> list[Any]:
        """The documents to judge."""
        return self.read(self.on)

    def read(self, split: str) -> list[Any]:
        """The documents of a split; of BC5CDR the diseases."""
        return list(
            mentions.read(
                FILES[self.corpus][split], type="Disease" if self.corpus == "bc5cdr" else None
            )
        )


def ablation(epochs: int) -> Iterator[Configuration]:
    """The four systems of BCNH's Table 3, in the papers' settings but for the encoder, the number of epochs (10 there) and bf16.

    Before them what they start from, which ranks by the untrained vectors alone.
    """
    yield Configuration(
        "untrained", "2012", changed(PRESETS["paper-biosyn"], {"training": {"epochs": 0}})
    )
    for paper, base, norm in (
        ("BioSyn", "paper-biosyn", False),
        ("BioSyn + norm", "paper-biosyn", True),
        ("BCNH list-wise", "paper-bcnh", False),
        ("BCNH list-wise + norm", "paper-bcnh", True),
    ):
        options = changed(
            PRESETS[base],
            {"training": {"hypernym_norm": norm, "epochs": epochs, "precision": "auto"}},
        )
        over = tuple(
            other
            for other in dict.fromkeys(("BioSyn", paper.removesuffix(" + norm")))
            if other != paper
        )
        yield Configuration(paper, "2012", options, over=over)
    coded = changed(
        options, {"training": {"norm_weight": 0.1}}
    )  # the published code sums the list losses of 10 and averages the norm loss
    yield Configuration("BCNH list-wise + norm, as coded", "2012", coded, over=("BCNH list-wise",))


def ours(sparse: LinkerOptions) -> Iterator[Configuration]:
    """Our default: with the names of 2012 as BioSyn's protocol wants them, and as deployed on later releases."""
    default = fixed(LinkerOptions())
    biosyn = as_biosyn(default, sparse)
    yield from both(Configuration("default", "2012", biosyn))
    yield Configuration(
        "default, second stage", "2012", changed(biosyn, LEVERS["second stage"]), over=("default",)
    )
    yield Configuration("default", "2017", default)
    yield Configuration("default", "2026", default)
    yield Configuration(
        "sparse only, no mentions", "2017", default, mentions=False, encoder="tfidf"
    )
    yield Configuration(
        "default, no mentions", "2017", default, mentions=False, over=("sparse only, no mentions",)
    )


def both(configuration: Configuration) -> Iterator[Configuration]:
    """A configuration, and the same model when the mentions of a document have a say in each other's ranking."""
    yield dataclasses.replace(configuration, agree=True)
    yield agreeing(configuration)


def agreeing(configuration: Configuration) -> Configuration:
    """A configuration with document-level consistency."""
    options = changed(configuration.options, {"text": {"document_weight": DOCUMENT_WEIGHT}})
    return dataclasses.replace(
        configuration,
        name=f"{configuration.name}{AGREE}",
        options=options,
        agree=False,
        over=(*configuration.over, configuration.name),
    )


def levers(sparse: LinkerOptions) -> Iterator[Configuration]:
    """Our default on the names of 2012, and with one thing changed at a time, these after one epoch of the list-wise phase."""
    default, *others = ours(sparse)
    yield default
    yield from others
    short = dataclasses.replace(
        default,
        name="one epoch",
        options=changed(default.options, {"training": {"epochs": 1}}),
        agree=False,
    )
    yield short
    for name, values in LEVERS.items():
        yield dataclasses.replace(
            short,
            name=f"one epoch, {name}",
            options=changed(short.options, values),
            over=("one epoch",),
        )


def words(sparse: LinkerOptions) -> Iterator[Configuration]:
    """Encoders made of word vectors, and MiniLM: alone (λ = 0) and hybrid, before the list-wise phase and after it."""
    for encoder, parts, untrained in (
        (
            "dan",
            {"word mean": {"dan": {"cca": False, "hidden": 0}}, "CCA": {"dan": {"hidden": 0}}},
            "",
        ),
        ("dan", {"CCA + DAN": {}, "DAN": {"dan": {"cca": False}}}, ", before lists"),
        ("dan-higher", {"CCA + DAN, level 4": {}}, ", before lists"),
        ("fewshot", {"few-shot": {}}, ", before lists"),
        ("bne", {"BNE": {}}, ", before lists"),
        ("transformer", {"MiniLM": {}}, ", before lists"),
    ):
        for part, values in parts.items():
            default = changed(as_biosyn(fixed(preset("default", encoder)), sparse), values)
            alone = {"training": {"sparse_weight": 0, "sparse_learning_rate": 0}}
            weight = {"training": {"sparse_weight": UNTRAINED_WEIGHT}}
            before = {"training": {"epochs": 0}}
            yield Configuration(
                f"{part} alone{untrained}",
                "2012",
                changed(changed(default, alone), before),
                encoder=encoder,
            )
            yield Configuration(
                f"{part}{untrained}",
                "2012",
                changed(changed(default, weight), before),
                encoder=encoder,
            )
            if untrained and encoder in FROM_WORDS:  # MiniLM's are `ours`
                yield Configuration(
                    f"{part} alone", "2012", changed(default, alone), encoder=encoder
                )
                yield Configuration(part, "2012", default, encoder=encoder, over=("word mean",))
    default = fixed(preset("default", "dan"))
    alone = [c for c in ours(sparse) if not c.mentions and c.encoder == "tfidf"]
    yield from alone
    for text in (True, False):
        name = "CCA + DAN" + ", no text" * (not text)
        yield Configuration(name, "2017", default, encoder="dan", text=text)
        over = tuple(c.name for c in alone)
        yield Configuration(
            f"{name}, no mentions",
            "2017",
            default,
            mentions=False,
            encoder="dan",
            text=text,
            over=over,
        )


def word_levers(sparse: LinkerOptions) -> Iterator[Configuration]:
    """Our defaults of encoders made of word vectors on the names of 2012, with one thing changed at a time."""
    for encoder, row, levers in (("dan", "CCA + DAN", WORD_LEVERS), ("bne", "BNE", BNE_LEVERS)):
        default = as_biosyn(fixed(preset("default", encoder)), sparse)
        for name, values in levers.items():
            yield Configuration(
                f"{row}, {name}", "2012", changed(default, values), encoder=encoder, over=(row,)
            )


def fixed(options: LinkerOptions) -> LinkerOptions:
    """The last of a fixed number of epochs is judged, on development data too, where the best one would flatter."""
    return changed(options, {"training": {"keep_best": False}})


def as_biosyn(options: LinkerOptions, sparse: LinkerOptions) -> LinkerOptions:
    """Names normalised and joined as BioSyn's protocol wants."""
    text = dataclasses.replace(options.text, training_composites="join")
    return dataclasses.replace(options, normalize=sparse.normalize, sparse=sparse.sparse, text=text)


def path_of(configuration: Configuration, task: Task, seed: int) -> str:
    """The name of a run's result."""
    return f"runs/{task.corpus}-{task.on}/{_slug(configuration.name, configuration.medic)}-{seed}"


def _slug(name: str, medic: str) -> str:
    words = "".join(c if c.isascii() and c.isalnum() else " " for c in name.lower()).split()
    return "-".join([*words, medic])


def run(configuration: Configuration, task: Task, seed: int) -> dict[str, Any]:
    """Train and judge, unless that was done before.

    Returns:
        The figures of the run.
    """
    name = path_of(configuration, task, seed)
    kept = RESULTS / f"{name}.json"
    if not kept.exists():
        print(
            f"{configuration.name}, MEDIC {configuration.medic}, seed {seed}, on {task.corpus} {task.on}",
            flush=True,
        )
        for other, figures in _made(configuration, task, seed):
            save(path_of(other, task, seed), figures, seed=seed)
        phase = name.replace("/", "-")
        for done in (phase, f"{phase}-rerank"):
            shutil.rmtree(WORK / key(configuration, seed) / done, ignore_errors=True)
    return load(kept, configuration, seed)


def load(path: Path, configuration: Configuration, seed: int) -> dict[str, Any]:
    """The figures of a run that is kept; one of other options stops the program."""
    figures: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["figures"]
    unread = {"transformer", *FROM_WORDS.values()} - {
        FROM_WORDS.get(configuration.encoder, "transformer")
    }
    unread |= {"words"} if configuration.encoder in FROM_WORDS and configuration.text else set()
    unread |= {"words", "ground"} if configuration.encoder not in FROM_WORDS else set()
    made, wanted = (
        changed(LinkerOptions(), figures["options"]),
        changed(configuration.options, {"training": {"seed": seed}}),
    )
    if configuration.mentions:  # which are the queries then
        made = changed(
            made, {"training": {"dictionary_queries": wanted.training.dictionary_queries}}
        )
    if any(
        getattr(made, name) != getattr(wanted, name)
        for name in {f.name for f in dataclasses.fields(wanted)} - unread
    ):
        raise SystemExit(
            f"{path}: is of other options than those of today; move it away to run it again"
        )
    return figures


def _made(
    configuration: Configuration, task: Task, seed: int
) -> Iterator[tuple[Configuration, dict[str, Any]]]:
    """What one training gives: the figures of the configuration, and those of the same model with document-level consistency."""
    options = changed(configuration.options, {"training": {"seed": seed}})
    names, judged = medic(configuration.medic), task.judged
    folder, phase = (
        WORK / key(configuration, seed),
        path_of(configuration, task, seed).replace("/", "-"),
    )
    model = Linker.train(
        names,
        encoder=configuration.encoder,
        mentions=task.known if configuration.mentions else [],
        options=options,
        words=vectors("fastText")
        if configuration.encoder in FROM_WORDS and configuration.text
        else None,
        validate=(lambda linker: _judged(linker, judged)) if task.on == "devel" else None,
        work=RunSettings(folder, resume=True, phase=phase, on_event=_say),
    )
    for made in (
        (configuration, agreeing(configuration)) if configuration.agree else (configuration,)
    ):
        weight = {"text": {"document_weight": made.options.text.document_weight}}
        model.options, options = changed(model.options, weight), changed(options, weight)
        yield made, _figures(model, made, task, judged, options)


def _figures(
    model: Linker,
    configuration: Configuration,
    task: Task,
    judged: list[Any],
    options: LinkerOptions,
) -> dict[str, Any]:
    """How a model judges the mentions of a task."""
    ranks, groups = {}, {}
    for protocol in protocols.PROTOCOLS:
        outcomes = list(getattr(protocols, protocol)(model, judged, max(KS)))
        ranks[protocol] = " ".join(str(outcome.rank) for outcome in outcomes)  # in a line
        unseen = {id(outcome) for outcome in breakdown.groups(model, outcomes)["unseen_mention"]}
        groups[protocol] = " ".join(str(int(id(outcome) in unseen)) for outcome in outcomes)
    return {
        "configuration": configuration.name,
        "medic": configuration.medic,
        "corpus": task.corpus,
        "on": task.on,
        "options": dataclasses.asdict(options),
        "precision": settle(
            pick_device(options.training.device), options.training.precision
        ),  # what auto meant
        "history": model.history,
        "norms": norms(model),
        "second_stage_times_slower": slower(model, judged) if model.reranker else None,
        "example": example(model),
        "ranks": ranks,
        "unseen": groups,
    }


def key(configuration: Configuration, seed: int) -> str:
    """What self-alignment, or grounding, depends on."""
    own = FROM_WORDS.get(configuration.encoder)
    options, groups = configuration.options, (own, "ground") if own else ("transformer", "align")
    parts = [
        configuration.medic,
        seed,
        *(dataclasses.asdict(getattr(options, name)) for name in ("normalize", *groups)),
    ]
    parts += [options.training.weight_decay, *(["no text"] * (not configuration.text))]
    return f"{configuration.medic}-{seed}-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]}"


def _judged(linker: Linker, items: list[Any]) -> dict[str, float]:
    acc = report.figures(list(protocols.biosyn(linker, items, max(KS))), KS, intervals=False)["acc"]
    return {"dev_acc1": acc["1"], "dev_acc5": acc["5"], "candidate_recall": acc["20"]}


def _say(event: Any) -> None:
    if isinstance(event, dict):
        print(
            " ",
            {
                name: round(value, 4) if isinstance(value, float) else value
                for name, value in event.items()
            },
            flush=True,
        )
    elif event.step % 50 == 0:
        print(
            f"  epoch {event.epoch}, step {event.step} of {event.steps}: loss {event.loss:.4f}",
            flush=True,
        )


def slower(model: Linker, items: list[Any]) -> float:
    """How many times longer linking takes with the second stage than without, on every fifth document: the median of three pairs."""
    ratios, items = [], items[::5]
    for _ in range(3):
        seconds = []
        for reranker in (None, model.reranker):
            alone = Linker(
                model.dictionary,
                model.generator,
                model.options,
                model.seen,
                {},
                model.encoder,
                reranker=reranker,
            )
            start = time.perf_counter()
            list(alone.link(items))
            seconds.append(time.perf_counter() - start)
        ratios.append(seconds[1] / seconds[0])
    return round(statistics.median(ratios), 1)


def norms(model: Linker) -> dict[str, Any] | None:
    """The share of (hyponym, hypernym) pairs in which the hypernym's vector is the longer one, and the mean length of both.

    A pair is the preferred names of a concept and of a direct parent that is no root. None for vectors of unit length.
    """
    vectors = getattr(model.generator, "vectors", None)
    if vectors is None or model.options.transformer.normalize:
        return None
    lengths = np.linalg.norm(vectors, axis=1)
    names, hierarchy = model.dictionary, model.dictionary.hierarchy
    row_of = {text: row for row, text in enumerate(model.generator.table.texts)}
    length = [
        lengths[row_of[model.normalize(names.preferred_name(row))]] for row in range(len(names))
    ]
    pairs = [
        (child, up)
        for child in range(len(names))
        for up in hierarchy.parents([child])[0].tolist()
        if up not in hierarchy.top
    ]
    below, above = (np.array([length[pair[side]] for pair in pairs]) for side in (0, 1))
    return {
        "pairs": len(pairs),
        "hypernym_longer": float((above > below).mean()),
        "mean_length": {"hyponym": float(below.mean()), "hypernym": float(above.mean())},
    }


def example(model: Linker) -> list[tuple[str, int]]:
    """The ten best names of the mention of BCNH's Table 2, each with its relevance: 2 synonym, 1 hypernym, 0 none."""
    names = model.dictionary
    right = names.resolve(EXAMPLE[1])
    above = {
        names.ids[up]
        for i in right
        for ups in names.hierarchy.parents(names.rows(i))
        for up in {*ups.tolist()} - names.hierarchy.top
    }
    table = model.generator.table
    rows = next(iter(model.generator.names([model.normalize(EXAMPLE[0])], 10)))[0]
    ids = [
        {names.ids[c] for c in table.concepts[table.indptr[r] : table.indptr[r + 1]]} for r in rows
    ]
    return [
        (table.texts[int(r)], matching.relevance(i, right, above))
        for r, i in zip(rows, ids, strict=True)
    ]


def row(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The figures of a configuration: means over its runs, with bootstrap intervals over mentions and runs."""
    first = runs[0]
    made: dict[str, Any] = {
        name: first[name] for name in ("configuration", "medic", "corpus", "on")
    }
    made |= {"runs": len(runs), "epochs": first["options"]["training"]["epochs"]}
    for protocol in protocols.PROTOCOLS:
        right, unseen = (
            {k: _right(runs, protocol, k) for k in KS},
            _numbers(first["unseen"][protocol]) == 1,
        )
        made[protocol] = {
            "n": len(unseen),
            "acc": {str(k): _rounded(metrics.run_interval(right[k])) for k in KS},
            "each_run_acc1": [round(float(mean), 5) for mean in right[1].mean(1)],
            "seen_acc1": _rounded(metrics.run_interval(right[1][:, ~unseen])),
            "unseen_acc1": _rounded(metrics.run_interval(right[1][:, unseen])),
            "n_unseen": int(unseen.sum()),
        }
    made["example"] = first["example"]
    if first.get("second_stage_times_slower"):
        made["second_stage_times_slower"] = [r["second_stage_times_slower"] for r in runs]
    if first["norms"]:
        made["hypernym_longer"] = [round(r["norms"]["hypernym_longer"], 4) for r in runs]
    return made


def difference(a: Runs, b: Runs, protocol: str = "biosyn") -> dict[str, Any]:
    """How much better `a` is than `b`: paired bootstrap over mentions and the runs whose seeds both have (all, if none)."""
    seeds = [seed for seed in a if seed in b]
    first, second = ([some[seed] for seed in seeds or some] for some in (a, b))
    made: dict[str, Any] = {
        "of": first[0]["configuration"],
        "over": second[0]["configuration"],
        "protocol": protocol,
        "seeds": seeds,
    }
    for k in KS:
        made[f"acc{k}"] = _rounded(
            metrics.paired_difference(_right(first, protocol, k), _right(second, protocol, k))
        )
    return made


def _right(runs: Sequence[dict[str, Any]], protocol: str, k: int) -> NDArray[np.bool_]:
    """Whether each mention is right at k in each run: (runs, mentions)."""
    ranks = np.array([_numbers(r["ranks"][protocol]) for r in runs])
    return (ranks >= 1) & (ranks <= k)


def _numbers(line: str) -> NDArray[np.int64]:
    return np.array(line.split(), np.int64)


def _rounded(values: Sequence[float]) -> list[float | None]:
    return [round(value, 5) if value == value else None for value in values]


def kept_runs(configuration: Configuration, task: Task) -> Runs:
    """The runs of a configuration that are there, by seed."""
    paths = {seed: RESULTS / f"{path_of(configuration, task, seed)}.json" for seed in range(100)}
    return {seed: load(path, configuration, seed) for seed, path in paths.items() if path.exists()}


def main(
    chosen: argparse.Namespace,
    configurations: Sequence[Configuration],
    task: Task,
    published: Mapping[str, list[float]],
    label: str = "dense",
) -> None:
    """Make the runs that are missing, seed by seed, then put together what is kept: a table, and plots of how they were trained.

    Args:
        label: what the result is called, behind corpus and split.
        published: name of a configuration -> Acc@1 and Acc@5 that a paper reports for it.
    """
    for seed in [] if chosen.table else chosen.seed or range(chosen.seeds):
        for configuration in configurations:
            if (not chosen.only or configuration.name in chosen.only) and (
                not chosen.medic or configuration.medic == chosen.medic
            ):
                run(configuration, task, seed)
    kept = {(c.name, c.medic): runs for c in configurations if (runs := kept_runs(c, task))}
    rows = [
        row([*runs.values()]) | {"published": published.get(name)}
        for (name, _), runs in kept.items()
    ]
    differences = [
        difference(kept[c.name, c.medic], kept[other, c.medic], protocol)
        for c in configurations
        for other in c.over
        if (c.name, c.medic) in kept and (other, c.medic) in kept
        for protocol in protocols.PROTOCOLS
    ]
    PLOTS.mkdir(parents=True, exist_ok=True)
    for (name, release), runs in kept.items():
        first = next(iter(runs.values()))
        if first["history"] and not name.endswith(AGREE):  # trained no other way
            plot(
                [made | {"phase": _phase(made["phase"])} for made in first["history"]],
                PLOTS / f"{task.corpus}-{task.on}-{_slug(name, release)}.png",
            )
    save(f"{task.corpus}_{task.on}_{label}", {"rows": rows, "differences": differences})
    print(table(rows))


def _phase(name: str) -> str:
    """A phase without the name of its run."""
    return (
        name
        if name in ("align", "ground")
        else "second stage"
        if name.endswith("-rerank")
        else "rank"
    )


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The rows as aligned text."""
    lines = [
        f"{'':28}{'MEDIC':7}{'runs':>4}  protocol   Acc@1            Acc@5   Acc@20  unseen  published"
    ]
    for made in rows:
        for protocol in protocols.PROTOCOLS:
            acc, theirs = made[protocol]["acc"], made["published"] if protocol == "biosyn" else None
            interval = "{:.4f} ({:.3f}-{:.3f})".format(*acc["1"])
            means = acc["5"][0], acc["20"][0], made[protocol]["unseen_acc1"][0]
            others = "  ".join("-     " if mean is None else f"{mean:.4f}" for mean in means)
            head = f"{made['configuration']:28}{made['medic']:7}{made['runs']:>4}  {protocol:9}"
            lines.append(f"{head}{interval}  {others}  {theirs or ''}")
    return "\n".join(lines)
