"""A page for each candidate to print: marks, feedback, nothing of the key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jinja2 import Environment

if TYPE_CHECKING:
    from api.routes.mine import MyResult

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{{ result.title }}</title>
<style>
body { font: 11pt/1.45 sans-serif; max-width: 46em; margin: 2em auto; }
blockquote { border-left: 3px solid #999; margin-left: 0; padding-left: 1em; white-space: pre-wrap; }
section { break-inside: avoid; border-top: 1px solid #ccc; }
table { border-collapse: collapse; } td { padding: 0 1em 0 0; } td.n { text-align: right; }
</style></head><body>
<h1>{{ result.title }}</h1>
{% if name %}<p>{{ name }}</p>{% endif %}
<p><strong>{{ "%g"|format(result.points) }} of {{ "%g"|format(result.max_points) }} points</strong>
{%- if result.percent is not none %} ({{ "%.1f"|format(result.percent) }} %){% endif %}
{%- if result.grade %}, grade {{ result.grade }}{% endif %}
{%- if result.passed is not none %}, {{ "passed" if result.passed else "not passed" }}{% endif %}</p>
{% for mark in result.marks %}<section>
<h2>{{ loop.index }}. {{ mark.item }}:
{{ "no mark" if mark.score is none else "%g"|format(mark.score) }} of {{ "%g"|format(mark.max_score) }}</h2>
<blockquote>{{ mark.response or "(no answer)" }}</blockquote>
{% if mark.parts %}<table>{% for part in mark.parts %}
<tr><td>{{ part.label|replace("_", " ") }}</td><td class="n">{{ "%+.2f"|format(part.points) }}</td></tr>
{% endfor %}</table>{% endif %}
{% if mark.comment %}<p><em>{{ mark.comment }}</em></p>{% endif %}
{% if mark.feedback %}{% set f = mark.feedback.feedback %}<p>{{ f.summary }}</p><ul>
{% for one in f.present %}<li>{% if one.quote %}“{{ one.quote }}”: {% endif %}{{ one.text }}</li>{% endfor %}
{% for one in f.missing %}<li>{{ one.text }}{% if one.hint %} {{ one.hint }}{% endif %}</li>{% endfor %}
{% for one in f.wrong %}<li>{% if one.quote %}“{{ one.quote }}”: {% endif %}{{ one.text }}</li>{% endfor %}
</ul>{% endif %}
</section>{% endfor %}
</body></html>
"""
_TEMPLATE = Environment(autoescape=True, trim_blocks=True).from_string(_PAGE)


def feedback_page(result: MyResult, name: str | None) -> str:
    """HTML of one candidate's result; ``name`` only where a person revealed it."""
    return _TEMPLATE.render(result=result, name=name)
