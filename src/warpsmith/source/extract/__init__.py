"""A kernel out of a larger code base: one standalone, readable file and a kernel.toml to start from.

flatten (one text, `#if`s decided) → declarations → closure over names from the kernel and its instance → emit.
"""

from warpsmith.source.extract.model import Extraction, ExtractRequest
from warpsmith.source.extract.run import extract

__all__ = ["ExtractRequest", "Extraction", "extract"]
