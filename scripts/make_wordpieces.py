"""Make the table of sub-words that comes with linker, linker/encoders/wordpieces_data.

python scripts/make_wordpieces.py doid.obo.gz hp.obo.gz mondo_exactmatch_doid.sssom.tsv.gz ...

It takes all-MiniLM-L6-v2 (the extra `minilm`) and the words of dictionaries and of labels in SSSOM
files. The table that is shipped was made of those named in its README.md, in five minutes on two
cores. linker/encoders/static_training.py says how.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from linker import Dictionary, files
from linker.encoders import static_training
from linker.readers import sssom

TARGET = Path(__file__).resolve().parents[1] / "linker" / "encoders" / "wordpieces_data"


def main() -> None:
    """Make the table, and say how large it is."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("paths", nargs="+", type=Path, help="dictionaries and SSSOM files")
    parser.add_argument("--model", default="", help="another transformer: a folder or a hub id")
    parser.add_argument("--dim", type=int, default=static_training.DIM)
    parser.add_argument("-o", "--output", type=Path, default=TARGET)
    arguments = parser.parse_args()
    texts = [text for path in arguments.paths for text in names(path)]
    label, table = static_training.make_table(arguments.model, texts, arguments.dim)
    sources = {path.name: files.sha256(path) for path in arguments.paths}
    config = {"model": label or "all-MiniLM-L6-v2", "dim": table.dim, "words_of": sources}
    table.save(arguments.output, config)
    size = sum(path.stat().st_size for path in arguments.output.iterdir())
    print(f"{len(table.pieces):,} sub-words, {table.dim} components, {size:,} bytes")


def names(path: Path) -> Iterator[str]:
    """The names in a dictionary, or the labels in an SSSOM file."""
    if ".sssom." in path.name:
        for mapping in sssom.read(path):
            yield from (mapping.subject_label, mapping.object_label)
    else:
        yield from Dictionary.read(path).names


if __name__ == "__main__":
    main()
