"""One BLAS thread for small products: there, more threads cost far more than they save.

They also round a row's sums differently, where the product is cut.
"""

import threading
from types import TracebackType
from typing import Any

from threadpoolctl import ThreadpoolController


class OneThread:
    """`with one_blas_thread:` holds while any thread is inside; the last to leave ends it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._controller: ThreadpoolController | None = None
        self._limits: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._controller is None:
                self._controller = ThreadpoolController().select(user_api="blas")
            if not self._inside:
                self._limits = self._controller.limit(limits=1)
                self._let_go(self._controller)
            self._inside += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside and self._controller is not None:
                self._limits.restore_original_limits()
                self._let_go(self._controller)

    @staticmethod
    def _let_go(controller: ThreadpoolController) -> None:
        """Let any thread set the next limit; newer versions allow only who set the last."""
        for library in controller.lib_controllers:
            getattr(library, "clear_controlling_thread", bool)()


one_blas_thread = OneThread()
