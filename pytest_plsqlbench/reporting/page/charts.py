"""Plots as inline SVG: drawn by matplotlib, coloured by the page's style sheet, readable by a screen reader.

Texts stay texts. Colours are names of CSS variables: matplotlib draws with stand-ins, which are replaced.
"""

from __future__ import annotations

import io
import math
import textwrap
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from msgspec.structs import replace

from pytest_plsqlbench.bench.visible import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pytest_plsqlbench.reporting.page.figures import Figure, Point, Series

_SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

INK, QUIET, LINE, PAPER = "#fe0001", "#fe0002", "#fe0003", "#fe0004"
SERIES = tuple(f"#fe001{number}" for number in range(1, 7))
KINDS = {
    "wrong_result": "#fe0021",
    "invalid_program": "#fe0022",
    "interface": "#fe0023",
    "limit": "#fe0024",
    "unclassified": "#fe0025",
    "missing": "#fe0026",
}
_VARIABLES = {
    INK: "--ink",
    QUIET: "--quiet",
    LINE: "--line",
    PAPER: "--card",
    **{colour: f"--series-{number}" for number, colour in enumerate(SERIES, 1)},
    **{colour: f"--kind-{number}" for number, colour in enumerate(KINDS.values(), 1)},
}
_MARKERS = ("o", "s", "D", "^", "v", "P")
_WIDTH = 3.9
"""Inches: shown about 1.4 times as large, a column of the page or the width of a phone."""
_SETTINGS = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": "DejaVu Sans",
    "font.size": 7.5,
    "axes.edgecolor": LINE,
    "axes.labelcolor": QUIET,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "xtick.color": LINE,
    "xtick.labelcolor": QUIET,
    "ytick.color": LINE,
    "ytick.labelcolor": INK,
    "xtick.major.size": 2.5,
    "ytick.major.size": 0,
    "text.color": INK,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "legend.frameon": False,
    "legend.fontsize": 7,
}


def draw(figure: Figure) -> str:
    """The plot as an ``<svg>`` element, safe to stand in a page.

    Args:
        figure: what to draw; of runs as many as there are colours.
    """
    import matplotlib as mpl  # noqa: PLC0415 (a second, for those who want plots)
    from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: PLC0415
    from matplotlib.figure import Figure as Canvas  # noqa: PLC0415

    figure = _shown(figure)
    with mpl.rc_context(), warnings.catch_warnings(action="ignore"):  # glyphs that its own fonts lack
        mpl.rcdefaults()  # a plot looks the same whatever the user's matplotlibrc says
        mpl.rcParams.update({**_SETTINGS, "svg.hashsalt": figure.id})  # type: ignore[dict-item]
        rows = len(figure.groups)
        heights = {
            "dots": 0.75 + rows * (0.17 + 0.075 * len(figure.series)),
            "stack": 0.85 + rows * 0.3,
        }
        canvas = Canvas(figsize=(_WIDTH, heights.get(figure.kind, 2.3)), layout="constrained")
        FigureCanvasSVG(canvas)
        axes = canvas.subplots()
        _DRAWN[figure.kind](axes, figure)
        if len(figure.series) > 1:
            canvas.legend(
                *axes.get_legend_handles_labels(),
                loc="outside lower left",
                ncols=2 if max(len(entry.name) for entry in figure.series) < 22 else 1,
                handlelength=1.2,
                columnspacing=1.2,
            )
        stream = io.BytesIO()
        canvas.savefig(stream, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    return _embed(stream.getvalue(), figure)


def _shown(figure: Figure) -> Figure:
    """The figure with names that XML can hold, and people can see."""
    names = {group: visible(group, keep="") for group in figure.groups}
    return replace(
        figure,
        title=visible(figure.title, keep=""),
        note=visible(figure.note, keep=""),
        groups=tuple(names.values()),
        series=tuple(
            replace(
                series,
                name=visible(series.name, keep=""),
                points=tuple(replace(point, group=names[point.group]) for point in series.points),
            )
            for series in figure.series
        ),
    )


def _dots(axes: Axes, figure: Figure) -> None:
    """Groups from top to bottom, a dot with its interval for each run."""
    count = len(figure.series)
    for number, series in enumerate(figure.series):
        offset = (number - (count - 1) / 2) * 0.7 / max(count, 2)
        places = [figure.groups.index(point.group) + offset for point in series.points]
        values = [100 * point.value for point in series.points]
        axes.hlines(
            places,
            [100 * (point.low if point.low is not None else point.value) for point in series.points],
            [100 * (point.high if point.high is not None else point.value) for point in series.points],
            color=SERIES[number],
            linewidth=1.6,
            alpha=0.55,
        )
        axes.plot(
            values,
            places,
            linestyle="none",
            marker=_MARKERS[number],
            markersize=4.2,
            markeredgewidth=0,
            clip_on=False,  # dots at 0 % and 100 % are round, too
            color=SERIES[number],
            label=_short(series.name),
        )
    axes.set_yticks(
        range(len(figure.groups)),
        [f"{_short(group)}  n={_most(figure, group)}" for group in figure.groups],
    )
    axes.set_ylim(len(figure.groups) - 0.4, -0.6)
    axes.set_xlim(*_window(figure))
    _percent_axis(axes)


def _window(figure: Figure) -> tuple[float, float]:
    """The part of the scale that holds all intervals, in steps of ten: dots need no zero."""
    points = [point for series in figure.series for point in series.points]
    low = min(point.low if point.low is not None else point.value for point in points)
    high = max(point.high if point.high is not None else point.value for point in points)
    return max(0.0, math.floor(10 * low - 0.2) * 10), min(100.0, math.ceil(10 * high + 0.2) * 10)


def _stack(axes: Axes, figure: Figure) -> None:
    """A bar for each group, of one piece a kind of failure."""
    left = dict.fromkeys(figure.groups, 0.0)
    for series in figure.series:
        points = {point.group: point for point in series.points}
        widths = [100 * points[group].value if group in points else 0 for group in figure.groups]
        axes.barh(
            range(len(figure.groups)),
            widths,
            left=[left[group] for group in figure.groups],
            height=0.62,
            color=KINDS.get(series.name, KINDS["unclassified"]),
            edgecolor=PAPER,
            linewidth=0.8,
            label=series.name.replace("_", " "),
        )
        for group, width in zip(figure.groups, widths, strict=True):
            left[group] += width
    axes.set_yticks(range(len(figure.groups)), [_short(group) for group in figure.groups])
    axes.set_ylim(len(figure.groups) - 0.4, -0.6)
    axes.set_xlim(0, max(10, *(value * 1.04 for value in left.values())))
    _percent_axis(axes)


def _line(axes: Axes, figure: Figure) -> None:
    """Groups from left to right, joined by a line for each run."""
    for number, series in enumerate(figure.series):
        points = [(place, series.at(group)) for place, group in enumerate(figure.groups)]
        known = [(place, point) for place, point in points if point is not None]
        places = [place for place, _ in known]
        axes.fill_between(
            places,
            [100 * (p.low if p.low is not None else p.value) for _, p in known],
            [100 * (p.high if p.high is not None else p.value) for _, p in known],
            color=SERIES[number],
            alpha=0.14,
            linewidth=0,
        )
        axes.plot(
            places,
            [100 * p.value for _, p in known],
            marker=_MARKERS[number],
            markersize=4.2,
            markeredgewidth=0,
            clip_on=False,  # dots at 0 % and 100 % are round, too
            linewidth=1.4,
            color=SERIES[number],
            label=_short(series.name),
        )
    axes.set_xticks(
        range(len(figure.groups)), [f"{group}\nn={_most(figure, group)}" for group in figure.groups]
    )
    axes.set_ylim(0, 100)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0f}%")
    axes.grid(axis="y")
    axes.set_axisbelow(True)


