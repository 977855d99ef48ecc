"""Grades written short answers with rubrics, deterministically, without a generative model.

from grader import Grader, load_bank

bank = load_bank()
score = Grader().grade(bank["zero-grad"], "Gradients add up, so they must be cleared.")
print(score.score, score.feedback.summary)
"""

from grader.bank import Bank, load_bank, load_item
from grader.errors import GraderError, InputError, ModelError, RubricError, UnknownItemError
from grader.grading import Grader
from grader.rubric import Item
from grader.score import Score
from grader.signature import package_version

__version__ = package_version()

__all__ = [
    "Bank",
    "Grader",
    "GraderError",
    "InputError",
    "Item",
    "ModelError",
    "RubricError",
    "Score",
    "UnknownItemError",
    "load_bank",
    "load_item",
]
