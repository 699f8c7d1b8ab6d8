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
Report = Annotated[Path | None, typer.Option(help="Also write the report as an HTML page.")]
DateFormat = Annotated[
    str | None,
    typer.Option(help="How dates are written: DD/MM/YYYY, MM/DD/YYYY, 'MMM DD, YYYY', …"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]
Details = Annotated[
    bool,
    typer.Option(
        "--details", help="Also print surfaces, their weights, and errors of nuisances."
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress.")]
AllowNetwork = Annotated[
    bool,
    typer.Option(
        "--allow-network", help="Allow a network file system, where fewer guarantees hold."
    ),
]
