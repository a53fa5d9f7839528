"""What pytest shows of an exception of ours holds no secret and nothing invisible, in every style."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_plsqlbench.bench import redaction
from pytest_plsqlbench.discretion import Discretion, make_presentable

SECRET = "Hush-7/x@9"


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_known", set())
    redaction.learn(SECRET)


def fail(dsn: str) -> None:
    words = {"password": dsn, "cursor": "\x1b[31m"}
    try:
        raise ValueError(f"inner {dsn}")
    except ValueError as error:
        raise RuntimeError(f"outer {words} \x1b[31m") from error


@pytest.mark.parametrize("style", ["long", "short", "line", "native", "value"])
@pytest.mark.parametrize("chain", [True, False])
def test_every_style(style: Any, chain: bool) -> None:
    with pytest.raises(RuntimeError) as caught:
        fail(SECRET)
    shown = caught.getrepr(showlocals=True, funcargs=True, style=style, chain=chain)
    assert SECRET in str(shown)
    assert make_presentable(shown) is shown
    text = str(shown)
    assert "Hush" not in text
    assert "***" in text
    assert {char for char in text if not char.isprintable()} <= {"\n"}


def test_internal_errors_are_gone_over_before_anyone_shows_them() -> None:
    with pytest.raises(RuntimeError) as caught:
        fail(SECRET)
    shown = caught.getrepr(showlocals=True, style="long")
    Discretion().pytest_internalerror(shown)
    assert "Hush" not in str(shown)


@pytest.mark.parametrize("other", ["a text", None, object()])
def test_anything_else_stays_whole(other: object) -> None:
    assert make_presentable(other) is other
