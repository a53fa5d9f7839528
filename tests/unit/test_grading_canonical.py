"""The bytes that content keys are made of: never the same for different values."""

from __future__ import annotations

import datetime as dt
import math
import struct
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_plsqlbench.grading.canonical import canonical


class One(msgspec.Struct):
    a: Any
    b: Any = None


class Two(msgspec.Struct):
    a: Any
    b: Any = None


@dataclass
class Three:
    a: Any
    b: Any = None


LOOKALIKES: tuple[Any, ...] = (
    *(None, "None", "null", "n0:", ""),
    *(True, 1, 1.0, "1", b"1", Decimal(1), Decimal("1.0"), Decimal("1E+1"), Decimal(10), "True", "true"),
    *(False, 0, 0.0, -0.0, "0", Decimal(0), Decimal("-0"), Decimal("0E+2"), b"", (), ((),), ("",), (None,)),
    *(
        2**63,
        2**64,
        2**64 - 1,
        -(2**63) - 1,
        str(2**64),
        Decimal(2**64),
        float(2**64),
    ),
    *(Decimal("1.10000000000000000001"), "1.10000000000000000001", 1.1, "1.1"),
    *(
        math.nan,
        "nan",
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("NaN1"),
        math.inf,
        Decimal("Infinity"),
        "inf",
    ),
    *("\ud83d\ude00", "\U0001f600", "\ud800", "\udfff"),
    *(dt.date(2024, 2, 29), dt.datetime(2024, 2, 29), "2024-02-29", "2024-02-29T00:00:00"),  # noqa: DTZ001
    *(dt.datetime(2024, 2, 29, tzinfo=dt.UTC), dt.time(0), "00:00:00"),
    *(("a", "b"), ("ab",), ("ab", ""), ("", "ab"), (("a",), "b"), ("a", ("b",)), ("a1:", "b"), ("s1:a", "b")),
    *(One(1), Two(1), Three(1), One(1, 1), One((1, None)), (1, None), One("1")),
)


@pytest.mark.parametrize("one", range(len(LOOKALIKES)))
def test_lookalikes_differ(one: int) -> None:
    mine = canonical(LOOKALIKES[one])
    for other, value in enumerate(LOOKALIKES):
        assert (canonical(value) == mine) == (other == one), (LOOKALIKES[one], value)
        assert (canonical((value,)) == canonical((LOOKALIKES[one],))) == (other == one)


def same(one: Any, two: Any) -> bool:
    """Whether two values are one and the same to a content key."""
    if isinstance(one, tuple | list) and isinstance(two, tuple | list):
        return len(one) == len(two) and all(map(same, one, two))
    if type(one) is not type(two):
        return False
    if isinstance(one, One | Two | Three):
        return same((one.a, one.b), (two.a, two.b))
    if isinstance(one, float):
        return struct.pack("d", one) == struct.pack("d", two)
    if isinstance(one, Decimal):
        return str(one) == str(two)
    equal: bool = one == two
    return equal


SCALARS = (
    st.sampled_from([value for value in LOOKALIKES if not isinstance(value, tuple | One | Two | Three)])
    | st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.decimals()
    | st.text()
    | st.text("0123456789:()sinfdb{}", max_size=4)
    | st.binary()
    | st.dates()
    | st.times()
    | st.datetimes()
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.builds(One, inner, inner)
        | st.builds(Two, inner, inner)
        | st.builds(Three, inner, inner)
    ),
    max_leaves=6,
)


@given(VALUES, VALUES)
def test_different_values_have_different_bytes_and_equal_ones_the_same(one: Any, two: Any) -> None:
    assert (canonical(one) == canonical(two)) == same(one, two)


@given(VALUES, st.data())
def test_no_form_begins_another(value: Any, data: st.DataObject) -> None:
    """Else what follows in a sequence could stand for a part of it."""
    other = data.draw(VALUES)
    if not same(value, other):
        assert not canonical(value).startswith(canonical(other))


@pytest.mark.parametrize("value", [{"a": 1}, {1}, object(), One, ({},), One({})])
def test_what_has_no_form_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="has no form"):
        canonical(value)


def test_integers_may_have_any_number_of_digits() -> None:
    assert canonical(10**5000) != canonical(10**5000 + 1)


def test_lists_are_tuples() -> None:
    assert canonical([1, ["a"]]) == canonical((1, ("a",)))
