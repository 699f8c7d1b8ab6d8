"""Stage III, first half: where the logs hold evidence."""

from typing import TYPE_CHECKING

from realloc.base.imports import load_when_used

if TYPE_CHECKING:
    from realloc.learn.support.config import SupportConfig
    from realloc.learn.support.logged import Logged, remember_logged
    from realloc.learn.support.support import Opened, Support, fit_support

__all__ = ["Logged", "Opened", "Support", "SupportConfig", "fit_support", "remember_logged"]

__getattr__ = load_when_used(
    __name__,
    {
        "Logged": "logged",
        "Opened": "support",
        "Support": "support",
        "SupportConfig": "config",
        "fit_support": "support",
        "remember_logged": "logged",
    },
)
