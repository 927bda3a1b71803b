"""Runs the programs of the rows: each on a new private bus, with a new fake bluetoothd."""

import os
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import machine
from rows import Mode, Program, Row

# Seconds for a bus or a fake to be ready, and for a program to end.
START_LIMIT = 10
RUN_LIMIT = 900
# The statuses of a program that does not support its arguments, and of one that lacks something.
EX_USAGE, EX_UNAVAILABLE = 64, 69
# A run has kept its schedule if it took at most this much longer.
SCHEDULE_LIMIT = 1.1


class Unavailable(Exception):
    """A program that every run needs does not start."""


def say(*words: object):
    print("benchmark:", *words, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Places:
    """The directories of the programs."""

    # Tests/Tools/Benchmarks; where the compiled programs of C and the virtual environment are; the Swift program,
    # beside which the others are; for what is unfinished; and the log.
    sources: Path
    cache: Path
    swift: Path
    work: Path
    log: Path

    def resolve(self, words: list[str]) -> list[str] | None:
        """The command with paths for names. None if there is no such program."""
        name, arguments = words[0], words[1:]
        if name == "Benchmarks":
            path = self.swift
        elif name == "FirstDiscovery":
            path = self.swift.with_name(name)
        elif name.endswith(".py"):
            places = [self.sources / folder / name for folder in ("Python", "harness")]
            path = next((place for place in places if place.exists()), None)
        else:
            path = self.cache / name
            if not path.exists() and shutil.which(name):
                path = Path(shutil.which(name))
        if path is None or not path.exists():
            return None
        if name in ("outside.py", "served.py", "whole.py"):
            options = 2 if arguments[0] == "--until" else 0
            inner = self.resolve(arguments[options:])
            if inner is None:
                return None
            arguments = arguments[:options] + inner
        python = [str(self.cache / "venv/bin/python3")] if name.endswith(".py") else []
        return [*python, str(path), *arguments]


def stop(process: subprocess.Popen):
    """Ends a process, unless it has ended, and those that it has started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class Bus:
    """A private bus, with a fake bluetoothd on it, for a `with`."""

    def __init__(self, places: Places, fake: list[str], log):
        self.places, self.fake, self.log = places, fake, log
        self.processes: list[subprocess.Popen] = []

    def __enter__(self) -> dict[str, str]:
        """What is to be added to the environment."""
        try:
            address = self.start([
                "dbus-daemon", f"--config-file={self.places.sources}/bus.conf",
                f"--address=unix:dir={self.places.work}", "--nofork", "--print-address",
            ])
            environment = {"DBUS_SYSTEM_BUS_ADDRESS": address}
            # A fake that is not on the bus says where it is.
            return {**environment, "FAKE": self.start(self.fake, environment)}
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_):
        while self.processes:
            process = self.processes.pop()
            stop(process)
            process.stdout.close()

    def start(self, command: list[str], environment: dict[str, str] | None = None) -> str:
        """Starts a process, and returns its first line."""
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log,
            env={**os.environ, **(environment or {})}, start_new_session=True)
        self.processes.append(process)
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            line = process.stdout.readline() if selector.select(START_LIMIT) else b""
        if not line.endswith(b"\n"):
            raise Unavailable(f"{Path(command[0]).name} did not start (see {self.places.log})")
        return line.decode().strip()


@dataclass
class Outcome:
    """The outcome of one run of a program."""

    # complete, incomplete, failed or missing.
    kind: str
    text: str
    count: int = 0
    numbers: list[float] = field(default_factory=list)


def parse(output: str, status: int, line: str) -> Outcome:
    """The outcome in a program's output: of the line that begins with `line`, or of the last one."""
    lines = [each for each in output.splitlines() if each.strip()]
    if status == EX_USAGE:
        return Outcome("missing", "the program does not support this (status 64)")
    if status == EX_UNAVAILABLE:
        return Outcome("missing", "the program lacks something (status 69)")
    text = lines[-1] if lines else f"no result, status {status}"
    try:
        if line:
            words = line.split()
            found = next((each.split() for each in lines if each.split()[: len(words)] == words), None)
            if found is None or status != 0:
                return Outcome("failed", text)
            return Outcome("complete", " ".join(found), 1, [float(word) for word in found[len(words):]])
        count, kind, *numbers = lines[-1].split()
        if kind not in ("complete", "incomplete") or len(numbers) < 2:
            return Outcome("failed", text)
        return Outcome(kind, text, int(count), [float(number) for number in numbers])
    except (ValueError, IndexError):
        return Outcome("failed", text)


@dataclass
class Cell:
    """The results of one program in one mode, in all rounds."""

    runs: int = 0
    complete: int = 0
    # How many of the complete runs did not keep to the schedule; None where there is none.
    late: int | None = None
    samples: list[list[float]] = field(default_factory=list)


class Measuring:
    """Runs rows, and collects what the programs print."""

    def __init__(self, places: Places, quick: bool):
        self.places, self.quick = places, quick
        self.cells: dict[tuple[str, str, str], Cell] = {}
        # Whether a program has failed, and whether one has lost events.
        self.has_failed = self.has_lost = False
        self.missing: set[tuple[str, str]] = set()
        # The part of all processors that other programs used, by row, in each round.
        self.others: dict[str, list[float]] = {}
        # The output of commands that several programs have in common, in this round.
        self.shared: dict[str, tuple[str, int]] = {}
        self.log = open(places.log, "ab")

    def run(self, rows: list[Row], rounds: int):
        for number in range(1, rounds + 1):
            say(f"round {number} of {rounds}")
            self.shared = {}
            for row in rows:
                if number <= (row.rounds or number):
                    self.run_row(row)

    def run_row(self, row: Row):
        start = time.monotonic(), machine.used(), machine.own()
        self.measure_row(row)
        wall, used, own = (after - before for after, before in zip(
            (time.monotonic(), machine.used(), machine.own()), start))
        parts = self.others.setdefault(row.name, [])
        parts.append(max(0, used - own) / (wall * os.cpu_count()))

    def measure_row(self, row: Row):
        outcomes: dict[tuple[str, str], Outcome] = {}
        for mode in row.modes:
            for program in row.programs:
                if mode.between is None and (row.name, program.key) not in self.missing:
                    outcomes[mode.key, program.key] = self.run_program(row, mode, program)
        for mode in row.modes:
            for program in row.programs:
                if mode.between:
                    outcome = difference(row, mode, program, outcomes)
                else:
                    outcome = outcomes.get((mode.key, program.key))
                if outcome and outcome.kind != "missing":
                    self.record(row, mode, program, outcome)

    def run_program(self, row: Row, mode: Mode, program: Program) -> Outcome:
        values = mode.filled(self.quick)
        commands = [
            self.places.resolve(shlex.split(text.format_map(values)))
            for text in (program.command, row.fake) if text
        ]
        if None in commands:
            outcome = Outcome("missing", "the program is missing" if commands[0] is None else "its fake is missing")
        elif program.line:
            key = shlex.join(commands[0])
            if key not in self.shared:
                self.shared[key] = self.execute(commands[0])
            outcome = parse(*self.shared[key], program.line.format_map(values))
        elif row.fake:
            with Bus(self.places, commands[1], self.log) as environment:
                outcome = parse(*self.execute(commands[0], environment), "")
        else:
            outcome = parse(*self.execute(commands[0]), "")
        self.tell(row, mode, program, outcome)
        return outcome

    def execute(self, command: list[str], environment: dict[str, str] | None = None) -> tuple[str, int]:
        """Runs a command to its end, and returns its output and its status."""
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log, cwd=self.places.cache,
            env={**os.environ, **(environment or {})}, start_new_session=True)
        try:
            output, _ = process.communicate(timeout=RUN_LIMIT)
        except subprocess.TimeoutExpired:
            return f"no end within {RUN_LIMIT} s", -1
        finally:
            stop(process)
            process.stdout.close()
        return output.decode(errors="replace"), process.returncode

    def tell(self, row: Row, mode: Mode, program: Program, outcome: Outcome):
        """Writes the outcome of a run to the log, and to the terminal if the run is not complete."""
        name = f"{row.name}, {mode.title or mode.key}, {program.title}"
        self.log.write(f"{name}: {outcome.kind}: {outcome.text}\n".encode())
        self.log.flush()
        if outcome.kind == "missing":
            say(f"left out: {row.name}, {program.title}: {outcome.text}")
            self.missing.add((row.name, program.key))
        elif outcome.kind == "incomplete" and row.may_lose:
            say(f"{name}: {outcome.text}")
            self.has_lost = True
        elif outcome.kind != "complete":
            say(f"{name}: {outcome.text} (see {self.places.log})")
            self.has_failed = True

    def record(self, row: Row, mode: Mode, program: Program, outcome: Outcome):
        cell = self.cells.setdefault((row.name, mode.key, program.key), Cell())
        cell.runs += 1
        if outcome.kind != "complete":
            return
        cell.complete += 1
        rate = mode.filled(self.quick).get("rate")
        if rate and len(outcome.numbers) > 1:
            cell.late = (cell.late or 0) + (outcome.numbers[1] > SCHEDULE_LIMIT * 1e6 / rate)
        if any(number.index >= len(outcome.numbers) for number in row.numbers):
            say(f"{row.name}, {program.title}: a number is missing: {outcome.text}")
            self.has_failed = True
            return
        cell.samples.append([outcome.numbers[number.index] * number.scale for number in row.numbers])


def difference(row: Row, mode: Mode, program: Program, outcomes: dict[tuple[str, str], Outcome]) -> Outcome | None:
    """The additional cost of the larger of two modes."""
    sizes = [row.mode(key).size for key in mode.between]
    ends = [outcomes.get((key, program.key)) for key in mode.between]
    if None in ends or "missing" in [end.kind for end in ends]:
        return None
    if any(end.kind != "complete" for end in ends):
        return Outcome("incomplete", "")
    costs = [end.numbers for end in ends]
    if mode.is_of_totals and not program.has_totals:
        costs = [[cost * max(1, end.count) for cost in end.numbers] for end in ends]
    steps = sizes[1] - sizes[0]
    numbers = [(more - less) / steps for less, more in zip(*costs)]
    return Outcome("complete", ends[1].text, steps, numbers)
