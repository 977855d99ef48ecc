"""The HTTP service: scores, items, exams, reviews. Imports the library, never the evaluation code."""
