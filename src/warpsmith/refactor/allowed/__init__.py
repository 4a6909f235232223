"""What a source that others wrote may be: device code, without a memory, as a compiler sees it (`view`).

`directives` and `declarations` find what has to be asked about, `require` asks whether the original has it too.
"""

from warpsmith.refactor.allowed.require import require_allowed

__all__ = ["require_allowed"]
