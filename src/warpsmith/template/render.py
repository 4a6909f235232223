"""A configuration written into the template: standalone source, compilable without Warpsmith, with its values as the defaults."""

from __future__ import annotations

from warpsmith.core.configuration import Configuration
from warpsmith.template.directives import object_defines
from warpsmith.template.model import Template, c_text, require_complete


def render(template: Template, configuration: Configuration) -> str:
    """The source with the configuration's values in its `#ifndef` header; a parameter without one gets it at the top."""
    require_complete(template, configuration)
    values = template.defines(configuration)
    source, seen = template.source, set()
    # From the end, so that earlier places stay valid.
    for define in reversed(list(object_defines(template.source))):
        if define.guarded and define.name in values:
            seen.add(define.name)
            start, end = define.body_span
            gap = "" if template.source[start - 1 : start].isspace() else " "
            source = source[:start] + gap + c_text(values[define.name]) + source[end:]
    header = "".join(f"#ifndef {n}\n#define {n} {c_text(v)}\n#endif\n" for n, v in values.items() if n not in seen)
    return f"{header}\n{source}" if header else source
