"""One thread for products whose bits must not depend on how many cores a machine has.

BLAS splits a product among threads, and where it cuts, a row's sums are rounded differently. For products as small as ours the
threads also cost far more than they save.
"""

import threading
from types import TracebackType
from typing import Any

from threadpoolctl import ThreadpoolController


class OneThread:
    """`with one_blas_thread:` for as long as anybody is inside, in any thread; the last to leave restores what was there."""

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
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
        """Newer versions let only the thread that has set a limit set another; here the last to leave may be another one."""
        for one in controller.lib_controllers:
            getattr(one, "clear_controlling_thread", bool)()


one_blas_thread = OneThread()
