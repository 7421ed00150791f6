"""Predictions in a file, evaluated like a model: our JSONL, BioSyn's `predictions_eval.json`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from linker import matching
from linker.errors import InputError, LinkerError
from linker.evaluation.protocols import Outcome, outcome_of, with_error
from linker.ids import curie, not_known, parse_gold
from linker.io import files, jsonl
from linker.linking.linker import Linker
from linker.matching import Resolve
from linker.records import Candidate, Gold, Mention


def outcomes(
    path: files.Pathlike,
    mentions: Sequence[Mention],
    protocol: str,
    linker: Linker | None,
) -> Iterator[Outcome]:
    """Evaluate a file of predictions for annotated mentions.

    Args:
        path: our JSONL, in the order of the mentions, or BioSyn's JSON, which has gold ids of its
            own.
        mentions: the annotated mentions that the predictions are for.
        protocol: "strict" or "biosyn"; only "biosyn" for BioSyn's file, which ranks names.
        linker: resolves annotated ids, and tells kinds of errors; None: ids are compared as they
            are.

    Raises:
        LinkerError: the file is in neither form, or is for other mentions.
    """
    resolve = linker.dictionary.resolve if linker else lambda i: frozenset((i, curie(i)))
    if _is_ours(path):
        of_file = _ours(path, mentions, protocol, resolve)
    elif protocol != "biosyn":
        raise LinkerError(
            f"{path}: is not our JSONL; "
            "BioSyn's predictions rank names, judge them with --protocol biosyn"
        )
    else:
        of_file = _biosyn(path, mentions, resolve)
    return (with_error(outcome, linker) for outcome in of_file)


def _is_ours(path: files.Pathlike) -> bool:
    try:
        record = files.parse_json(next(iter(files.head(path, 1)), ""))
    except ValueError:
        return False
    return isinstance(record, dict) and "mention" in record


def _ours(
    path: files.Pathlike, mentions: Iterable[Mention], protocol: str, resolve: Resolve
) -> Iterator[Outcome]:
    predictions = jsonl.read_predictions(path)
    remedy = "give the mentions that were linked, in the same order"
    for number, mention in enumerate(mentions, 1):
        prediction = next(predictions, None)
        there = prediction.mention.text if prediction else "nothing"
        if prediction is None or there != mention.text:
            problem, text = "is for other mentions", repr(mention.text)
            raise InputError(path, problem, line=number, value=there, expected=text, remedy=remedy)
        # biosyn leaves out mentions without a concept
        if mention.gold or (mention.gold is not None and protocol == "strict"):
            yield outcome_of(prediction, mention, protocol, resolve)
    if next(predictions, None) is not None:
        raise InputError(path, "has more predictions than there are mentions", remedy=remedy)


def _biosyn(
    path: files.Pathlike, mentions: Iterable[Mention], resolve: Resolve
) -> Iterator[Outcome]:
    try:
        queries: list[dict[str, Any]] = files.parse_json(files.read_text(path))["queries"]
        predictions = [_query(query["mentions"]) for query in queries]
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        problem = f"these are no predictions ({error})"
        expected = 'our JSONL, or BioSyn\'s {"queries": [{"mentions": [...]}]}'
        remedy = "check --predictions"
        raise InputError(path, problem, expected=expected, remedy=remedy) from None
    if len(predictions) != (count := len(list(mentions))):
        problem = f"its {len(predictions)} mentions are not the {count} given"
        raise InputError(path, problem, remedy="give the mentions that were predicted")
    for mention, parts in predictions:
        best = tuple(
            Candidate(min(part[0][1], default=""), part[0][0], part[0][0], 0.0) if part else None
            for part in parts
        )
        ranked = [[ids for _, ids in part] for part in parts]
        rank = matching.biosyn_rank(ranked, mention.gold or (), resolve)
        yield Outcome(mention, rank or 0, best)


def _query(parts: list[dict[str, Any]]) -> tuple[Mention, list[list[tuple[str, list[str]]]]]:
    """Read a mention with its gold ids, and for each part the ranked names with their ids."""
    ranked = [
        [
            (str(candidate["name"]), _ids(_gold(candidate["cui"])))
            for candidate in part["candidates"]
        ]
        for part in parts
    ]
    text = "|".join(part["mention"] for part in parts)
    return Mention(text, gold=_gold(parts[0]["golden_cui"])), ranked


def _gold(joined: str) -> Gold:
    """The ids of BioSyn's files, which are of MeSH or OMIM."""
    return parse_gold(joined, not_known, curie) or ()


def _ids(gold: Gold) -> list[str]:
    return [i for group in gold for i in group.ids]
