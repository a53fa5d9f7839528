"""Spelling of printed text: what the ``normalized`` reading ignores, as one canonical form a line.

Two texts are equal in that reading exactly when their canonical forms are equal, so the reading is an
equivalence by construction. Ignored are blanks around a line, the length of runs of blanks, blanks after
commas, and the spelling of numbers and unambiguous dates. See docs/comparison.md.
"""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal

BLANKS = " \t"
"""Blanks of the published rule (trailing ones on a line do not count)."""

_LOOSE_BLANKS = " \t\r\f\v\u00a0"
_RUN = rf"[{_LOOSE_BLANKS}]+"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:tember)?"
    "|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)

_DATE_FORMS = rf"""
    (?<![\w.:/-])
    (?:
        (?P<y1>[0-9]{{4}}) (?P<sep>[-/]) (?P<m1>[0-9]{{1,2}}) (?P=sep) (?P<d1>[0-9]{{1,2}})
      | (?P<d2>[0-9]{{1,2}}) - (?P<m2>{_MONTH}) - (?P<y2>[0-9]{{4}}|[0-9]{{2}})
      | (?P<d3>[0-9]{{1,2}}) {_RUN} (?P<m3>{_MONTH}) {_RUN} (?P<y3>[0-9]{{4}})
      | (?P<m4>{_MONTH}) {_RUN} (?P<d4>[0-9]{{1,2}}) (?: {_RUN} | ,[{_LOOSE_BLANKS}]* ) (?P<y4>[0-9]{{4}})
    )
    (?:
        (?: T | {_RUN} )
        (?P<hour>[0-9]{{2}}) : (?P<minute>[0-9]{{2}})
        (?: : (?P<second>[0-9]{{2}}) (?: \. (?P<part>[0-9]+) )? )?
    )?
    (?! [\w:] | [-/.][0-9] )"""
_NUMBER_FORM = r"""
    (?P<number>
        (?: (?<![\w.)\]-]) - | (?<![\w.]) )
        (?: (?P<whole>[0-9]+) (?: \. (?P<fraction>[0-9]+) )? | \. [0-9]+ )
        (?P<exponent> e [+-]? [0-9]{1,3} )?
        (?! \w | \.[0-9] )
    )"""
_FLAGS = re.VERBOSE | re.IGNORECASE
_DATE_OR_NUMBER = re.compile(f"{_DATE_FORMS} | {_NUMBER_FORM}", _FLAGS)
_ONLY_NUMBER = re.compile(_NUMBER_FORM, _FLAGS)
_DATE_SIGN = re.compile(rf"[0-9]{{4}}[-/][0-9]|{'|'.join(_MONTHS)}", re.IGNORECASE)
"""Part of every date: lines without it are read by the shorter and faster expression."""

_BLANK_RUN = re.compile(_RUN)
_AFTER_COMMA = re.compile(f",{_RUN}")
_DIGIT = re.compile("[0-9]")
_PLAIN_ZEROS = 20
"""Most zeros that a canonical number is filled up with before it is written with an exponent."""

_NUMBER = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]{1,9}))?")

Number = tuple[bool, str, int]
"""A finite number in canonical form: negative, digits without leading or trailing zeros, power of ten."""

ZERO: Number = (False, "", 0)


def canonical_number(text: str) -> Number | None:
    """Give the value that a decimal literal spells, or None where the text is no finite number.

    Takes time linear in the text, whatever its exponent. ``1.50``, ``1.5`` and ``15E-1`` are one value.
    """
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    sign, whole, fraction, exponent = match[1], match[2], match[3] or "", match[4]
    if not whole and not fraction:
        return None
    significant = (whole + fraction).lstrip("0")
    if not significant:
        return ZERO
    digits = significant.rstrip("0")
    power = int(exponent or 0) - len(fraction) + len(significant) - len(digits)
    return sign == "-", digits, power


def canonical_line(line: str) -> str:
    """Give the canonical form of a printed line (or of a text value) for the ``normalized`` reading."""
    line = _tidy(line)
    return _tokens(line).sub(_spell, line) if _DIGIT.search(line) else line


def split_numbers(line: str, *, normalized: bool) -> tuple[tuple[str, ...], tuple[Decimal, ...]]:
    """Take the numbers out of a line: the texts between them, and their values in order.

    Dates are no numbers here, nor are digits inside words or with leading zeros.
    """
    line = _tidy(line) if normalized else line.rstrip(BLANKS)
    between: list[str] = [""]
    numbers: list[Decimal] = []
    end = 0
    for match in _DATE_OR_NUMBER.finditer(line):
        between[-1] += line[end : match.start()]
        end = match.end()
        if match["number"] is None or _is_label(match):
            between[-1] += _spell(match) if normalized else match[0]
        else:
            numbers.append(Decimal(match["number"]))
            between.append("")
    between[-1] += line[end:]
    return tuple(between), tuple(numbers)


def _tokens(line: str) -> re.Pattern[str]:
    return _DATE_OR_NUMBER if _DATE_SIGN.search(line) else _ONLY_NUMBER


def _tidy(line: str) -> str:
    return _AFTER_COMMA.sub(",", _BLANK_RUN.sub(" ", line)).strip(" ")


def _is_label(match: re.Match[str]) -> bool:
    """Digits with leading zeros are a code (a postcode, a padded key), not a number."""
    whole = match["whole"]
    return whole is not None and len(whole) > 1 and whole[0] == "0"


def _spell(match: re.Match[str]) -> str:
    text = match["number"]
    if text is None:
        return _spell_date(match)
    if _is_label(match):
        return match[0]
    whole, fraction = match["whole"], match["fraction"]
    if match["exponent"] is None and whole is not None and whole != "0":
        if fraction is None and not whole.endswith("0" * (_PLAIN_ZEROS + 1)):
            return text
        if fraction is not None and fraction[-1] != "0":
            return text
    number = canonical_number(text)
    assert number is not None
    return plain(number, _PLAIN_ZEROS)


def plain(number: Number, zeros: int) -> str:
    """Write a number in the one form that its value has: without exponent, where that takes few zeros."""
    negative, digits, power = number
    if not digits:
        return "0"
    sign = "-" if negative else ""
    if 0 <= power <= zeros:
        return f"{sign}{digits}{'0' * power}"
    if power < 0 and -power <= len(digits) + zeros:
        filled = digits.zfill(1 - power)
        return f"{sign}{filled[:power]}.{filled[power:]}"
    return f"{sign}{digits}e{power}"


def _spell_date(match: re.Match[str]) -> str:
    form = next(form for form in "1234" if match[f"y{form}"] is not None)
    year, month, day = match[f"y{form}"], match[f"m{form}"].lower(), match[f"d{form}"]
    number = int(month) if month.isdigit() else _MONTHS.index(month[:3]) + 1
    # A two-digit year is read as Oracle's RR format reads it in this half of the century.
    full_year = int(year) if len(year) == 4 else int(year) + (2000 if int(year) < 50 else 1900)
    try:
        date = dt.date(full_year, number, int(day)).isoformat()
    except ValueError:
        return match[0]
    if match["hour"] is None:
        return date
    time = f"{match['hour']}:{match['minute']}:{match['second'] or '00'}"
    part = (match["part"] or "").rstrip("0")
    if part:
        time += f".{part}"
    return date if time == "00:00:00" else f"{date} {time}"
