"""Draws the figures of rows with sizes, and latencies, as line charts, each in one SVG."""

import math

import results
from page import plain
from results import Record
from rows import Mode, Program, Row

WIDTH, HEIGHT = 320, 250
# The margins of a chart around its axes.
LEFT, RIGHT, TOP, BOTTOM = 52, 24, 44, 52
# The heights above and below charts of latencies, and the width of a name below them.
HEAD, FOOT, LEGEND_WIDTH = 24, 36, 200

STYLE = """
    .ground { fill: #ffffff }
    .text { fill: #1f2328 }
    .figure { fill: #1f2328; stroke: #ffffff; stroke-width: 3; paint-order: stroke }
    .quiet { fill: #59636e }
    .grid { stroke: #d1d9e0; stroke-width: 1 }
    .axis { stroke: #59636e; stroke-width: 1 }
    .line { stroke: #0969da; stroke-width: 2; fill: none }
    .spread { stroke: #0969da; stroke-width: 1.5; opacity: 0.55 }
    .point { fill: #0969da }
    .line0 { stroke: #0969da }
    .line1 { stroke: #bc4c00 }
    .line2 { stroke: #59636e }
    .line3 { stroke: #1a7f37 }
    @media (prefers-color-scheme: dark) {
      .ground { fill: #0d1117 }
      .text { fill: #f0f6fc }
      .figure { fill: #f0f6fc; stroke: #0d1117 }
      .quiet { fill: #9198a1 }
      .grid { stroke: #3d444d }
      .axis { stroke: #9198a1 }
      .line { stroke: #58a6ff }
      .spread { stroke: #58a6ff }
      .point { fill: #58a6ff }
      .line0 { stroke: #58a6ff }
      .line1 { stroke: #f0883e }
      .line2 { stroke: #9198a1 }
      .line3 { stroke: #3fb950 }
    }
"""


def ceiling(value: float) -> float:
    """The round number at the top of an axis: 1, 2, 4, 5 or 10 times a power of ten."""
    power = 10 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 4, 5, 10) if step * power >= value * 0.999)


def text(
    x: float, y: float, words: str, kind: str = "text", anchor: str = "middle", size: int = 12, more: str = ""
) -> str:
    words = words.replace("&", "&amp;").replace("<", "&lt;")
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place} font-size="{size}"{more}>{words}</text>'


def line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def chart(row: Row, record: Record | None) -> str:
    """One chart: the median by size, with least and most."""
    program, number = row.programs[0], row.numbers[0]
    points = [
        (mode.size, figure) for mode in row.shown_modes
        if not mode.between and (figure := results.figure(record, mode.key, program.key, number.key))
    ]
    across, up = row.chart
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    parts = [
        text(WIDTH / 2, 20, row.title, size=14, more=' font-weight="600"'),
        text((LEFT + right) / 2, HEIGHT - 12, across, "quiet"),
        text(16, (TOP + bottom) / 2, up, "quiet", more=f' transform="rotate(-90 16 {(TOP + bottom) / 2:.1f})"'),
    ]
    if not points:
        return "".join([*parts, text((LEFT + right) / 2, (TOP + bottom) / 2, "not measured", "quiet")])
    top = ceiling(max(most for _, (_, _, most) in points))
    least, most = points[0][0], points[-1][0]

    def place(size: float, value: float) -> tuple[float, float]:
        share = math.log(size / least) / math.log(most / least) if most > least else 0.5
        return LEFT + 14 + share * (right - LEFT - 28), bottom - value / top * (bottom - TOP)

    for step in range(5):
        value = top * step / 4
        y = place(least, value)[1]
        parts.append(line("grid" if step else "axis", LEFT, y, right, y))
        parts.append(text(LEFT - 6, y + 4, f"{value:g}", "quiet", "end", 11))
    spots = [place(size, figure[0]) for size, figure in points]
    parts.append('<polyline class="line" points="' + " ".join(f"{x:.1f},{y:.1f}" for x, y in spots) + '"/>')
    for (size, figure), (x, y) in zip(points, spots):
        parts += [
            line("axis", x, bottom, x, bottom + 4),
            text(x, bottom + 18, f"{size:,}", "quiet", size=11),
            line("spread", x, place(size, figure[1])[1], x, place(size, figure[2])[1]),
            f'<circle class="point" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>',
            # Above the line of the spread, unless there is no room.
            text(x, max(TOP - 4, place(size, figure[2])[1] - 7), plain(figure[0]), "figure", size=11),
        ]
    return "\n  ".join(parts)


