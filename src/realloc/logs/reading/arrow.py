"""Arrow's compute functions, untyped: they are made at run time, and no type checker sees them."""

from typing import Any

import pyarrow.compute

compute: Any = pyarrow.compute
