"""Types of OpenCL C that only a host can make: kernel.toml has memory and numbers."""

from __future__ import annotations

import re

HOST_HANDLE = re.compile(r"\b(?:image\w*_t|sampler_t|pipe|queue_t|event_t|clk_event_t|reserve_id_t)\b")
