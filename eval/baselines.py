"""What every figure stands beside: marks without a grader, from trivial to bag of words.

Each is fitted to labelled frames and gives a scorer. ``question mean (own labels)`` looks at the labels that it is
tested on: it shows what knowing how hard a question is would be worth, and is no system.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

from eval.cache import CachedEncoder, RowCache, digest
from eval.frames import Frames, distinct, without_blanks
from eval.measures import Prediction
from grader.text import normalise, stem, tokenise

Scorer = Callable[[pd.DataFrame], Prediction]
Fit = Callable[[Frames], Scorer]
Floats = npt.NDArray[np.float64]

OWN_LABELS = "question mean (own labels)"


def baselines(cosine: Callable[[pd.DataFrame], Floats]) -> dict[str, Fit]:
    """The baselines by name; ``cosine`` gives the similarity to the best reference of each answer."""
    return {
        "constant": _constant,
        "constant .5": lambda frames: lambda frame: Prediction(np.full(len(frame), 0.5)),
        "question mean": _question_mean,
        OWN_LABELS: lambda frames: _own_mean,
        "length": lambda frames: _line(frames, _length),
        "bag of words": _bag_of_words,
        "cosine alone": lambda frames: _line(frames, cosine),
    }


def pooled(frames: Frames) -> pd.DataFrame:
    """All answers of the frames that say something, one after the other."""
    return without_blanks(pd.concat(list(frames.values()), ignore_index=True))


def _constant(frames: Frames) -> Scorer:
    mean = float(pooled(frames)["fraction"].mean())
    return lambda frame: Prediction(np.full(len(frame), mean))


def _question_mean(frames: Frames) -> Scorer:
    known = pooled(frames)
    means = known.groupby("question_id")["fraction"].mean().to_dict()
    overall = float(known["fraction"].mean())
    return lambda frame: Prediction(np.array([means.get(q, overall) for q in frame["question_id"]], dtype=float))


def _own_mean(frame: pd.DataFrame) -> Prediction:
    return Prediction(frame.groupby("question_id")["fraction"].transform("mean").to_numpy(float))


def _line(frames: Frames, number: Callable[[pd.DataFrame], Floats]) -> Scorer:
    """A straight line through one number an answer, cut at 0 and 1."""
    known = pooled(frames)
    line = LinearRegression().fit(number(known)[:, None], known["fraction"])
    return lambda frame: Prediction(np.clip(line.predict(number(frame)[:, None]), 0, 1))


def _length(frame: pd.DataFrame) -> Floats:
    return np.log1p([len(str(text).split()) for text in frame["answer"]])


def words(text: str, language: str = "en") -> list[str]:
    """Stems of ``text`` and its neighbouring pairs of stems."""
    found = [stem(token.text, language) for token in tokenise(normalise(text).text)]
    return found + [f"{a} {b}" for a, b in zip(found, found[1:], strict=False)]


def _documents(frame: pd.DataFrame) -> list[tuple[str, str, str]]:
    return list(zip(frame["question_id"].map(str), frame["answer"].map(str), frame["language"], strict=True))


def _analyse(document: tuple[str, str, str]) -> list[str]:
    """Words on their own, and words together with the question they answer."""
    question, text, language = document
    found = words(text, language)
    return found + [f"{question}\t{word}" for word in found]


def _bag_of_words(frames: Frames) -> Scorer:
    """Ridge regression for the mark, logistic regression for the labels."""
    known = pooled(frames)
    vectors = TfidfVectorizer(analyzer=_analyse, min_df=2, sublinear_tf=True)
    table = vectors.fit_transform(_documents(known))
    mark = Ridge(alpha=1.0).fit(table, known["fraction"])
    correct = _classifier(table, known["correct"])
    label3 = _classifier(table, known["label3"]) if known["label3"].notna().all() else None

    def score(frame: pd.DataFrame) -> Prediction:
        rows = vectors.transform(_documents(frame))
        return Prediction(
            np.clip(mark.predict(rows), 0, 1),
            correct=np.asarray(correct(rows), dtype=bool),
            label3=None if label3 is None else [str(label) for label in label3(rows)],
        )

    return score


def _classifier(table: object, labels: pd.Series) -> Callable[[object], npt.NDArray[np.generic]]:
    if labels.nunique() < 2:
        only = labels.iloc[0]
        return lambda rows: np.full(rows.shape[0], only)  # type: ignore[attr-defined]
    model = LogisticRegression(C=10.0, max_iter=2000).fit(table, labels)
    return lambda rows: np.asarray(model.predict(rows))


class Cosine:
    """Similarity of sentence vectors to the best reference: the baseline that every paper prints."""

    def __init__(self, encoder: CachedEncoder, cache: RowCache) -> None:
        """Cosines by ``encoder``, kept in ``cache``."""
        self._encoder, self._cache = encoder, cache

    def __call__(self, frame: pd.DataFrame) -> Floats:
        """Cosine of each answer to its nearest reference, 0 for an empty answer, shape (n,)."""
        answers = [" ".join(normalise(str(text)).text.split()) for text in frame["answer"]]
        references = [distinct([str(r) for r in texts]) for texts in frame["reference_answers"]]

        def make(places: list[int]) -> npt.NDArray[np.float64]:
            unique = list(dict.fromkeys(text for at in places for text in references[at]))
            rows = dict(zip(unique, self._encoder.pooled(unique), strict=True))
            ours = self._encoder.pooled([answers[at] for at in places])
            best = [max(float(v @ rows[t]) for t in references[at]) for at, v in zip(places, ours, strict=True)]
            return np.array(best)[:, None]

        keys = [digest([answer, *texts]) for answer, texts in zip(answers, references, strict=True)]
        found = self._cache.rows(digest(["cosine", self._encoder.signature]), keys, make)[:, 0]
        return np.where([bool(text) for text in answers], found, 0.0)
