"""The one question to ask of a form or a rewrite, whoever wrote it."""

from __future__ import annotations

from warpsmith.core.hardware import Language
from warpsmith.devices._clang.tokens import spliced
from warpsmith.refactor.allowed.device_code import require_device_code
from warpsmith.refactor.allowed.persistence import require_no_memory
from warpsmith.refactor.allowed.readable import require_readable


def require_allowed(source: str, original: str, language: Language) -> None:
    """Raises InputError for what no form may do, whoever wrote it: hide what it says, read other files, keep more from launch to
    launch, or be more than device code.
    """
    source, original = spliced(source), spliced(original)
    require_readable(source, original, language)
    require_no_memory(source, original, language)
    if language is not Language.OPENCL:  # which has no host code
        require_device_code(source, original)
