"""The language of gates: text to claims. Grammar and meaning: docs/gates.md."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Literal, NamedTuple, cast, get_args

from pytest_plsqlbench.bench.metrics import METRICS
from pytest_plsqlbench.bench.statistics.measures import COUNTS, FILTERS, RATIOS, ClusterBy, is_metric
from pytest_plsqlbench.bench.statistics.samples import SOLVED_AT_1
from pytest_plsqlbench.bench.task import UserError
from pytest_plsqlbench.bench.taxonomy import CATEGORIES, SUBCATEGORIES
from pytest_plsqlbench.bench.values import Reading

Operator = Literal[">=", "<=", ">", "<", "==", "!="]
Bound = Literal["low", "high"]
Claim = Literal["no_worse_than", "better_than"]
OVERALL = "overall"
EACH = "each"
SHARE = "share"
BASELINE = "baseline"
MARGIN = Fraction(1, 50)
"""By which a model may be worse than the baseline where a gate does not say otherwise."""
LONGEST_NUMBER = 30
SHOWN = 120
"""Characters of a gate that a message shows."""
LEVEL = Fraction(1, 40)
"""One-sided level of a comparison where a gate does not say otherwise: that of a two-sided 95 % interval."""

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:\ ?%)?(?![\w.@^]))
    | (?P<word>\w[\w@^+/-]*)
    | (?P<text>"[^"]*"|'[^']*')
    | (?P<sign>>=|<=|==|!=|[><=()\[\],.])
    )""",
    re.VERBOSE,
)


class Quantity(NamedTuple):
    """What a threshold is about."""

    kind: Literal["metric", "share", "count", "ratio"]
    name: str
    """Of the metric, kind of failure, count or ratio."""
    subset: str | None
    """None: overall."""
    filters: Mapping[str, str]
    reading: Reading | None
    """None: the deciding one."""


class Threshold(NamedTuple):
    """A quantity, or a bound of its confidence interval, against a number."""

    text: str
    quantity: Quantity
    bound: Bound | None
    operator: Operator
    limit: Fraction
    written: str
    """The limit as the user wrote it."""


class Against(NamedTuple):
    """A comparison with the baseline."""

    text: str
    claim: Claim
    metric: str
    subset: str | None
    """None: overall; ``each``: every subset by itself."""
    margin: Fraction
    level: Fraction
    cluster: ClusterBy
    filters: Mapping[str, str]
    reading: Reading | None


Gate = Threshold | Against


class _Token(NamedTuple):
    kind: str
    text: str
    column: int


def parse_gate(text: str, name: str = "gate") -> Gate:
    """Read one gate.

    Args:
        text: as the user wrote it.
        name: where it was given, for messages.

    Raises:
        UserError: it is no gate; the message names the column (from 1).
    """
    text = " ".join(text.split())
    if not text:
        raise UserError(f"{name}: the gate is empty, it would demand nothing")
    return _Parser(text, name).gate()


def parse_gates(texts: Iterable[str], name: str = "gate") -> tuple[Gate, ...]:
    """Read gates; blank lines and those that begin with # say nothing.

    Raises:
        UserError: one is no gate.
    """
    stripped = (text.strip() for text in texts)
    return tuple(parse_gate(text, name) for text in stripped if text and not text.startswith("#"))


def needs_baseline(gates: Iterable[Gate]) -> bool:
    """Tell whether any of the gates compares with a baseline."""
    return any(isinstance(gate, Against) for gate in gates)


