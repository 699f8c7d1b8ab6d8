"""Serving: the decisions of a model with numpy alone. `export` writes a small artifact, `open` reads it."""

from realloc.serve.scorer import Scorer, export, export_folder, open, open_model  # noqa: A004

__all__ = ["Scorer", "export", "export_folder", "open", "open_model"]
