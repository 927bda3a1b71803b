"""Writes the figures as Markdown: tables for the terminal, and the page Docs/Performance.md."""

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

import results
from instructions import PATHS
from results import Record
from rows import Aim, Mode, Number, Program, Row

WIDTH = 120
NONE = "–"
# The part of the processors in use by others from which on the page says so.
BUSY = 0.05


# --- figures ---


def plain(value: float) -> str:
    """A number with about three digits."""
    if abs(value) >= 999.5:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 0.95 or value == 0 else f"{value:.2f}"


def spread(figure: list[float] | None) -> str:
    if figure is None:
        return NONE
    middle, least, most = map(plain, figure)
    return f"{middle} ({least}–{most})"


def ratio(value: float | None, reference: float | None) -> str:
    """The ratio to the reference."""
    if value is None or not reference or reference < 0:
        return NONE
    times = value / reference
    digits = 0 if abs(times) >= 9.95 else 2 if abs(times) >= 0.0995 else 3
    return f"{times:.{digits}f}"


def middle(record: Record | None, mode: str, program: str, number: str) -> float | None:
    figure = results.figure(record, mode, program, number)
    return figure[0] if figure else None


@dataclass
class Verdict:
    """The result for an aim."""

    row: Row
    aim: Aim
    value: float | None
    reference: float | None

    @property
    def is_reached(self) -> bool | None:
        if self.value is None or self.aim.is_relative and self.reference is None:
            return None
        return self.value <= self.aim.factor * (self.reference if self.aim.is_relative else 1)

    @property
    def unit(self) -> str:
        return self.row.number(self.aim.number).unit

    def cells(self) -> list[str]:
        """Its line in the summary."""
        row, aim = self.row, self.aim
        mode, number = row.mode(aim.mode), row.number(aim.number)
        what = heading(row.name, f"{mode.size:,}" if row.chart and mode.size else mode.title, number.title)
        figure = NONE if self.value is None else f"{plain(self.value)} {self.unit}"
        word = {True: "reached", False: "missed", None: NONE}[self.is_reached]
        program = row.program(aim.program).title
        if not aim.is_relative:
            return [what, program, figure, NONE, NONE, f"≤ {aim.factor:,g} {self.unit}", word]
        reference = aim.text or row.compare.get(aim.reference) or row.program(aim.reference).title
        if self.reference is not None:
            reference += f": {plain(self.reference)}"
        return [what, program, figure, reference, ratio(self.value, self.reference), f"≤ {aim.factor:g} ×", word]


def verdicts(row: Row, record: Record | None) -> list[Verdict]:
    found = []
    for aim in row.aims:
        mode, number = row.mode(aim.mode).key, row.number(aim.number).key
        value = middle(record, mode, aim.program, number)
        reference = None
        if aim.is_relative:
            reference = middle(
                record, aim.reference_mode or mode, aim.reference or aim.program, aim.reference_number or number)
        found.append(Verdict(row, aim, value, reference))
    return found


# --- tables ---


def table(lines: list[list[str]]) -> str:
    """A Markdown table, its columns aligned. The first line is its head."""
    widths = [max(len(cell) for cell in column) for column in zip(*lines)]
    texts = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |" for line in lines]
    texts.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(texts)


def heading(*words: str) -> str:
    return ", ".join(word for word in words if word)


def complete_rounds(record: Record | None, mode: str, program: str) -> str:
    cell = (record or {}).get("cells", {}).get(mode, {}).get(program)
    return f"{cell['complete']} of {cell['runs']}" if cell else NONE


def row_table(row: Row, record: Record | None) -> str:
    """All figures of a row: a line for each program, or for each mode if there is one program."""
    if len(row.programs) == 1 and len(row.shown_modes) > 1:
        return mode_table(row, record)
    lines = [[row.head]]
    for mode in row.shown_modes:
        for number in row.numbers:
            lines[0].append(heading(mode.title, number.title, number.unit))
            lines[0] += [f"× {words}" for words in row.compare.values()]
        if row.may_lose:
            lines[0].append("complete")
    for program in row.programs:
        line = [program.title]
        for mode in row.shown_modes:
            for number in row.numbers:
                line += figure_cells(row, record, mode, program, number)
            if row.may_lose:
                line.append(complete_rounds(record, mode.key, program.key))
        lines.append(line)
    return table(lines)


def figure_cells(row: Row, record: Record | None, mode: Mode, program: Program, number: Number) -> list[str]:
    """A figure, and its ratios."""
    value = middle(record, mode.key, program.key, number.key)
    return [spread(results.figure(record, mode.key, program.key, number.key))] + [
        ratio(value, middle(record, mode.key, reference, number.key)) for reference in row.compare
    ]


def mode_table(row: Row, record: Record | None) -> str:
    program, first = row.programs[0], row.shown_modes[0]
    lines = [[program.title, *(heading(number.title, number.unit) for number in row.numbers), f"× {first.title}"]]
    if row.may_lose:
        lines[0].append("complete")
    number = row.numbers[0].key
    base = middle(record, first.key, program.key, number)
    for mode in row.shown_modes:
        line = [mode.title, *(spread(results.figure(record, mode.key, program.key, each.key)) for each in row.numbers)]
        line.append(NONE if mode.between else ratio(middle(record, mode.key, program.key, number), base))
        if row.may_lose:
            line.append(complete_rounds(record, mode.key, program.key))
        lines.append(line)
    return table(lines)


