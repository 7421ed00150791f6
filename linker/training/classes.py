"""The classes of names that grounding trains on, and the names that validate it."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from linker.dictionary import Dictionary, NameTable, classes
from linker.dictionary.classes import Classes
from linker.dictionary.hierarchy import Hierarchy
from linker.errors import LinkerError
from linker.options import GroundOptions
from linker.training.sampling import Stream, rng

logger = logging.getLogger(__name__)

_SHOWN = 5  # classes in a message


def select(
    options: GroundOptions, table: NameTable, dictionary: Dictionary, seed: int
) -> tuple[Classes, Classes | None]:
    """Group the names of a dictionary by class, and sample a few of each class if `shots` is set.

    Returns:
        The names to train on, and those to validate with; None: some of the former serve.

    Raises:
        LinkerError: there is no such root, or the hierarchy has too few classes, or too few of two
            names where shots are sampled.
    """
    names = _grouped(options, table, dictionary)
    text = "%d names of %d classes, the largest %s"
    largest = np.argsort(-names.sizes, kind="stable")[:_SHOWN]
    logger.info(text, len(names), names.count, _listed(names, largest.tolist()))
    if not options.shots:
        return names, None
    names = _without_lone(names)
    few = np.flatnonzero(names.sizes < 2 * options.shots)
    if len(few):
        text = (
            "%d of %d classes have fewer than %d names to draw from, half of them is trained on: %s"
        )
        listed = _listed(names, few[:_SHOWN].tolist())
        logger.warning(text, len(few), names.count, 2 * options.shots, listed)
    return shots(names, options.shots, seed)


def _grouped(options: GroundOptions, table: NameTable, dictionary: Dictionary) -> Classes:
    ids, hierarchy = dictionary.ids, dictionary.hierarchy
    root = _root(options, dictionary)
    if options.classes == "concepts":
        return classes.of_concepts(table, ids)
    _check_hierarchy(hierarchy, options, root, ids)
    if options.classes == "level":
        return classes.of_level(table, hierarchy, options.level, root, ids)
    return classes.of_parts(table, hierarchy, options.parts, root, ids)


def _root(options: GroundOptions, dictionary: Dictionary) -> int | None:
    """The row of the concept that levels and parts are counted from; None: the hierarchy's own."""
    if not options.root:
        return None
    rows = dictionary.rows(options.root)
    if len(rows) != 1:
        raise LinkerError(
            f"ground.root is {options.root!r}, which is no concept of the dictionary; "
            f"give the id of one, e.g. {dictionary.ids[0]}"
        )
    return rows[0]


def _check_hierarchy(
    hierarchy: Hierarchy, options: GroundOptions, root: int | None, ids: Sequence[str]
) -> None:
    if not hierarchy.edges:
        raise LinkerError(
            f"the dictionary has no hierarchy, which ground.classes={options.classes} groups names "
            "by; give one with parents, borrow that of another file (--hierarchy), "
            "or choose --encoder dan"
        )
    if root is None and len(hierarchy.roots) > 1:
        listed = ", ".join(ids[row] for row in hierarchy.roots[:_SHOWN])
        text = (
            "the hierarchy has %d roots, which count as level 1, or as the parts: %s; "
            "ground.root names one to stand below"
        )
        logger.warning(text, len(hierarchy.roots), listed)


def _without_lone(names: Classes) -> Classes:
    """Leave out the classes of one name, which leave none to validate with."""
    lone = np.flatnonzero(names.sizes < 2)
    if not len(lone):
        return names
    listed = ", ".join(names.ids[label] for label in lone[:_SHOWN])
    kept = names.count - len(lone)
    if kept < 2:
        raise LinkerError(
            f"{kept} of {names.count} classes have two names or more, one to train on and one to "
            f"judge by (not {listed}); expected: two classes; take another ground.root, "
            "or a dictionary with more of a hierarchy (--hierarchy)"
        )
    text = "%d of %d classes have one name, and are left out: %s"
    logger.warning(text, len(lone), names.count, listed)
    return names.relabelled(np.flatnonzero(names.sizes[names.labels] > 1))


def _listed(names: Classes, labels: Sequence[int]) -> str:
    return ", ".join(f"{names.ids[label]} ({names.sizes[label]})" for label in labels)


def held_out(names: Classes, count: int, seed: int) -> NDArray[np.bool_]:
    """Sample a name of each of at most `count` classes of three names or more: (n,) bool.

    Half of such classes give one at most; where that is few, up to a tenth of their names. A name
    of several classes is held out of all of them, which may leave these with fewer than two.
    """
    random = rng(seed, Stream.HELD_OUT)
    eligible = np.flatnonzero(names.sizes >= 3)
    labels = random.permutation(eligible)[: min(count, len(eligible) // 2)]
    order, start = names.members
    rows = [order[start[labels] + random.integers(names.sizes[labels])]]
    more = np.minimum(count // max(1, len(labels)), names.sizes[labels] // 10) - 1
    rows += [
        random.permutation(members)[:extra]
        for members, extra in zip(names.of(labels), more.tolist(), strict=True)
        if extra > 0
    ]
    return np.isin(names.spelling, names.spelling[np.concatenate(rows)])


def shots(names: Classes, count: int, seed: int) -> tuple[Classes, Classes]:
    """Sample `count` names of each class to train on, and as many others to validate with.

    A class that has not enough gives half of its names to either (Fivez et al. 2021c, section 3.2).

    Args:
        names: two or more of each class.
        count: names of each class.
        seed: of the sample.

    Returns:
        Those to train on and those to validate with; labels are those of `names`.
    """
    random = rng(seed, Stream.SHOTS)
    members = [random.permutation(rows) for rows in names.of(np.arange(names.count))]
    counts = [min(count, len(rows) // 2) for rows in members]
    train = [rows[:n] for rows, n in zip(members, counts, strict=True)]
    validation = [rows[n : 2 * n] for rows, n in zip(members, counts, strict=True)]
    return names[np.concatenate(train)], names[np.concatenate(validation)]
