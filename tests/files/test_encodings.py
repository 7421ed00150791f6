"""Encodings of texts: what is recognised, what is asked for, what is refused."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from linker import files
from linker.errors import InputError, LinkerError
from linker.files import OpenFile, encodings

GERMAN = (
    "Hüftgelenksarthrose|Übergewicht|Sjögren-Syndrom|Ménière-Krankheit|Lähmung|Fußfehlstellung|"
    "Größenwahn|Herzinsuffizienz, nicht näher bezeichnet|Lese-Rechtschreib-Störung|Röteln"
)
FRENCH = (
    "maladie cœliaque|hépatite virale aiguë|fièvre jaune|sclérose en plaques|anémie hémolytique|"
    "syndrome de Sjögren|infection à méningocoques|lèpre|œdème pulmonaire|grippe|bêta-thalassémie"
)
POLISH = (
    "niewydolność serca|gruźlica płuc|zapalenie płuc|nadciśnienie tętnicze|żółtaczka|świnka|"
    "zespół Sjögrena|łuszczyca|białaczka szpikowa|zaćma|wścieklizna|niedokrwistość|otyłość"
)
ENGLISH = "gout|Sjögren syndrome|Crohn’s disease|Guillain–Barré syndrome"


def detected(text: str, encoding: str) -> str:
    table = "".join(f"{i};{cell};23.11.2026\r\n" for i, cell in enumerate(text.split("|")))
    return encodings.detect(OpenFile(io.BytesIO(f"nr;diagnosis\r\n{table}".encode(encoding)), "t"))


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        *((text, encoding) for text in (GERMAN, FRENCH, ENGLISH) for encoding in ("windows-1252",)),
        (POLISH, "windows-1250"),
        (GERMAN, "mac-roman"),
        (FRENCH, "mac-roman"),
        (f"{GERMAN}|{FRENCH}", "windows-1252"),
        (GERMAN, "cp850"),
        *((text, encoding) for text in (GERMAN, POLISH) for encoding in ("utf-8", "utf-16-le")),
        ("gout", "utf-8"),
    ],
)
def test_what_spreadsheets_write_is_recognised(text: str, encoding: str) -> None:
    bom = "\ufeff" if encoding == "utf-16-le" else ""
    if bom:
        content = (bom + text).encode(encoding)
        assert encodings.detect(OpenFile(io.BytesIO(content), "t")) == encoding
    else:
        assert detected(text, encoding) == encoding


@pytest.mark.parametrize(
    ("text", "encoding", "message"),
    [
        (
            "fièvre jaune|hépatite", "windows-1252",
            "line 2: .* reads 'fièvre' in windows-1252, 'fičvre' in windows-1250; save it as",
        ),
        ("świnka", "iso8859-2", "line 2: the text is not UTF-8, and "),
        ("язва желудка|грипп", "windows-1251", "fit no language as windows-1252, windows-1250"),
        ("糖尿病", "shift-jis", "name its encoding with --encoding"),
    ],
)  # fmt: skip
def test_what_could_be_several_is_refused(text: str, encoding: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        detected(text, encoding)


def test_damaged_utf8_is_no_other_encoding() -> None:
    content = "Röteln\nHüfte\n".encode() + "Störung\n".encode("windows-1252")
    path, encoding = encodings.as_utf8(OpenFile(io.BytesIO(content), "t"))
    assert encoding == "utf-8"
    with pytest.raises(InputError, match="line 3: byte 0xf6 is not UTF-8"):
        list(files.read_lines(path))


def test_a_copy_in_utf8(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "t.txt"
    path.write_bytes("Röteln\r\nGicht".encode("windows-1252"))
    copy, encoding = encodings.as_utf8(path)
    assert [line for _, line in files.read_lines(copy, keep_ends=True)] == ["Röteln\r\n", "Gicht"]
    assert (str(copy), encoding) == (str(path), "windows-1252")
    said = (
        f"{path}: is not UTF-8, and was read as windows-1252; if it is in another, name that with"
    )
    assert caplog.messages == [f"{said} --encoding"]


def test_an_encoding_that_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_bytes("ятаган\nчума".encode("windows-1251"))
    copy, _ = encodings.as_utf8(path, "cp1251")
    assert [line for _, line in files.read_lines(copy)] == ["ятаган", "чума"]
    path.write_bytes("\ufeffRöteln".encode("utf-16-be"))
    copy, encoding = encodings.as_utf8(path, "UTF-16")
    assert ([line for _, line in files.read_lines(copy)], encoding) == (["Röteln"], "utf-16-be")
    path.write_bytes(b"a\nb\n\x81\n")
    with pytest.raises(InputError, match="line 3: byte 0x81 is not cp1252"):
        encodings.as_utf8(path, "cp1252")
    for name in ("latin-99", "rot13", "base64", "idna", "punycode"):
        with pytest.raises(LinkerError, match=f"'{name}' is no encoding; name one such as"):
            encodings.as_utf8(path, name)
