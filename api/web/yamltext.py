"""Rubrics written as YAML for people."""

from __future__ import annotations

import io
from typing import Any

from ruamel.yaml import YAML


def dumped(data: Any) -> str:
    """Plain or round-trip data as a rubric is written by hand."""
    yaml, out = YAML(), io.StringIO()
    yaml.width, yaml.default_flow_style = 100_000, False
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.dump(data, out)
    return out.getvalue()
