"""Masks: sums that reveal nothing but their total.

Every two mask partners share a secret, from which both make the same long sequence of
uniform integers; before a message leaves its node, one of them adds the sequence to it
and the other subtracts it, modulo 2^64. So every message on its way is uniform for
whoever lacks one of the node's secrets, and the total is what it was, to the last bit.
Partners need not be neighbours.
"""

from dssfn.masking.ciphers import EphemeralKey
from dssfn.masking.masks import Masks, leaving, masks_in_one_place
from dssfn.masking.partners import check_mask_degree, mask_partners
from dssfn.masking.records import packed, record_size, united, unpacked

__all__ = [
    "EphemeralKey",
    "Masks",
    "check_mask_degree",
    "leaving",
    "mask_partners",
    "masks_in_one_place",
    "packed",
    "record_size",
    "united",
    "unpacked",
]
