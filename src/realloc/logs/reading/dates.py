"""Dates that are not ISO: read by a form (DD.MM.YYYY), found where only one form fits all rows."""

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from realloc.base.simplex import Integers, Mask
from realloc.logs.reading.arrow import compute as pc
from realloc.logs.reading.options import DATE_PARTS

NO_TIME = np.iinfo(np.int64).min
ORDERS = (
    "DD{0}MM{0}YYYY",
    "MM{0}DD{0}YYYY",
    "YYYY{0}MM{0}DD",
    "DD{0}MM{0}YY",
    "MM{0}DD{0}YY",
)
FORMS = (
    *(order.format(sign) for sign in "/.-" for order in ORDERS),
    *(
        "MMM DD, YYYY",
        "MMM DD YYYY",
        "DD MMM YYYY",
        "DD. MMM YYYY",
        "DD-MMM-YYYY",
        "DD-MMM-YY",
    ),
)
PARTS = {
    "YYYY": r"(?P<year>\d{4})",
    "YY": r"(?P<year>\d{2})",
    "MMM": r"(?P<name>\pL{3,9})\.?",
    "MM": r"(?P<month>\d{1,2})",
    "DD": r"(?P<day>\d{1,2})",
}
CLOCK = (
    r"(?P<clock>[ T]+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?P<second>:\d{2})?"
    r"(?P<half> ?[AaPp][Mm])?)?"
)
MONTHS = (
    *("jan feb mar apr may jun jul aug sep oct nov dec".split()),
    *(
        "jän feb mär apr mai jun jul aug sep okt nov dez".split()
    ),  # as German Excel writes them
    *("jan feb mrz".split()),
)
MOSTLY = 0.5  # part of a column's values that must be dates for its form to be asked for


def read_dates(text: pa.Array, form: str) -> Integers:
    """Microseconds since 1970 of trimmed text in a form; NO_TIME where it is written otherwise.

    >>> read_dates(pa.array(["31.01.2026", "Jan 5"]), "DD.MM.YYYY")[0] // 86_400_000_000
    np.int64(20484)
    """
    words = text.dictionary_encode()  # a log repeats each of its dates for every unit
    moments = np.append(_read_each(words.dictionary, form), NO_TIME)
    return moments[pc.fill_null(words.indices, -1).to_numpy()]


def _read_each(text: pa.Array, form: str) -> Integers:
    pattern = DATE_PARTS.sub(lambda part: f"\0{part[0]}\0", form)
    pattern = re.sub(r"[^\0]+", lambda part: _as_pattern(part[0]), pattern).replace(
        "\0", ""
    )
    found = pc.extract_regex(text, f"^{pattern}{CLOCK}$")
    fields = {name.name: found.field(i) for i, name in enumerate(found.type)}
    year = _whole(fields["year"])
    if "YYYY" not in form:
        year += 2000
    month = _month(fields["name"]) if "MMM" in form else _whole(fields["month"])
    day = _whole(fields["day"])
    hour = _whole(fields["hour"])
    half = pc.utf8_lower(pc.utf8_trim_whitespace(pc.fill_null(fields["half"], "")))
    hour = np.where(half.to_numpy(zero_copy_only=False) == "", hour, hour % 12)
    hour += 12 * np.asarray(pc.equal(half, "pm"))
    seconds = 60 * (60 * hour + _whole(fields["minute"]))
    seconds += _whole(pc.utf8_ltrim(fields["second"], ":"))
    months = np.clip((year - 1970) * 12 + month - 1, -12 * 1970, 12 * 8000)
    days = months.astype("datetime64[M]").astype("datetime64[D]") + (day - 1)
    right = np.asarray(found.is_valid()) & (month >= 1) & (month <= 12) & (year >= 1)
    right &= days.astype("datetime64[M]").astype(np.int64) == months
    right &= (hour < 24) & (seconds < 86_400)
    micros = days.astype("datetime64[us]").astype(np.int64) + 1_000_000 * seconds
    return np.where(right, micros, NO_TIME)


def _as_pattern(part: str) -> str:
    return PARTS.get(part) or re.sub(r"(\\ )+", r"\\s+", re.escape(part))


def _whole(text: pa.Array) -> Integers:
    """Digits as numbers; 0 where there are none."""
    digits = pc.if_else(pc.equal(text, ""), None, text)
    return pc.fill_null(digits.cast(pa.int64()), 0).to_numpy().copy()


def _month(names: pa.Array) -> Integers:
    start = pc.utf8_slice_codeunits(pc.utf8_lower(names), 0, 3)
    place = pc.fill_null(pc.index_in(start, value_set=pa.array(MONTHS)), -1).to_numpy()
    return np.where(place < 0, 0, place % 12 + 1).astype(np.int64)


@dataclass(frozen=True)
class DateForms:
    """The forms that fit every date of a column, and a date that shows it."""

    forms: tuple[str, ...]
    examples: tuple[str, ...]

    @property
    def one(self) -> str | None:
        """The form, where there is only one."""
        return self.forms[0] if len(self.forms) == 1 else None


def find_forms(text: pa.Array) -> DateForms | None:
    """The forms in which different dates may be written; None where most are no dates.

    >>> find_forms(pa.array(["01/02/2026", "02/03/2026"])).forms
    ('DD/MM/YYYY', 'MM/DD/YYYY')
    """
    read = {form: _read_each(text, form) for form in FORMS}
    fits: dict[str, Mask] = {form: moments != NO_TIME for form, moments in read.items()}
    any_fits = np.any(list(fits.values()), axis=0)
    if not len(text) or any_fits.mean() <= MOSTLY:
        return None
    forms = [form for form in FORMS if np.array_equal(fits[form], any_fits)]
    different = {read[form].tobytes(): form for form in reversed(forms)}
    forms = [form for form in forms if form in different.values()]
    if not forms:  # some fit one form only, others another one
        return DateForms((), tuple(_examples(text, any_fits)))
    others = [fits[form] for form in FORMS if form not in forms and fits[form].any()]
    telling = any_fits & ~np.any(others, axis=0) if others else any_fits
    return DateForms(
        tuple(forms), tuple(_examples(text, telling if telling.any() else any_fits))
    )


def _examples(text: pa.Array, chosen: Mask) -> list[str]:
    return text.filter(pa.array(chosen)).slice(0, 2).to_pylist()