def kind_of(program: Program) -> str:
    """The kind of a program's line, the same in all charts of latencies."""
    return f"line line{('libdbus', 'bleak', 'stream', 'scope').index(program.key)}"


def latency_chart(row: Row, mode: Mode, record: Record | None, ends: tuple[float, float]) -> str:
    """One chart: a line for each program over the numbers of a mode, on a logarithmic axis between the two ends."""
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    parts = [
        text(WIDTH / 2, 20, mode.title, size=14, more=' font-weight="600"'),
        text((LEFT + right) / 2, HEIGHT - 12, "of the values", "quiet"),
        text(LEFT - 6, TOP - 10, row.numbers[0].unit, "quiet", "end", 11),
    ]
    low, high = (math.log10(end) for end in ends)

    def height(value: float) -> float:
        return bottom - (math.log10(value) - low) / (high - low) * (bottom - TOP)

    columns = [LEFT + 30 + index * (right - LEFT - 60) / (len(row.numbers) - 1) for index in range(len(row.numbers))]
    for power in range(round(low), round(high) + 1):
        y = height(10**power)
        parts.append(line("grid" if power > low else "axis", LEFT, y, right, y))
        parts.append(text(LEFT - 6, y + 4, f"{10**power:,}", "quiet", "end", 11))
    parts += [text(x, bottom + 18, number.title, "quiet", size=11) for x, number in zip(columns, row.numbers)]
    for program in row.programs:
        figures = [results.figure(record, mode.key, program.key, number.key) for number in row.numbers]
        if None not in figures:
            spots = " ".join(f"{x:.1f},{height(figure[0]):.1f}" for x, figure in zip(columns, figures))
            parts.append(f'<polyline class="{kind_of(program)}" points="{spots}"/>')
    return "\n  ".join(parts)


def latencies(row: Row, record: Record | None) -> str:
    """The charts of a row's latencies, side by side, and the names of the lines below them."""
    medians = [
        figure[0] for mode in row.shown_modes for program in row.programs for number in row.numbers
        if (figure := results.figure(record, mode.key, program.key, number.key))
    ]
    if not medians:
        return text(WIDTH / 2, HEIGHT / 2, f"{row.title}: not measured", "quiet")
    ends = 10 ** math.floor(math.log10(min(medians))), 10 ** math.ceil(math.log10(max(medians)))
    parts = [text(WIDTH * len(row.shown_modes) / 2, 22, row.title, size=15, more=' font-weight="600"')]
    for index, mode in enumerate(row.shown_modes):
        inner = latency_chart(row, mode, record, ends)
        parts.append(f'<g transform="translate({index * WIDTH} {HEAD})">\n  {inner}\n</g>')
    for index, program in enumerate(row.programs):
        x, y = LEFT + index * LEGEND_WIDTH, HEAD + HEIGHT + 12
        parts += [
            f'<line class="{kind_of(program)}" x1="{x}" y1="{y}" x2="{x + 24}" y2="{y}"/>',
            text(x + 32, y + 4, program.title.replace("`", ""), anchor="start"),
        ]
    return "\n".join(parts)


def draw_latencies(rows: list[Row], records: dict[str, Record]) -> str:
    """The SVG with the latencies of all rows that have charts of them, one below the other."""
    shown = [row for row in rows if row.has_latency_charts]
    height = HEAD + HEIGHT + FOOT
    groups = [
        f'<g transform="translate(0 {index * height})">\n{latencies(row, records.get(row.name))}\n</g>'
        for index, row in enumerate(shown)
    ]
    return svg(WIDTH * max(len(row.shown_modes) for row in shown), height * len(shown), shown, groups)


def draw(rows: list[Row], records: dict[str, Record]) -> str:
    """The SVG with the charts of all rows that have one."""
    charts = [row for row in rows if row.chart]
    groups = [
        f'<g transform="translate({index * WIDTH} 0)">\n  {chart(row, records.get(row.name))}\n</g>'
        for index, row in enumerate(charts)
    ]
    return svg(WIDTH * len(charts), HEIGHT, charts, groups)


def svg(width: int, height: int, rows: list[Row], groups: list[str]) -> str:
    titles, content = ", ".join(row.title for row in rows), "\n".join(groups)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"\n'
        f'  role="img" font-family="system-ui, -apple-system, \'Segoe UI\', sans-serif" aria-label="{titles}">\n'
        f"<style>{STYLE}</style>\n"
        f'<rect class="ground" width="{width}" height="{height}"/>\n'
        f"{content}\n</svg>\n"
    )
