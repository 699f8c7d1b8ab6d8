"""How text in a file is written: what European and Excel exports have to be told."""

import codecs
import re
from dataclasses import asdict, dataclass

from realloc.base.errors import ConfigError
from realloc.base.validation import Checked, check_types

THOUSANDS = ("", ".", ",", " ", "'")
DATE_PARTS = re.compile("YYYY|YY|MMM|MM|DD")


@dataclass(frozen=True, kw_only=True)
class ReadOptions(Checked):
    """How text is written (table `[read]`). Plain CSV and ISO dates need none of it.

    >>> ReadOptions(delimiter=";", decimal=",", thousands=".").to_toml()
    'delimiter = ";", decimal = ",", thousands = "."'
    """

    delimiter: str | None = None  # None: tabs in .tsv, commas elsewhere
    encoding: str = "utf-8"
    decimal: str = "."
    thousands: str = ""
    currency_sign: str = ""  # that stands before or after amounts, such as €
    date_format: str | None = (
        None  # such as DD.MM.YYYY or MMM DD, YYYY; ISO dates are always read
    )
    sheet: str | None = None  # of an Excel file; None: its only one

    def __post_init__(self) -> None:
        check_types(self, "[read]")
        if self.delimiter is not None and not re.fullmatch(
            r"[^\w\s\".]|\t", self.delimiter
        ):
            raise ConfigError(
                f"Expected one sign such as ';' as `delimiter` of [read], got {self.delimiter!r}."
            )
        if self.decimal not in (".", ",") or self.decimal == self.thousands:
            raise ConfigError(
                "Expected '.' or ',' as `decimal` of [read], and another sign as `thousands`, got "
                f"{self.decimal!r} and {self.thousands!r}."
            )
        if self.thousands not in THOUSANDS:
            raise ConfigError(
                f"Expected one of {list(THOUSANDS)} as `thousands` of [read], "
                f"got {self.thousands!r}."
            )
        try:
            codecs.lookup(self.encoding)
            "1".encode(self.encoding)
        except (LookupError, ValueError) as problem:
            raise ConfigError(
                "Expected an encoding such as 'utf-8', 'utf-16' or 'cp1252' as `encoding` of "
                f"[read], got {self.encoding!r}."
            ) from problem
        form = self.date_format
        if form is not None and sorted(p[0] for p in DATE_PARTS.findall(form)) != list(
            "DMY"
        ):
            raise ConfigError(
                "Expected a form such as 'DD/MM/YYYY', 'MM/DD/YYYY' or 'MMM DD, YYYY' as "
                f"`date_format` of [read], got {form!r}."
            )

    @property
    def changed(self) -> dict[str, str]:
        """What differs from plain CSV with ISO dates."""
        plain = asdict(ReadOptions())
        return {name: value for name, value in asdict(self).items() if value != plain[name]}

    def to_toml(self, between: str = ", ") -> str:
        """The keys that differ from the defaults, as the config file has them."""
        escaped = {"\t": r"\t", "\\": r"\\", '"': r"\""}
        return between.join(
            f'{name} = "{"".join(escaped.get(sign, sign) for sign in value)}"'
            for name, value in self.changed.items()
        )


PLAIN = ReadOptions()
