"""Arrow's compute functions. They are made at run time, so a type checker cannot see them: here they are, untyped."""

from typing import Any

import pyarrow.compute

compute: Any = pyarrow.compute
