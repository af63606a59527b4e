"""Word vectors, directions between words, alterations along a direction, and whether they read fluently;
tests of association."""

from evenhand.embeddings._matrix import Vectors
from evenhand.embeddings.dictionary import Alterations, Rules, alterations
from evenhand.embeddings.directions import Direction, direction
from evenhand.embeddings.ngram import NGram, train
from evenhand.embeddings.vectors import build, vectors
from evenhand.embeddings.word_tests import WordTest, word_test

__all__ = [
    "Alterations",
    "Direction",
    "NGram",
    "Rules",
    "Vectors",
    "WordTest",
    "alterations",
    "build",
    "direction",
    "train",
    "vectors",
    "word_test",
]
