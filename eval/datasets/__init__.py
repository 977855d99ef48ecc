"""Labelled answers in one shape, whatever file they come from, and a check of what was loaded.

    from eval.datasets import load_available
    loaded = load_available()              # GRADER_DATA, or ../shared/data beside the repository
    loaded.frames["beetle"], loaded.missing

Every reader returns the columns of :data:`COLUMNS`. The data themselves are never part of this project.
"""

from eval.datasets.asap import read_asap_sas
from eval.datasets.checking import Finding, Report, SplitCount, check, render
from eval.datasets.discover import main_check
from eval.datasets.mohler import read_mohler
from eval.datasets.published import PUBLISHED_ANSWERS, PUBLISHED_LEAKAGE
from eval.datasets.saf import read_saf
from eval.datasets.schema import COLUMNS, SPLITS, Row, extra_field, frame_of
from eval.datasets.semeval import read_semeval
from eval.datasets.store import Loaded, data_folder, load, load_available, read_parquet
from eval.datasets.viva import COMPONENTS, VIVA_OPTIONAL, VIVA_REQUIRED, read_viva, viva_as_answers

__all__ = [
    "COLUMNS",
    "COMPONENTS",
    "PUBLISHED_ANSWERS",
    "PUBLISHED_LEAKAGE",
    "SPLITS",
    "VIVA_OPTIONAL",
    "VIVA_REQUIRED",
    "Finding",
    "Loaded",
    "Report",
    "Row",
    "SplitCount",
    "check",
    "data_folder",
    "extra_field",
    "frame_of",
    "load",
    "load_available",
    "main_check",
    "read_asap_sas",
    "read_mohler",
    "read_parquet",
    "read_saf",
    "read_semeval",
    "read_viva",
    "render",
    "viva_as_answers",
]
