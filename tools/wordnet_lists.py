"""Take opposites, expressions of two words and kinds of words out of WordNet, into src/evenhand/embeddings/data.

    python tools/wordnet_lists.py /usr/share/wordnet

Opposites are single words of two sets of synonyms that hold antonyms, in their base form. Left out are those that the rules of
`evenhand.embeddings.forms` find by a prefix or ending, and pairs of words that say a gender, such as son and daughter.
Expressions are entries of two words in lower case, but for animals and plants. Kinds are the numbers of the files in which
lexicographers put the senses of a noun or verb (04: acts, 18: persons, 38: motion …): of its first two senses, and of those that
make up a fifth of its uses in tagged texts; of words that TextBlob's lexicon holds, which is made of texts.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from textblob.en import parser

from evenhand.embeddings import forms
from evenhand.embeddings.directions import gender_words

DATA = Path(__file__).parents[1] / "src/evenhand/embeddings/data"
PARTS = {"n": "noun", "v": "verb", "a": "adj", "s": "adj", "r": "adv"}
HEAD = """\
# {}
# Made by tools/wordnet_lists.py from WordNet 3.0, Copyright 2006 by Princeton University. All rights reserved. Its licence
# and disclaimer are in NOTICE.
"""
SIGNS = {"1": "noun", "2": "verb"}
"""In the keys of senses."""
FIRST, USUAL = 2, 0.2
LIVING = {5, 20}
"""Numbers of the files with animals and plants."""


def lines_of(folder: Path, part: str) -> Iterator[list[str]]:
    """The cells of each set of synonyms."""
    for line in (folder / f"data.{part}").read_text(encoding="latin-1").splitlines():
        if not line.startswith("  "):
            yield line.split("|")[0].split()


def words_in(cells: list[str]) -> list[str]:
    """The words of a set, without the mark that says where an adjective stands."""
    return [re.sub(r"\(\w+\)$", "", word) for word in cells[4 : 4 + 2 * int(cells[3], 16) : 2]]


def antonyms(folder: Path) -> Iterator[tuple[str, str]]:
    """Pairs of words, each once: antonyms, and their synonyms."""
    words: dict[tuple[str, str], list[str]] = {}
    pointers = []
    for part in sorted(set(PARTS.values())):
        for cells in lines_of(folder, part):
            here, (count, *rest) = (part, cells[0]), cells[4 + 2 * int(cells[3], 16) :]
            words[here] = [word.lower() for word in words_in(cells)]
            pointers += [(here, *rest[i : i + 4]) for i in range(0, 4 * int(count), 4)]
    found = {
        tuple(sorted((one, other)))
        for here, sign, there, part, _ in pointers
        if sign == "!"
        for one, other in product(words[here], words[PARTS[part], there])
    }
    yield from sorted(
        (one, other) for one, other in found if (one + other).isalpha() and (one + other).isascii()
    )


def expressions(folder: Path) -> Iterator[tuple[str, str]]:
    """First and second word of each entry of two words."""
    found = {
        word
        for part in set(PARTS.values())
        for cells in lines_of(folder, part)
        for word in words_in(cells)
        if re.fullmatch("[a-z]+_[a-z]+", word) and not (part == "noun" and int(cells[1]) in LIVING)
    }
    for word in sorted(found):
        first, second = word.split("_")
        yield first, second


def kinds(folder: Path) -> Iterator[tuple[str, str]]:
    """The numbers of the files that a noun's or verb's usual senses are in, and the word."""
    uses: dict[tuple[str, str], Counter[str]] = {}
    for line in (folder / "cntlist.rev").read_text(encoding="latin-1").splitlines():
        key, _, count = line.split()
        word, (sign, file, *_) = key.split("%")[0], key.split("%")[1].split(":")
        if sign in SIGNS:
            uses.setdefault((SIGNS[sign], word), Counter())[file] += int(count)
    for part in SIGNS.values():
        file_of = {cells[0]: cells[1] for cells in lines_of(folder, part)}
        for line in (folder / f"index.{part}").read_text(encoding="latin-1").splitlines():
            word, *cells = line.split() or [""]
            used = uses.get((part, word), Counter())
            if not line.startswith("  ") and re.fullmatch("[a-z]{2,}", word) and word in parser.lexicon:
                senses = [file_of[synset] for synset in cells[-int(cells[1]) :]]
                usual = {file for file, n in used.items() if n >= USUAL * used.total()}
                yield ",".join(sorted({*senses[:FIRST], *usual})), word


def write(name: str, about: str, pairs: Iterator[tuple[str, str]]) -> None:
    """One line for each first word."""
    kept: dict[str, list[str]] = {}
    for one, other in pairs:
        kept.setdefault(one, []).append(other)
    lines = "".join(f"{one} {' '.join(others)}\n" for one, others in kept.items())
    (DATA / name).write_text(HEAD.format(about) + lines, encoding="utf-8")


def main() -> None:
    """Write the files."""
    folder, gendered = Path(sys.argv[1]), gender_words()
    told = (
        (one, other)
        for one, other in antonyms(folder)
        if not forms.marked(one, other) and not {one, other} <= gendered
    )
    write(
        "wordnet_opposites.txt",
        "Opposites: a word, then those of its opposites behind it in the alphabet.",
        told,
    )
    about = "Files of nouns (03 to 28) or verbs (29 to 43), and the words whose usual senses are there."
    write("kinds.txt", about, kinds(folder))
    write(
        "compounds.txt", "Expressions of two words: a first word, then the second words.", expressions(folder)
    )


if __name__ == "__main__":
    main()