class _Parser:
    """Recursive descent, a method a rule of the grammar."""

    def __init__(self, text: str, name: str) -> None:
        self._text = text
        self._name = name
        self._tokens = list(self._scan())
        self._next = 0

    def gate(self) -> Gate:
        if self._peek().text in get_args(Claim) and self._peek(1).text == "(":
            gate: Gate = self._against()
        else:
            gate = self._threshold()
        self._expect("end")
        return gate

    # -- thresholds --------------------------------------------------------------------------------------

    def _threshold(self) -> Threshold:
        bound: Bound | None = None
        if self._peek().text in get_args(Bound) and self._peek(1).text == "(":
            bound = cast("Bound", self._take().text)
            self._take()
            start = self._peek()
            quantity = self._quantity()
            self._expect(")")
            if quantity.kind in {"count", "ratio"}:
                raise self._error(start, f"{quantity.name} is counted: it has no interval")
        else:
            quantity = self._quantity()
        sign = self._take()
        if sign.text not in get_args(Operator):
            raise self._error(sign, f"expected one of {' '.join(get_args(Operator))}")
        if bound and sign.text in {"==", "!="}:
            raise self._error(sign, f"a bound is held against a number by >=, <=, > or <, not {sign.text}")
        number = self._take()
        limit = self._number(number)
        if quantity.kind == "count" and number.text.endswith("%"):
            raise self._error(number, f"{quantity.name} is a number of turns, no share of them")
        self._check_limit(quantity, limit)
        return Threshold(self._text, quantity, bound, cast("Operator", sign.text), limit, number.text)

    def _quantity(self) -> Quantity:
        first = self._take()
        if first.kind not in {"word", "text"}:
            raise self._error(
                first, "expected a metric, a count or share(…), after a subset and a dot or not"
            )
        subset = None
        name = first
        if self._peek().text == ".":
            self._take()
            subset = None if first.text == OVERALL else first.text
            name = self._take()
        if name.text == SHARE and self._peek().text == "(":
            self._take()
            kind = self._take()
            self._check_kind(kind)
            self._expect(")")
            filters, reading = self._filters()
            if reading is not None:
                raise self._error(kind, "failures have categories in the deciding reading alone")
            return Quantity("share", kind.text, subset, filters, None)
        self._check_measure(name)
        filters, reading = self._filters()
        if is_metric(name.text):
            return Quantity("metric", name.text, subset, filters, reading)
        if reading is not None:
            raise self._error(name, f"{name.text} is the same in every reading")
        return Quantity("count" if name.text in COUNTS else "ratio", name.text, subset, filters, None)

    def _filters(self) -> tuple[dict[str, str], Reading | None]:
        values: dict[str, str] = {}
        if self._peek().text == "[":
            self._take()
            self._settings(values, "]", (*FILTERS, "reading"))
        return self._split(values)

    # -- comparisons -------------------------------------------------------------------------------------

    def _against(self) -> Against:
        claim = cast("Claim", self._take().text)
        self._take()
        what = self._take()
        if what.text != BASELINE:
            raise self._error(what, f"expected the word {BASELINE}; the file is named by an option")
        values: dict[str, str] = {}
        margins = ("margin",) if claim == "no_worse_than" else ()
        allowed = (*margins, "metric", "subset", "level", "cluster", "reading", *FILTERS)
        if self._peek().text == ",":
            self._take()
            self._settings(values, ")", allowed)
        else:
            self._expect(")")
        metric = values.pop("metric", SOLVED_AT_1)
        subset = values.pop("subset", OVERALL)
        margin = Fraction(values.pop("margin", MARGIN if claim == "no_worse_than" else 0))
        level = Fraction(values.pop("level", LEVEL))
        cluster = cast("ClusterBy", values.pop("cluster", "database"))
        filters, reading = self._split(values)
        return Against(
            self._text,
            claim,
            metric,
            None if subset == OVERALL else subset,
            margin,
            level,
            cluster,
            filters,
            reading,
        )

    def _settings(self, values: dict[str, str], end: str, allowed: tuple[str, ...]) -> None:
        """``name=value`` and so on, up to the closing bracket."""
        while True:
            name = self._take()
            if name.text not in allowed:
                raise self._error(name, f"expected one of {', '.join(allowed)}")
            if name.text in values:
                raise self._error(name, f"{name.text} is given twice")
            self._expect("=")
            values[name.text] = self._setting(name.text, self._take())
            closing = self._take()
            if closing.text == end and closing.kind == "sign":
                return
            if closing.text != ",":
                raise self._error(closing, f"expected , or {end}")

    def _setting(self, name: str, token: _Token) -> str:
        """Check a value; numbers become fractions in text."""
        if name == "margin":
            return str(self._between(token, Fraction(0), Fraction(1)))
        if name == "level":
            return str(self._between(token, Fraction(0), Fraction(1, 2)))
        if token.kind not in {"word", "text", "number"}:
            raise self._error(token, f"expected a value for {name}")
        choices: tuple[str, ...] = {
            "cluster": get_args(ClusterBy),
            "reading": get_args(Reading),
            "dialect": ("oracle", "postgres"),
        }.get(name, ())
        if choices and token.text not in choices:
            raise self._error(token, f"{name} is one of {', '.join(choices)}")
        if name == "metric" and not is_metric(token.text):
            raise self._error(token, f"no metric{_alike(token.text, (SOLVED_AT_1, *METRICS))}")
        return token.text

    @staticmethod
    def _split(values: dict[str, str]) -> tuple[dict[str, str], Reading | None]:
        reading = cast("Reading | None", values.pop("reading", None))
        return dict(sorted(values.items())), reading

    # -- numbers and names -------------------------------------------------------------------------------

    def _number(self, token: _Token) -> Fraction:
        if token.kind != "number":
            raise self._error(token, "expected a number, such as 0.25 or 25%")
        if len(token.text) > LONGEST_NUMBER:
            raise self._error(token, f"a number has at most {LONGEST_NUMBER} characters")
        number = Fraction(token.text.rstrip("% ").rstrip("."))
        return number / 100 if token.text.endswith("%") else number

    def _between(self, token: _Token, low: Fraction, high: Fraction) -> Fraction:
        number = self._number(token)
        if not low <= number < high or (high == Fraction(1, 2) and not number):
            start = "above 0 and" if high == Fraction(1, 2) else f"from {float(low):g} to"
            raise self._error(token, f"expected a number {start} below {float(high):g}")
        return number

    def _check_limit(self, quantity: Quantity, limit: Fraction) -> None:
        """A share that is compared with what no share can be is a slip: 25 for 25%."""
        if quantity.kind != "count" and not 0 <= limit <= 1:
            token = self._tokens[self._next - 1]
            raise self._error(token, f"{quantity.name} lies from 0 to 1 (write 25% or 0.25 for a quarter)")

    def _check_measure(self, token: _Token) -> None:
        known = (SOLVED_AT_1, *METRICS, *COUNTS, *RATIOS)
        if not is_metric(token.text) and token.text not in known:
            raise self._error(token, f"no metric or count{_alike(token.text, known)}")

    def _check_kind(self, token: _Token) -> None:
        category, _, sub = token.text.partition("/")
        known = (*CATEGORIES, *sorted(SUBCATEGORIES))
        limit = (sub or category).endswith("_limit")  # engines name their limits
        if limit or (category in known and (not sub or sub in SUBCATEGORIES)):
            return
        raise self._error(token, f"no category of failures{_alike(token.text, known)}")

    # -- tokens ------------------------------------------------------------------------------------------

    def _scan(self) -> Iterable[_Token]:
        position = 0
        while position < len(self._text):
            match = _TOKEN.match(self._text, position)
            if match is None:
                place = position + (self._text[position] == " ")
                raise self._error(_Token("", self._text[place : place + 1], place + 1), "not expected")
            kind = str(match.lastgroup)
            text = match[kind][1:-1] if kind == "text" else match[kind]
            yield _Token(kind, text, match.start(kind) + 1)
            position = match.end()
        yield _Token("end", "", len(self._text) + 1)

    def _peek(self, ahead: int = 0) -> _Token:
        return self._tokens[min(self._next + ahead, len(self._tokens) - 1)]

    def _take(self) -> _Token:
        token = self._peek()
        self._next += 1
        return token

    def _expect(self, what: str) -> None:
        token = self._take()
        if what == "end":
            if token.kind != "end":
                raise self._error(token, "expected the end of the gate")
        elif token.kind != "sign" or token.text != what:
            raise self._error(token, f"expected {what}")

    def _error(self, token: _Token, why: str) -> UserError:
        shown = f"{_cut(token.text)!r}" if token.kind != "end" else "its end"
        return UserError(f"{self._name}: {_cut(self._text)!r}: column {token.column}, at {shown}: {why}")


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def _alike(text: str, known: Iterable[str]) -> str:
    names = list(known)
    near = difflib.get_close_matches(text, names, n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else f": there are {', '.join(names)}"
