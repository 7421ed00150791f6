"""Identifiers."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linker.ids import (
    VOCABULARIES,
    curie,
    format_gold,
    join_ids,
    namespace,
    normalized,
    of_address,
    of_prefix,
    parse_gold,
    split_ids,
)
from linker.records import Gold, GoldGroup

CURIES = {
    "MESH:D001260": ["D001260", " D001260\n", "MeSH:D001260", "mesh: D001260", "MSH:D001260"],
    "MESH:D000067390": ["D000067390"],
    "MESH:C536852": ["C536852"],
    "MESH:C000598644": ["C000598644"],
    "UMLS:C0000039": ["C0000039", "UMLS_CUI:C0000039"],
    "OMIM:208900": ["208900", "MIM:208900"],
    "OMIM:PS208900": ["PS208900"],
    "DOID:0060395": ["DO:DOID:0060395", "DO: DO:DOID:do:0060395", "DO:" * 5000 + "0060395"],
    "HP:0000118": ["DO:HP:0000118", "https://hpo.jax.org/browse/term/HP:0000118"],
    "OMIM:PS154700": [
        "OMIMPS:154700",
        "OMIM.PS:PS154700",
        "https://omim.org/phenotypicSeries/PS154700",
    ],
    "MONDO:0001": [
        "MONDO_0001",
        "mondo:0001",
        "http://purl.obolibrary.org/obo/MONDO_0001",
        "<https://purl.obolibrary.org/obo/MONDO_0001>",
        "https://bioregistry.io/mondo:0001",
        "http://identifiers.org/mondo/MONDO:0001",
    ],
    "Orphanet:558": [
        "Orphanet_558",
        "ORPHANET:558",
        "Orphanet:Orphanet_558",
        "http://www.orpha.net/ORDO/Orphanet_558",
        "http://identifiers.org/orphanet.ordo/Orphanet_558",
    ],
    "ORPHA:558": ["orpha:558", "ORPHA_558"],  # as users see it in their files
    "XY:1": ["http://purl.obolibrary.org/obo/XY_1"],
    "XY_1": [],
    "action_notes": [],
    "HGNC:5": [
        "http://identifiers.org/HGNC:5",
        "http://identifiers.org/hgnc/HGNC:5",
        "https://bioregistry.io/HGNC:5",
    ],
    "https://identifiers.org/foo": [],
    "https://hpo.jax.org/browse/term/foo": [],
    "http://example.org/sheep/1": [],
    "ORDO:1:2": [],
    "anything": [],
    "12345": [],
    "": [],
}


@pytest.mark.parametrize("expected", CURIES)
def test_curie(expected: str) -> None:
    assert {curie(text) for text in (expected, *CURIES[expected])} == {expected}


@given(st.text())
def test_a_curie_stays_as_it_is(text: str) -> None:
    assert curie(curie(text)) == curie(text)


def test_namespace() -> None:
    of = {"MESH:D001260": "MESH", "DOID:1:2": "DOID", "anything": "", "": ""}
    assert {text: namespace(text) for text in of} == of


def one(*ids: str) -> GoldGroup:
    return GoldGroup(ids)


def both(*ids: str) -> GoldGroup:
    return GoldGroup(ids, "all_of")


@pytest.mark.parametrize(
    ("text", "gold"),
    [
        ("D001260", (one("D001260"),)),
        ("MeSH:D001260|208900", (one("MESH:D001260"), one("208900"))),
        ("D001260,D001261;D001262", (one("D001260"), one("D001261"), one("D001262"))),
        ("D001260 + MIM:208900", (both("D001260", "OMIM:208900"),)),
        ("D001260+D001260", (one("D001260"),)),
        ("D001260+D001261|D001262", (both("D001260", "D001261"), one("D001262"))),
        ("D001260|-1|", (one("D001260"),)),
        ("-1", ()),
        ("", ()),
        ("CUI-less", ()),
        ("None", ()),
        ("A17.0+|G01*", (one("A17.0+"), one("G01*"))),  # a plus that stands between no ids
        ("A17.0++G01*", (both("A17.0+", "G01*"),)),
        (r"C81\,3|a\\|\x", (one("C81,3"), one("a\\"), one(r"\x"))),
    ],
)
def test_parse_gold(text: str, gold: Gold) -> None:
    assert parse_gold(text) == gold


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("C81,3", [["C81,3"]]),
        ("C81,3 | A+B", [["C81,3"], ["A+B"]]),
        ("A+B+C", [["A", "B", "C"]]),
        ("A|1", [["A|1"]]),
        (r"A\|1|B", [["A|1"], ["B"]]),
        ("1|none|-1", [["MESH:1"], [], []]),
    ],
)
def test_an_id_of_the_dictionary_is_not_split(text: str, parts: list[list[str]]) -> None:
    known = {"C81,3": "C81,3", "A+B": "A+B", "A|1": "A|1", "none": "none", "1": "MESH:1"}
    assert split_ids(text, known.get) == parts
    assert split_ids(join_ids(parts)) == parts  # without the dictionary


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("A|?", [["A"], None]),
        ("?|A", [None, ["A"]]),
        (" ? ; -1", [None, []]),
        ("?", [None]),
        ("A+B|?", [["A", "B"], None]),
        (r"A|\?", [["A"], ["?"]]),
        (r"\?", [["?"]]),
        ("A?|what?", [["A?"], ["what?"]]),
    ],
)
def test_an_open_part_is_no_id(text: str, parts: list[list[str] | None]) -> None:
    for known in ({}, {"?": "?"}):  # a dictionary may have the sign itself as an id
        assert split_ids(text, known.get) == parts
    assert split_ids(join_ids(parts)) == parts
    assert (parse_gold(text) is None) == (None in parts)


# "DO:1" is written DOID:1
ids = st.from_regex(r"[A-Z]{1,4}:[0-9]{1,7}", fullmatch=True).map(normalized) | st.text(
    r"aB1 \|,;+?", min_size=1
).map(str.strip).filter(bool)
groups = ids.map(one) | st.lists(ids, min_size=2, max_size=3, unique=True).map(
    lambda texts: both(*texts)
)


@given(st.lists(groups, max_size=3).map(tuple))
def test_gold_survives_writing(gold: Gold) -> None:
    assert parse_gold(format_gold(gold)) == gold


parts_of_mentions = st.lists(st.none() | st.lists(ids, max_size=3), min_size=1, max_size=4)


@given(parts_of_mentions)
def test_parts_survive_writing(parts: list[list[str] | None]) -> None:
    assert split_ids(join_ids(parts)) == parts
    known = {identifier: identifier for part in parts for identifier in part or ()}
    assert split_ids(join_ids(parts), known.get) == parts


def test_a_prefix_and_an_address_are_of_one_vocabulary() -> None:
    names = [{name.upper() for name in (v.prefix, *v.spellings, *v.aliases)} for v in VOCABULARIES]
    assert sum(map(len, names)) == len(set().union(*names))
    addresses = [{a for a in (v.system, v.iri, *v.addresses) if a} for v in VOCABULARIES]
    assert sum(map(len, addresses)) == len(set().union(*addresses))


def test_systems_that_others_write() -> None:
    mesh = ("https://www.nlm.nih.gov/mesh", "http://id.nlm.nih.gov/mesh")
    for address in (*mesh, "http://terminology.hl7.org/CodeSystem/MSH", of_prefix("msh").system):
        assert of_address(address).prefix == "MESH"
    for name in ("hp", "mondo", "doid"):
        known = of_address(f"http://purl.obolibrary.org/obo/{name}.owl")
        assert (known.prefix, known.keeps_prefix) == (name.upper(), True)


def test_terms_have_an_address_and_a_title() -> None:
    for known in VOCABULARIES:
        assert bool(known.terms) == bool(known.licence) <= bool(known.title)
        assert known.may_be_passed_on or known.terms
        assert re.fullmatch("https?://.+|", known.licence)
