"""Word vectors, directions between words, alterations along a direction, and whether they read fluently."""

from evenhand.embeddings._matrix import Vectors
from evenhand.embeddings.dictionary import Alterations, Rules, alterations
from evenhand.embeddings.directions import Direction, direction
from evenhand.embeddings.ngram import NGram, train
from evenhand.embeddings.vectors import build, vectors

__all__ = [
    "Alterations",
    "Direction",
    "NGram",
    "Rules",
    "Vectors",
    "alterations",
    "build",
    "direction",
    "train",
    "vectors",
]
