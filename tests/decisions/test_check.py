"""What becomes of decisions in another release."""

from __future__ import annotations

from pathlib import Path

import pytest

from linker import Dictionary
from linker.decisions.records import check, conflicts, current, identified, in_force, parts_of
from linker.decisions.store import DecisionStore
from linker.errors import LinkerError
from linker.types import Decision

OBO = """format-version: 1.2

[Term]
id: X:1
name: one
alt_id: X:11
alt_id: X:12

[Term]
id: X:2
name: two
synonym: "deux" EXACT []
alt_id: X:12

[Term]
id: X:3
name: old three
is_obsolete: true
replaced_by: X:2

[Term]
id: X:4
name: old four
is_obsolete: true
"""


@pytest.fixture
def dictionary(tmp_path: Path) -> Dictionary:
    (tmp_path / "d.obo").write_text(OBO, "utf-8")
    return Dictionary.read(tmp_path / "d.obo")


@pytest.mark.parametrize(
    ("mention", "concept", "accepted", "state", "now"),
    [
        ("m", "X:1", True, "current", ("X:1",)),
        ("m", "X:11", True, "merged", ("X:1",)),
        ("m", "X:3", True, "merged", ("X:2",)),
        ("m", "X:4", True, "obsolete", ()),
        ("m", "X:1|X:4", True, "obsolete", ("X:1",)),
        ("m", "X:9", True, "unknown", ()),
        ("m", "X:12", True, "ambiguous", ("X:1", "X:2")),
        ("Deux", "X:1", True, "ambiguous", ("X:2",)),
        ("deux", "X:2", True, "current", ("X:2",)),
        ("deux", "X:2", False, "current", ("X:2",)),
        ("deux", "", True, "ambiguous", ("X:2",)),
        ("m", "", True, "current", ()),
        ("deux", "X:1|-1", True, "current", ("X:1",)),
    ],
)
def test_states(
    dictionary: Dictionary,
    mention: str,
    concept: str,
    accepted: bool,
    state: str,
    now: tuple[str, ...],
) -> None:
    (result,) = check([Decision(mention, concept, accepted)], dictionary)
    assert (result.state, result.now) == (state, now)


ODD = ("A17.0", "A17.0+", "C81", "C81,3", "A|1", "MESH:D001260", "127009")


@pytest.fixture
def odd(tmp_path: Path) -> Dictionary:
    """Ids that hold the signs that join ids, and parts of them that are ids, too."""
    (tmp_path / "odd.tsv").write_text("id\tname\n" + "".join(f"{i}\tof {i}\n" for i in ODD))
    return Dictionary.read(tmp_path / "odd.tsv")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("A17.0+", ("A17.0+",)),
        ("C81,3", ("C81,3",)),
        ("A|1", ("A|1",)),
        ("A17.0+|C81,3|-1", ("A17.0+", "C81,3", "")),
        ("C81,A17.0", ("C81", "A17.0")),
        ("D001260", ("MESH:D001260",)),
        ("127009", ("127009",)),
    ],
)
def test_ids_are_looked_up_whole_and_stay_so_in_the_store(
    odd: Dictionary, tmp_path: Path, text: str, parts: tuple[str, ...]
) -> None:
    with DecisionStore(tmp_path / "d.sqlite") as store:
        store.add([identified(Decision("m", text), odd)])
        (stored,) = store.list()
    assert parts_of(stored) == parts
    ((same,), unknown) = current([stored], odd)
    assert (parts_of(same), unknown) == (parts, [])


@pytest.mark.parametrize("text", ["A17.1+", "C81,4", "OMIM:127009"])
def test_an_id_is_not_stored_as_a_part_of_it(odd: Dictionary, text: str) -> None:
    with pytest.raises(LinkerError, match="the dictionary has no concept"):
        identified(Decision("m", text), odd)


def test_rejections_of_ids_that_join_are_compared(odd: Dictionary) -> None:
    taken = identified(Decision("m", "C81,3"), odd)
    rejected = identified(Decision("m", "C81,3", accepted=False), odd)
    assert [*in_force([taken, rejected]).values()] == [[rejected]]
    assert [*in_force([rejected, taken]).values()] == [[taken]]
    of_another = identified(Decision("m", "C81,3", accepted=False, reviewer="b"), odd)
    assert len(conflicts(in_force([taken, of_another]))) == 1
