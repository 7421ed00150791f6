"""Explanations as a piece of HTML, to be put into any page; it has no script."""

from __future__ import annotations

from typing import Any

from linker.errors import shown
from linker.explanation import Explanation
from linker.outputs import explanation as words

# The colours are those that the system has for pages, light or dark.
_TEMPLATE = """\
{% macro table(header, rows) %}
<div class="wide"><table>
<thead><tr>{% for cell in header %}<th scope="col">{{ cell }}</th>{% endfor %}</tr></thead>
<tbody>
{% for row in rows %}
<tr{% if row[0] %} class="won"{% endif %}>
{% for cell in row[1:] %}<td>{{ cell }}</td>{% endfor %}
</tr>
{% endfor %}
</tbody>
</table></div>
{% endmacro %}
{% macro chips(title, shares) %}
{% if shares %}
<p>{{ title }}:
{% for share in shares[:most] %}
<span class="share">{{ piece(share) }} <small>{{ "%.3f" | format(share.value) }}</small></span>
{% endfor %}
</p>
{% endif %}
{% endmacro %}
<section class="linker-explanation">
<style>
.linker-explanation { color-scheme: light dark; background: Canvas; color: CanvasText;
  font: 14px/1.5 system-ui, sans-serif; padding: 1em; overflow-wrap: anywhere; }
.linker-explanation h3 { font-size: 1.3em; margin: 0 0 .5em; }
.linker-explanation h4 { font-size: 1.1em; margin: 1.4em 0 .4em; }
.linker-explanation p, .linker-explanation ul { margin: .4em 0; }
.linker-explanation .wide { overflow-x: auto; }
.linker-explanation table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.linker-explanation th, .linker-explanation td { text-align: left; vertical-align: top;
  padding: .25em .8em .25em 0; border-bottom: 1px solid GrayText; overflow-wrap: normal; }
.linker-explanation .won td { font-weight: 600; }
.linker-explanation .share { display: inline-block; padding: 0 .4em; margin: .1em 0;
  border: 1px solid GrayText; border-radius: .3em; white-space: pre-wrap; }
</style>
<h3>{{ explanation.mention }}</h3>
<p>Answer: <strong>{{ answer(explanation) }}</strong></p>
{% for line in decided(explanation) %}<p>{{ line }}</p>{% endfor %}
<h4>Readings</h4>
{{ table(reading_columns, readings) }}
{% for reading in explanation.readings %}
{% for line in expansions(reading) %}<p>{{ line }}</p>{% endfor %}
{% endfor %}
{% for part in explanation.parts %}
<h4>Looked up: {{ looked_up(part) }}</h4>
{% if part.candidates %}
{{ table(candidate_columns, candidates(part)) }}
<p>{{ decision(part, explanation) }}</p>
{% if limit(part) %}<p>{{ limit(part) }}</p>{% endif %}
{% set best = part.candidates[0] %}
<p>Score {{ sum_of(best.parts) }}</p>
{{ chips("Carried by n-grams", best.ngrams) }}
{{ chips("Lost by vectors without a word", best.words) }}
<p>In the hierarchy:</p>
<ul>{% for way in ways(best) %}<li>{{ way }}</li>{% endfor %}</ul>
{% if part.candidates | length > 1 %}
<p>It is ahead of</p>
<ul>
{% for other in part.candidates[1:] %}
<li>{{ other.concept_id }} by {{ difference(best, other) }}
{% if other.behind %}{{ table(effect_columns, effects(other)) }}{% endif %}</li>
{% endfor %}
</ul>
{% if part.candidates | selectattr("behind") | list %}
<p><small>{{ effect_note }}</small></p>
{% endif %}
{% endif %}
{% else %}
<p>No name of the dictionary is like it.</p>
{% endif %}
{% endfor %}
{% if explanation.question %}
<h4>Why not {{ explanation.question.id }}?</h4>
{% for line in answers(explanation) %}<p>{{ line }}</p>{% endfor %}
{% endif %}
<h4>Confidence</h4>
<p>{{ explanation.provenance }}</p>
</section>
"""


def to_html(explanation: Explanation) -> str:
    """A `section` element; all texts are escaped, and signs that cannot be printed are visible."""
    from jinja2 import Environment

    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, finalize=_visible
    )
    names = (
        "expansions",
        "looked_up",
        "decision",
        "limit",
        "sum_of",
        "ways",
        "difference",
    )
    helpers = {
        name: getattr(words, name) for name in (*names, "piece", "answer", "answers", "decided")
    }
    return environment.from_string(_TEMPLATE).render(
        explanation=explanation,
        readings=[(reading.won, *words.reading(reading)) for reading in explanation.readings],
        candidates=lambda part: [(c.rank == 1, *words.candidate(c)) for c in part.candidates],
        effects=lambda other: [(False, *words.effect(effect)) for effect in other.behind],
        reading_columns=words.READING,
        candidate_columns=words.CANDIDATE,
        effect_columns=words.EFFECT,
        effect_note=words.EFFECT_NOTE,
        most=words.MOST_SHARES,
        **helpers,
    )


def _visible(value: Any) -> Any:
    """A value of the template; in a text, signs that cannot be printed become escapes."""
    return shown(value) if type(value) is str else value  # what macros return is escaped already