def summary(rows: list[Row], records: dict[str, Record]) -> str:
    """A line for each aim."""
    lines = [["row", "program", "figure", "compared with", "ratio", "aim", "result"]]
    for row in rows:
        lines += [verdict.cells() for verdict in verdicts(row, records.get(row.name))]
    return table(lines) if len(lines) > 1 else ""


# --- prose ---


def fill(text: str) -> str:
    """Paragraphs and lists in lines of the page's width."""
    blocks = []
    for block in re.split(r"\n\s*\n", textwrap.dedent(text).strip()):
        # Lines that are indented, and tables, stay as they are.
        if block.startswith(("    ", "|", "#", "!")):
            blocks.append(block)
            continue
        items = re.split(r"\n(?=- )", block)
        blocks.append("\n".join(
            textwrap.fill(
                " ".join(item.split()), WIDTH, subsequent_indent="  " if item.startswith("- ") else "",
                break_long_words=False, break_on_hyphens=False)
            for item in items))
    return "\n\n".join(blocks)


def with_values(row: Row, text: str) -> str:
    """The text, with the names of the modes' values replaced by the values."""
    values = {}
    for mode in row.modes:
        for name, value in mode.filled().items():
            values[f"{mode.key}_{name}"] = f"{value:,}" if isinstance(value, int) else value
    return text.format_map(values)


def rate_words(row: Row, record: Record) -> str:
    """The number of runs that kept the schedule. Late events arrive together, and cost less."""
    cells = [cell for programs in record["cells"].values() for cell in programs.values() if "late" in cell]
    complete, late = sum(cell["complete"] for cell in cells), sum(cell["late"] for cell in cells)
    if not cells:
        return ""
    words = f"The schedule was kept in {complete - late} of {complete} complete runs."
    if late:
        words += " In the others the machine was too busy, so these figures compare badly."
    return words


def record_words(record: Record, machine: dict[str, str], rounds: int) -> list[str]:
    """The differences between a row's measurement and the others."""
    words = []
    if record.get("others", 0) >= BUSY:
        words.append(f"Other programs used {record['others']:.0%} of the processors meanwhile.")
    if record["rounds"] != rounds:
        number = record["rounds"]
        words.append(f"This was measured in {number} round{'s' if number > 1 else ''}.")
    if record["machine"] != machine:
        others = [f"{key}: {value}" for key, value in record["machine"].items() if machine.get(key) != value]
        words.append(f"This was measured on another machine, or with other versions, than below: {'; '.join(others)}.")
    return words


def missed_texts(path: Path) -> dict[str, str]:
    """The texts by row, from the file's sections."""
    if not path.exists():
        return {}
    parts = re.split(r"^## +(.*)$", path.read_text("utf-8"), flags=re.M)[1:]
    return {name.strip(): text.strip() for name, text in zip(parts[::2], parts[1::2]) if text.strip()}


def has_missed(row: Row, record: Record | None) -> bool:
    return any(verdict.is_reached is False for verdict in verdicts(row, record))


def section(row: Row, records: dict[str, Record], missed: dict[str, str]) -> str:
    record = records.get(row.name)
    parts = [f"## {row.title}", fill(with_values(row, row.intro))]
    if record is None:
        parts.append("This has not been measured.")
    else:
        words = record_words(record, results.main_machine(records), results.main_rounds(records))
        parts += [row_table(row, record), fill(" ".join([*words, rate_words(row, record)]))]
    parts.append(fill(with_values(row, row.text)))
    abouts = [f"- **{program.title}**: {program.about}" for program in row.programs if program.about]
    parts.append(fill("\n".join(abouts)))
    if has_missed(row, record) and row.name in missed:
        parts.append(fill(missed[row.name]))
    return "\n\n".join(part for part in parts if part)


def instructions(counts: dict[str, dict[str, int]]) -> str:
    """The stored counts of instructions, by event and architecture."""
    lines = [["event", "name", *counts]]
    for name, (event, *_) in PATHS.items():
        numbers = [each.get(name) for each in counts.values()]
        lines.append([event, f"`{name}`", *(NONE if number is None else f"{number:,}" for number in numbers)])
    return table(lines)


def page(
    template: str, rows: list[Row], records: dict[str, Record], missed: dict[str, str],
    counts: dict[str, dict[str, int]],
) -> str:
    marks = {
        "@INSTRUCTIONS@": instructions(counts),
        "@SUMMARY@": summary(rows, records),
        "@SECTIONS@": "\n\n".join(section(row, records, missed) for row in rows),
        "@MACHINE@": fill("\n".join(f"- {key}: {value}" for key, value in results.main_machine(records).items())),
        "@ROUNDS@": str(results.main_rounds(records)),
        "@NAMES@": fill(
            f"Run nothing else at the same time. The rows are {', '.join(f'`{row.name}`' for row in rows)}. "
            "`Tests/Tools/Benchmarks/harness/rows.py` declares them, and the programs are beside it."),
    }
    for mark, text in marks.items():
        template = template.replace(mark, text)
    return template
