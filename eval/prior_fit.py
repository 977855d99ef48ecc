"""The training of the prior as a system of the bench: labelled frames in, a prior out."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from eval.frames import Frames
from eval.prior_data import reference_answers
from eval.train_prior import ROOT, batch, reference_curve, true_rows
from grader.encoder import Encoder
from grader.evidence.features import FEATURES
from grader.scoring import Curve, Prior, load_prior


def fit_prior(frames: Frames, encoder: Encoder, cache: Path = ROOT / ".cache") -> Prior:
    """The shipped prior with its curve for plain reference answers trained on ``frames`` alone.

    Args:
        frames: Prepared frames of the data sets to train on.
        encoder: The language model.
        cache: Folder of features computed before.
    """
    found = {name: reference_answers(frame, encoder, cache) for name, frame in frames.items()}
    batches = {name: batch(answers, true_rows(answers)) for name, answers in found.items()}
    content: dict[str, Any] = reference_curve(batches)
    weights = np.array([content["weights"][name] for name in FEATURES], dtype=np.float32)
    curve = Curve(weights, float(content["bias"]), float(content["stretch"]))
    return dataclasses.replace(load_prior(), version="left-out", reference=curve)