def _bars(axes: Axes, figure: Figure) -> None:
    """Groups from left to right, a bar for each run side by side."""
    count = len(figure.series)
    for number, series in enumerate(figure.series):
        width = 0.8 / count
        axes.bar(
            [place + (number - (count - 1) / 2) * width for place in range(len(figure.groups))],
            [100 * _value(series, group) for group in figure.groups],
            width=width * 0.92,
            color=SERIES[number],
            label=_short(series.name),
        )
    axes.set_xticks(range(len(figure.groups)), figure.groups)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0f}%")
    axes.grid(axis="y")
    axes.set_axisbelow(True)


_DRAWN = {"dots": _dots, "stack": _stack, "line": _line, "bars": _bars}


def _percent_axis(axes: Axes) -> None:
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0f}%")
    axes.grid(axis="x")
    axes.set_axisbelow(True)


def _most(figure: Figure, group: str) -> int:
    return max(point.n for series in figure.series if (point := series.at(group)))


def _value(series: Series, group: str) -> float:
    point: Point | None = series.at(group)
    return point.value if point else 0.0


def _short(text: str) -> str:
    return textwrap.shorten(text, 30, placeholder="…") if " " in text else text[:30]


def _embed(data: bytes, figure: Figure) -> str:
    """The SVG as a part of the page: names of its own, no style sheet, the colours of the page."""
    ET.register_namespace("", _SVG)
    ET.register_namespace("xlink", _XLINK)
    root = ET.fromstring(data)  # noqa: S314 (drawn here, a moment ago)
    _remove(root, {f"{{{_SVG}}}metadata", f"{{{_SVG}}}style", f"{{{_RDF}}}RDF"})
    for element in root.iter():
        _rename(element, figure.id)
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    names = (f"{figure.id}-title", f"{figure.id}-desc")
    root.attrib |= {"role": "img", "aria-labelledby": " ".join(names), "class": "chart"}
    for place, (tag, name, text) in enumerate(
        (("title", names[0], figure.title), ("desc", names[1], figure.summary))
    ):
        element = ET.Element(f"{{{_SVG}}}{tag}", {"id": name})
        element.text = text
        root.insert(place, element)
    return ET.tostring(root, encoding="unicode")


def _remove(element: ET.Element, tags: set[str]) -> None:
    for child in list(element):
        if child.tag in tags:
            element.remove(child)
        else:
            _remove(child, tags)


def _rename(element: ET.Element, prefix: str) -> None:
    attributes: Mapping[str, Any] = dict(element.attrib)
    for name, value in attributes.items():
        if name == "id":
            element.set(name, f"{prefix}-{value}")
        elif name == f"{{{_XLINK}}}href":
            element.set(name, f"#{prefix}-{value[1:]}")
        elif name == "clip-path":
            element.set(name, value.replace("url(#", f"url(#{prefix}-"))
        elif name == "style":
            element.set(name, _style(value))


def _style(style: str) -> str:
    """With the page's colours and without a font family: that is the page's."""
    kept: Sequence[str] = [
        rule for rule in (part.strip() for part in style.split(";")) if rule and not rule.startswith("font")
    ]
    size = next((part for part in style.split(";") if part.strip().startswith("font")), "")
    if size:
        number = next((word for word in size.replace(":", " ").split() if word.endswith("px")), "10px")
        kept = [*kept, f"font-size: {number}"]
    text = "; ".join(kept)
    for colour, variable in _VARIABLES.items():
        text = text.replace(colour, f"var({variable})")
    return text
