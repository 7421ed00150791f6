"""Make the list of common words that comes with linker, linker/text/common_words.txt.

python scripts/make_common_words.py ../shared/data/text

It reads the files *.txt.gz of a folder, one document a line, and of each file every second line,
the first one among them: the other half is left for trying the list. The list holds the words that
are most frequent in these lines, one a line, in the order of the alphabet. The same files give the
same list.

Misspellings are not looked for: these texts are edited, and a word that occurs as often as the
rarest of the list, 8 times, is hardly ever one. To leave out words with a neighbour, one typing
error away, that is 100 times as frequent would cost 213, nearly all of which are no errors ("gave",
"deceased", "genus").
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from linker.io.files import read_lines
from linker.text.normalize import normalize

MOST = 20_000  # words of the list
_SHORTEST = 3  # letters of a word of the list
_WORD = re.compile(r"\b[a-z]+\b")
TARGET = Path(__file__).resolve().parents[1] / "linker" / "text" / "common_words.txt"


def main() -> None:
    """Make the list, and say how large it is."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="of texts, *.txt.gz")
    parser.add_argument("-o", "--output", type=Path, default=TARGET)
    arguments = parser.parse_args()
    times = counts(arguments.folder)
    words = common_words(times)
    arguments.output.write_text("".join(f"{word}\n" for word in words), "utf-8")
    size = arguments.output.stat().st_size
    print(f"{len(words):,} of {len(times):,} words, {size / 1e3:.0f} kB, in {arguments.output}")


def counts(folder: Path) -> Counter[str]:
    """How often each word stands in every second line of the texts of a folder."""
    times: Counter[str] = Counter()
    for path in sorted(folder.glob("*.txt.gz")):
        for line in even_lines(path):
            times.update(word for word in _WORD.findall(normalize(line)) if len(word) >= _SHORTEST)
    return times


def even_lines(path: Path) -> Iterator[str]:
    """The lines of a file whose number, counted from 0, is even."""
    for number, line in read_lines(path):  # which counts from 1
        if number % 2 == 1:
            yield line


def common_words(times: Counter[str]) -> list[str]:
    """The most frequent words, sorted; of words that are as frequent the first by their letters."""
    by_frequency = sorted(times, key=lambda word: (-times[word], word))
    return sorted(by_frequency[:MOST])


if __name__ == "__main__":
    main()
