"""The results: figures by row, mode, program and number, as a JSON file that later runs add to."""

import json
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

from measure import Cell
from rows import Row

# A record of a row: machine, rounds, perhaps the part of the processors that others used, and cells by mode and program.
# A cell: runs, complete, perhaps late, and numbers, each of which is its median, least and most.
Record = dict[str, Any]


def rounded(value: float) -> float:
    return float(f"{value:.4g}")


def record(
    row: Row, cells: dict[tuple[str, str, str], Cell], rounds: int, machine: dict[str, str], others: list[float]
) -> Record:
    """The results of one row.

    `others` is the part of all processors that other programs used, in each round.
    """
    measured: dict[str, dict[str, Any]] = {}
    for mode in row.shown_modes:
        for program in row.programs:
            cell = cells.get((row.name, mode.key, program.key))
            if cell is None:
                continue
            entry: dict[str, Any] = {"runs": cell.runs, "complete": cell.complete, "numbers": {}}
            if cell.late is not None:
                entry["late"] = cell.late
            for number, values in zip(row.numbers, zip(*cell.samples)):
                entry["numbers"][number.key] = [rounded(value) for value in (median(values), min(values), max(values))]
            measured.setdefault(mode.key, {})[program.key] = entry
    return {"machine": machine, "rounds": rounds, "others": round(median(others), 2), "cells": measured}


def figure(record: Record | None, mode: str, program: str, number: str) -> list[float] | None:
    """Median, least and most."""
    cell = (record or {}).get("cells", {}).get(mode, {}).get(program)
    return cell["numbers"].get(number) if cell else None


def load(path: Path) -> dict[str, Record]:
    """Records by the name of the row."""
    if not path.exists():
        return {}
    content = json.loads(path.read_text("utf-8"))
    machines = content["machines"]
    return {name: {**entry, "machine": machines[entry["machine"]]} for name, entry in content["rows"].items()}


def save(path: Path, records: dict[str, Record], order: list[str]):
    """Writes the records of all existing rows, each machine once."""
    machines: list[dict[str, str]] = []
    rows = {}
    for name in order:
        if name in records:
            machine = records[name]["machine"]
            if machine not in machines:
                machines.append(machine)
            rows[name] = {**records[name], "machine": machines.index(machine)}
    text = json.dumps({"machines": machines, "rows": rows}, indent=1, ensure_ascii=False)
    path.write_text(text + "\n", "utf-8")


def main_machine(records: dict[str, Record]) -> dict[str, str]:
    """The machine on which most rows were measured."""
    counts = Counter(json.dumps(entry["machine"]) for entry in records.values())
    return json.loads(counts.most_common(1)[0][0]) if counts else {}


def main_rounds(records: dict[str, Record]) -> int:
    """The number of rounds of most rows."""
    counts = Counter(entry["rounds"] for entry in records.values())
    return counts.most_common(1)[0][0] if counts else 0
