"""Arguments and options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

Files = Annotated[
    list[str],
    typer.Argument(
        help="Parquet, CSV or Excel file(s), a quoted glob, or a folder of partitions."
    ),
]
StorePath = Annotated[
    Path, typer.Option("--store", help="The folder that `realloc fit` wrote.")
]
Decisions = Annotated[
    Path | None, typer.Option(help="Folder of the decision log; else in the store.")
]
Report = Annotated[Path | None, typer.Option(help="Write the report as an HTML page, too.")]
DateFormat = Annotated[
    str | None,
    typer.Option(help="How dates are written: DD/MM/YYYY, MM/DD/YYYY, 'MMM DD, YYYY', …"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Everything as JSON on stdout.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress.")]
AllowNetwork = Annotated[
    bool,
    typer.Option(
        "--allow-network", help="Also on a network file system, where less is promised."
    ),
]
