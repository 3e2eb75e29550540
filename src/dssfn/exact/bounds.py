"""The sizes of all integers, and the proof that no sum of them is ever rounded.

How this works. A product of two integers is exact in floating point as long as every
partial sum stays below 2^24 in float32, or 2^53 in float64, whatever the order in which
BLAS adds. So it is enough to bound the sum of absolute values:

- *Random units* are 0..127. A chunk has at most 1040 samples, and 1040 * 127^2 < 2^24:
  the products of two units over a chunk are exact in float32. Several chunks are added
  up there as long as no unit's sum of squares exceeds 2^24, which bounds all sums of
  products and all parts of them (Cauchy and Schwarz), and then in float64, where they
  are exact for 2^39 samples, more than a node may have.
- *Wide numbers*, which are inputs, scores, targets and what scores leave over, are
  whole multiples of 2^-17 between -32 and 32: at most 2^22 of them. A unit times a wide
  number, over a node's 2^23 samples, stays below 2^7 * 2^22 * 2^23 = 2^52. Two wide
  numbers over 512 samples are at most 512 * 2^44 = 2^53, and over more as long as no
  sum of squares exceeds that; then they are moved to two words, the lower one of 28
  bits, which int64 adds up.
- *Structured random matrices* of N places have entries of +-1 in each factor, so that
  all numbers on the way are at most N times the length of the input vector. Where that
  is below 2^24 they are exact in float32: from layer 2 on always, for N <= 2048, since
  inputs are at most 127 there. Elsewhere it is done in float64: inputs of layer 1 are
  at most 4095, and 2^20 * 4095 * sqrt(2^20) < 2^53.
- *Output matrices* have digits of 7 bits where they meet units: 2064 products of 64 and
  127 stay below 2^24. Where they meet wide numbers their digits have as many bits as
  float64 leaves for the number of features.
- *Totals* over all nodes are int64: units by wide numbers over 2^33 samples stay below
  2^7 * 2^22 * 2^33 = 2^62, and so many words or digits of 28 bits as well.
"""

from __future__ import annotations

import math

from dssfn.config import MOST_EXACT_BIAS, MOST_EXACT_WIDTH
from dssfn.errors import DataError

FLOAT32, FLOAT64 = 2**24, 2**53  # whole numbers up to here are exact

TOP = 127  # of a random unit, which takes one byte
LEVELS = 32  # of a random unit, in one deviation
WIDE = 2**22  # of inputs, scores and targets
STEPS = 2**17  # of these, in one unit
DEVIATION = 16  # levels of the inputs of units, in one deviation, from layer 2 on
FIRST_TOP, FIRST_DEVIATION = 4095, 256  # the same in layer 1
CHUNK = FLOAT32 // TOP**2  # samples whose products are added up in float32
WIDE_CHUNK = FLOAT64 // WIDE**2  # samples whose wide products are, in float64
DIGIT = 2**7  # base of the digits of output matrices that meet units
N_DIGITS = 4
HALF_DIGIT = DIGIT // 2
ROWS = FLOAT32 // (HALF_DIGIT * TOP)  # units whose products with digits are added up
WORD = 2**28  # of wide products, kept as two words

FEWEST_PLACES = 64  # of a structured matrix: fewer would not mix few inputs well
MOST_PLACES = 2**20
MOST_NODE_SAMPLES, MOST_SAMPLES = 2**23, 2**33

assert CHUNK * TOP**2 < FLOAT32
assert WIDE_CHUNK * WIDE**2 <= FLOAT64
assert MOST_NODE_SAMPLES * TOP * WIDE < FLOAT64
assert MOST_NODE_SAMPLES * TOP**2 < FLOAT64
assert MOST_SAMPLES * TOP * WIDE < 2**63
assert MOST_SAMPLES * WORD < 2**63
assert MOST_SAMPLES * (FLOAT64 // WORD) < 2**63
assert 2048**1.5 * TOP < FLOAT32
assert MOST_PLACES**1.5 * FIRST_TOP < FLOAT64
assert (2 * MOST_EXACT_WIDTH) ** 1.5 * TOP < FLOAT64  # places of layer 2 and later
assert MOST_EXACT_BIAS * DEVIATION <= TOP
assert ROWS * HALF_DIGIT * TOP <= FLOAT32


def digit_bits(n_features: int) -> int:
    """Return the bits of a digit that meets so many wide numbers in float64.

    >>> digit_bits(21)
    26
    """
    return 53 - WIDE.bit_length() - max(n_features, 1).bit_length() + 1


def check_node_samples(n_samples: int) -> None:
    """Refuse more samples on one node than the proof holds for."""
    if n_samples > MOST_NODE_SAMPLES:
        raise DataError(
            f"A node must have at most {MOST_NODE_SAMPLES} samples with integer "
            f"units, as sums are exact only up to there, got {n_samples}. Divide them "
            'among several nodes, or use `units = "dense"`.'
        )


def check_samples(n_samples: float) -> None:
    """Refuse more samples of all nodes than the proof holds for."""
    if n_samples > MOST_SAMPLES:
        raise DataError(
            f"All nodes together must have at most {MOST_SAMPLES} samples with "
            f"integer units, as sums are exact only up to there, got {n_samples:g}. "
            'Use `units = "dense"`.'
        )


def places(n_inputs: int) -> int:
    """Return the places of a structured matrix: a power of two with room for inputs.

    >>> places(10), places(785)
    (64, 1024)
    """
    return max(FEWEST_PLACES, 1 << math.ceil(math.log2(n_inputs)))
