"""One laboratory at a time, kept open between calls, because a client that repairs a form tries the same kernel repeatedly.

Its workers sleep while nobody asks, so a job's times are not disturbed; they end with the server.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from warpsmith.spec.kernel import Kernel
from warpsmith.tuning.order import kernel_fingerprint
from warpsmith.tuning.templates.probes import Lab, laboratory


class Labs:
    def __init__(self, binary_cache: Path) -> None:
        self._binary_cache = binary_cache
        self._lock = threading.Lock()  # calls come in threads, and a bench does one thing at a time
        self._stack = ExitStack()
        self._open: tuple[tuple[str, str, str], Lab] | None = None

    @contextmanager
    def lab(self, kernel: Kernel, device: str) -> Iterator[Lab]:
        """Raises what `laboratory` raises when the original does not work."""
        key = (str(kernel.path), kernel_fingerprint(kernel), device)
        with self._lock:
            if self._open is None or self._open[0] != key:
                self._close()
                self._open = key, self._stack.enter_context(laboratory(kernel, device, binary_cache=self._binary_cache))
            try:
                yield self._open[1]
            except BaseException:
                self._close()  # nobody knows in what state it was left
                raise

    def close(self) -> None:
        with self._lock:
            self._close()

    def _close(self) -> None:
        self._open = None
        self._stack.close()
