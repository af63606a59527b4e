"""Whose captions are attacked: the outputs and what people said of the same images, and what attackers learn
from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenhand._model import IntArray
from evenhand.audits.amplification.corpus import Corpus, members
from evenhand.audits.amplification.prepare import Matched

FEWEST = 50
"""Images of each group that an attacker needs, to learn from and to guess."""


@dataclass(frozen=True, kw_only=True)
class LabelledImages:
    """Images of a corpus whose annotation names exactly one group.

    Args:
        corpus: where their rows are. images: (n,) indices. groups: (n,) codes.
    """

    corpus: Corpus
    images: IntArray
    groups: IntArray

    @property
    def fewest(self) -> int:
        """Images of the smaller group."""
        sizes = np.bincount(self.groups, minlength=2) if len(self.groups) else np.zeros(2)
        return int(sizes.min())

    def among(self, images: IntArray, *, without: bool = False) -> LabelledImages:
        """Those of the given images, or those of no given image."""
        kept = np.isin(self.images, images, invert=without)
        return LabelledImages(corpus=self.corpus, images=self.images[kept], groups=self.groups[kept])


@dataclass(frozen=True, kw_only=True)
class LeakageDesign:
    """What attackers guess and learn from: (outputs, people) each time.

    Args:
        tested: the same images and groups in both. taught: other images, None where attackers learn from the
            other folds of the tested ones. called: what is said of an attacker that learnt so. people: what
            the second side is.
    """

    tested: tuple[LabelledImages, LabelledImages]
    taught: tuple[LabelledImages, LabelledImages] | None = None
    called: str = ""
    people: str = "human captions"

    @property
    def groups(self) -> IntArray:
        """(n,) codes of the tested images."""
        return self.tested[0].groups


def baseline(prepared: Matched, truth: Corpus, outputs: Corpus) -> Corpus | None:
    """What people said of the outputs' images, in the same form as the outputs; None where nobody knows."""
    if not len(outputs.texts):
        return truth if truth.known else None
    if len(truth.texts):
        return truth
    train = prepared.train
    return train if len(train.texts) and np.isin(outputs.images, train.images).any() else None


def labelled(prepared: Matched, by: Corpus, corpus: Corpus) -> LabelledImages:
    """The images of a corpus that are also annotated in `by`, by exactly one group."""
    shared = np.intersect1d(by.images, corpus.images)
    rows = np.flatnonzero(np.isin(by.images, shared))
    named = np.zeros((len(shared), by.named.shape[1]), dtype=np.bool_)
    np.logical_or.at(named, np.searchsorted(shared, by.images[rows]), by.named[rows])
    alone, names = members(named, prepared.who.names, "exactly-one")
    keep = [k for k, g in enumerate(names) if g in prepared.groups]
    one = alone[:, keep].sum(axis=1) == 1
    return LabelledImages(corpus=corpus, images=shared[one], groups=alone[one][:, keep].argmax(axis=1))


def attacks(prepared: Matched, truth: Corpus, outputs: Corpus, people: Corpus) -> Sequence[LeakageDesign]:
    """Every way to attack that the data allow, the one that counts first.

    Where outputs and people's words of further images are known (the training images), attackers learn from
    these, as in Wang et al. (2019); else from the other folds of the tested images, as in Hirota et al.
    (2022). Where only people's words of further images are known, the attacker that learns from these and
    guesses both sides comes second: the dataset leakage of Wang et al.
    """
    ours = labelled(prepared, truth, outputs)
    tested = (ours.among(people.images), labelled(prepared, truth, people).among(ours.images))
    called = "human captions" if len(people.texts) else "human labels"
    folded = LeakageDesign(tested=tested, people=called)
    train = prepared.train
    if not prepared.known or bool(len(train.texts)) != bool(len(people.texts)) or not train.known:
        return [folded]
    further = labelled(prepared, train, train).among(truth.images, without=True)
    modelled = labelled(prepared, train, outputs).among(truth.images, without=True)
    if further.fewest < FEWEST:
        return [folded]
    if modelled.fewest >= FEWEST:
        further = further.among(modelled.images)
        return [
            LeakageDesign(tested=tested, taught=(modelled, further), called="training images", people=called)
        ]
    learnt = LeakageDesign(tested=tested, taught=(further, further), called="training data", people=called)
    return [folded, learnt]
