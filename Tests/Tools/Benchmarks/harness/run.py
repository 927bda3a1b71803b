"""Measures the rows of rows.py, prints their tables, and writes the page. Scripts/benchmark builds, and calls this.

With --check, it only checks the options. With --wants NAME, it only returns whether that row is selected: status 0 or
1.
"""

import argparse
import json
import signal
import sys
from pathlib import Path

import machine
import page
import plot
import results
from measure import Measuring, Places, Unavailable, say
from rows import ROWS

EX_USAGE, EX_UNAVAILABLE, EX_SOFTWARE = 64, 69, 70
QUICK_ROUNDS, ROUNDS = 3, 5

SOURCES = Path(__file__).resolve().parent.parent
ROOT = SOURCES.parents[2]


class Parser(argparse.ArgumentParser):
    def error(self, message: str):
        say(f"{message} (Scripts/benchmark --help)")
        sys.exit(EX_USAGE)


def names_of(texts: list[str]) -> list[str]:
    return [name for text in texts for name in text.split(",") if name]


def arguments() -> argparse.Namespace:
    parser = Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("names", nargs="*")
    # From Scripts/benchmark.
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--wants")
    for name in ("--swift", "--cache", "--work", "--log"):
        parser.add_argument(name, type=lambda text: Path(text).absolute())
    options = parser.parse_intermixed_args()
    names = names_of(options.only + options.names)
    for name in names:
        if name not in [row.name for row in ROWS]:
            parser.error(f"there is no row {name}")
    if options.rounds is not None and options.rounds < 1:
        parser.error(f"--rounds {options.rounds}: not a number of rounds")
    if options.quick and options.write:
        parser.error("--quick is too short for --write")
    options.rounds = options.rounds or (QUICK_ROUNDS if options.quick else ROUNDS)
    # A row that takes long is measured with --quick only if it is named.
    options.rows = [row for row in ROWS if (row.name in names if names else row.is_quick or not options.quick)]
    return options


def write(records: dict[str, results.Record]):
    """Adds the records to the existing ones, and writes the page and the charts of all."""
    path = SOURCES / "results.json"
    records = {**results.load(path), **records}
    results.save(path, records, [row.name for row in ROWS])
    missed = page.missed_texts(SOURCES / "harness/missed.md")
    counts = json.loads((SOURCES / "instructions.json").read_text("utf-8"))
    template = (SOURCES / "Performance.md.in").read_text("utf-8")
    docs = ROOT / "Docs"
    docs.mkdir(exist_ok=True)
    (docs / "Performance.md").write_text(page.page(template, list(ROWS), records, missed, counts), "utf-8")
    (docs / "Performance.svg").write_text(plot.draw(list(ROWS), records), "utf-8")
    (docs / "Latency.svg").write_text(plot.draw_latencies(list(ROWS), records), "utf-8")
    say("wrote Docs/Performance.md, its charts Performance.svg and Latency.svg, and Tests/Tools/Benchmarks/results.json")
    silent = [row.name for row in ROWS if page.has_missed(row, records.get(row.name)) and row.name not in missed]
    if silent:
        say("harness/missed.md lacks the reason why an aim is missed:", ", ".join(silent))


def end(number: int, _):
    """Handles a signal as any other end of the script, so that no bus and no program is left behind."""
    sys.exit(128 + number)


def main() -> int:
    options = arguments()
    if options.check:
        return 0
    if options.wants:
        return 0 if options.wants in [row.name for row in options.rows] else 1
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    measuring = Measuring(Places(SOURCES, options.cache, options.swift, options.work, options.log), options.quick)
    try:
        measuring.run(options.rows, options.rounds)
    except Unavailable as problem:
        say(problem)
        return EX_UNAVAILABLE
    here = machine.describe(SOURCES, options.cache / "venv/bin/python3") if options.write else {}
    records = {
        row.name: results.record(
            row, measuring.cells, min(options.rounds, row.rounds or options.rounds), here, measuring.others[row.name])
        for row in options.rows
    }
    for row in options.rows:
        print(f"{row.name}: {row.title}\n\n{page.row_table(row, records[row.name])}\n")
    print(page.summary(options.rows, records), flush=True)
    if measuring.has_failed:
        return EX_SOFTWARE
    if options.write:
        write(records)
    return EX_SOFTWARE if measuring.has_lost else 0


sys.exit(main())
