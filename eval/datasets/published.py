"""What each data set should hold: counts to compare with, mostly from shared/data/README.md."""

from __future__ import annotations

from collections.abc import Mapping

# data set -> split -> (answers, questions). From shared/data/README.md: every total, and the answers of
# test_ua. From the card of the release: the answers of saf_de_v1 by split (`validation` counts as train).
# All other numbers by split were counted in the shared files themselves: they show a later change or loss,
# they are no independent confirmation.
PUBLISHED_ANSWERS: Mapping[str, Mapping[str, tuple[int, int]]] = {
    "scientsbank": {
        "train": (4969, 135), "test_ua": (540, 135), "test_uq": (733, 15), "test_ud": (4562, 46),
        "total": (10804, 196),
    },
    "beetle": {"train": (3941, 47), "test_ua": (439, 47), "test_uq": (819, 9), "total": (5199, 56)},
    "saf_en_v2": {"train": (2127, 26), "test_ua": (375, 26), "test_uq": (479, 5), "total": (2981, 31)},
    "saf_de_v1": {"train": (1534, 6), "test_ua": (271, 6), "test_uq": (602, 2), "total": (2407, 8)},
    "hbrs_nn": {"none": (663, 17), "total": (663, 17)},
    "viva_dev": {"none": (110, 23), "total": (110, 23)},
}  # fmt: skip

# (data set, split) -> test answers that also stand in train, as stated in shared/data/README.md.
PUBLISHED_LEAKAGE: Mapping[tuple[str, str], int] = {
    ("beetle", "test_ua"): 26,
    ("scientsbank", "test_ua"): 26,
    ("saf_en_v2", "test_ua"): 15,
}
