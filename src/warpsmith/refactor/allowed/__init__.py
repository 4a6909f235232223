"""What source that others wrote for a kernel may be, told by its tokens before anything is compiled.

`readable`: nothing is hidden from such a reading. `persistence`: nothing outlives a launch. `device_code`: nothing is the host's;
`file_scope` reads what it judges. What the original itself has is never refused.
"""

from warpsmith.refactor.allowed.require import require_allowed

__all__ = ["require_allowed"]
