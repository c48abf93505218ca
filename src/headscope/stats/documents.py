"""Errors over documents, from sums that merge exactly however a document was cut into batches and shards.

Texts of one document are alike, so an error over texts is too small. A document's own sums are needed for an error
over documents, and keeping them all would let memory grow with the data. So documents are dealt out to a fixed
number of groups, and what is kept are the sums of groups (random groups of survey statistics): exactly documents
while there are no more of them than groups.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from headscope.types import Array

DOCUMENT_GROUPS = 41
"""Enough for a t quantile only 3 % larger than that of any number of documents."""

FEWEST_DOCUMENTS = 10
"""With cases in fewer documents than this, errors are over texts: so few documents say little of how they differ."""

_MIXER = 0x9E3779B97F4A7C15  # 2 ** 64 over the golden ratio


def group_of(document: int) -> int:
    """The group of a document, by its number.

    The first ones have a group each. The others are dealt out by a hash, not by turns: neighbours in a corpus are
    often of one genre, and groups that all have the same share of each genre would differ too little.
    """
    if document < DOCUMENT_GROUPS:
        return document
    mixed = (document * _MIXER) & (2**64 - 1)
    mixed = ((mixed ^ (mixed >> 32)) * _MIXER) & (2**64 - 1)
    return (mixed >> 32) % DOCUMENT_GROUPS


@dataclass(frozen=True)
class Sampling:
    """What an error is over: the units that count as independent."""

    unit: Literal["documents", "texts"]
    count: int
    effective: float
    """As many units of equal size would make the error as sure; for Student's t. See `effective`."""


def effective(sizes: Array) -> Array:
    """How many groups of equal size are worth as much as these (group, ...): (sum n)² / sum n² (Kish).

    Where one document has half of the cases, the error rests on that one, however many others there are (Carter,
    Schnepel and Steigerwald 2017).
    """
    result: Array = sizes.sum(0) ** 2 / (sizes**2).sum(0)
    return result


def jackknife(totals: Array, sizes: Array) -> Array:
    """The standard error of sum(totals) / sum(sizes), both (group, ...), found by leaving out one group at a time.

    sqrt((G - 1) / G sum_g d_g²), d_g = (totals_g - mean sizes_g) / (N - sizes_g) being the change without group g.
    Groups of size 0 are no groups; nan for fewer than two. Unlike the linearised error it is not too small where
    documents differ in size.
    """
    whole = sizes.sum(0)
    groups = (sizes > 0).sum(0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = totals.sum(0) / whole
        change = (totals - mean * sizes) / (whole - sizes)  # a group that holds everything: 0 / 0, nan
        result: Array = np.sqrt((change**2).sum(0) * (groups - 1) / groups)
    return result


def left_out_error(without: Array) -> float:
    """The jackknife's standard error of any number, from its values (document,) without each; nan for fewer than two.

    Around their own mean, as for a number that is no ratio of sums the whole is not known to be their middle.
    """
    count = len(without)
    if count < 2:
        return math.nan
    return math.sqrt((count - 1) / count * float(((without - without.mean()) ** 2).sum()))


def ratio_error(
    upper: Array, lower: Array, *, uppers: Array, lowers: Array, both: Array, units: Array
) -> Array:
    """The standard error of upper / lower, two sums over texts, by linearisation; nan for fewer than two texts.

    `uppers`, `lowers` and `both` are the sums over texts of squares and products: sum (u - r l)² from those (the ratio
    estimator of survey statistics).
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = upper / lower
        spread = (uppers - 2 * ratio * both + ratio**2 * lowers).clip(0)
        error = np.sqrt(spread * units / (units - 1)) / lower
    return np.where(units > 1, error, np.nan)


class Documents:
    """A set of documents' numbers, one bit each: a corpus of 100,000 documents takes 12 kB."""

    def __init__(self, bits: int = 0) -> None:
        self.bits = bits

    def add(self, document: int) -> None:
        """Put in a document; one that is there stays."""
        self.bits |= 1 << document

    def empty(self) -> "Documents":
        """No documents."""
        return Documents()

    def merge(self, other: "Documents") -> None:
        """Put in all that `other` has."""
        self.bits |= other.bits

    def __len__(self) -> int:
        return self.bits.bit_count()
