"""Writes values of characteristics with the results of the package bluetooth-sig, one a line.

Run by Scripts/test --differential, in a Python that has bluetooth-sig 0.6.0. Each line, separated by tabs: the
characteristic's number and the value, both in hexadecimal; the supplement's verdict on the bytes (see `verdict`); the
package's outcome: `value`, `special`, `endless` (the call does not return), or `refused` and why; then the values that
were read, `path=value`, and the same by the names of the supplement's fields, `>field=value`.

Numbers are decimal, enumerations and flags are their numbers, times are ISO texts, durations are in seconds, bytes
hexadecimal, texts unchanged with backslash, tab and line ends escaped; None is left out. Fields of structures are
`a.b`, elements `a[0]`.

The values are random and at the limits of the allowed range, the same in every run.
"""

import datetime
import enum
import logging
import os
import random
import re
import signal
import sys
import uuid

os.environ["BLUETOOTH_SIG_ENABLE_PARSE_TRACE"] = "0"

import msgspec
import supplement
import value_fields
from bluetooth_sig.gatt.characteristics.registry import CharacteristicRegistry
from bluetooth_sig.gatt.exceptions import SpecialValueDetectedError
from bluetooth_sig.types.uuid import BluetoothUUID

# The reasons for which the package refuses a value, by its messages.
REASONS = {
    "date": r"^(year|month|day|hour|minute|second) .*(must be|out of range)|^date value out of range",
    "length": r"^Length validation|too long|too short|^Insufficient|[Nn]eed|at least|index out of range|expected \d+ bytes",
    "order": r"cannot (be greater than|exceed)",
    "bits": r"reserved bits",
    "reserved": r"is not a valid|^Invalid|RFU",
    "range": r"outside|must be|above maximum|below minimum",
}
# Characteristics of the package that are not compared, with the reasons.
LEFT_OUT = {"2A40": "the package's class has no decoder"}
RANDOM = 50


class Endless(BaseException):
    """A call of the package does not return."""


def stop(*_):
    raise Endless


def flattened(value, path=""):
    """Pairs of path and text."""
    if value is None:
        return
    if isinstance(value, enum.Enum) and not isinstance(value, int):
        yield from flattened(value.value, path)
    elif isinstance(value, bool):
        yield path, str(value).lower()
    elif isinstance(value, int):
        yield path, str(int(value))
    elif isinstance(value, float):
        yield path, repr(value)
    elif isinstance(value, str):
        yield path, escaped(value)
    elif isinstance(value, (bytes, bytearray)):
        yield path, value.hex()
    elif isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        yield path, value.isoformat()
    elif isinstance(value, datetime.timedelta):
        yield path, repr(value.total_seconds())
    elif isinstance(value, (BluetoothUUID, uuid.UUID)):
        yield path, str(value).upper()
    elif isinstance(value, (list, tuple)):
        for index, element in enumerate(value):
            yield from flattened(element, f"{path}[{index}]")
    elif isinstance(value, (set, frozenset)):
        yield from flattened(sorted(value, key=lambda element: getattr(element, "value", element)), path)
    elif isinstance(value, dict):
        for key, element in value.items():
            yield from flattened(element, f"{path}[{key}]")
    else:
        names = value.__struct_fields__ if isinstance(value, msgspec.Struct) else list(vars(value))
        for name in names:
            yield from flattened(getattr(value, name), f"{path}.{name}" if path else name)


def escaped(text):
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def outcome(characteristic, data):
    """The outcome for the bytes, and the pairs that were read."""
    # (some go round in circles; in time of the processor, so that a busy machine finds the same)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.5)
    try:
        return "value", list(flattened(characteristic.parse_value(data)))
    except Endless:
        return "endless", []
    except SpecialValueDetectedError as error:
        return "special", [("", escaped(error.special_value.meaning))]
    except Exception as error:
        return f"refused {refusal(error.__cause__ or error)}", []
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def refusal(error):
    """The word for an error."""
    text = str(error)
    return next((word for word, pattern in REASONS.items() if re.search(pattern, text)), type(error).__name__)


def verdict(form, data):
    """The supplement's verdict: `short`, `long`, `prohibited` or `text` (not UTF-8) for bytes that are not a value;
    `special` or `reserved` for a value with such numbers; `-` otherwise, and if there is no format."""
    if form is None:
        return "-"
    try:
        return "+".join(sorted(form.read(data)[1])) or "-"
    except supplement.Unreadable as error:
        return str(error)


def edges(field):
    """Raw numbers at the limits of a field's range."""
    ones = (1 << field.bits) - 1
    raws = {0, 1, ones, ones - 1, ones >> 1, (ones >> 1) + 1, (ones >> 1) - 1} | {raw & ones for raw in field.specials}
    if field.bits == 16 and field.kind == "medfloat":
        raws |= {0x07FE, 0x07FF, 0x0800, 0x0801, 0x0802, 0x17FF, 0xF800, 0xF02A, 0x7FFF, 0x8001, 0x16D, 0xF001}
    if field.bits == 32 and field.kind == "medfloat":
        raws |= {0x7FFFFE, 0x7FFFFF, 0x800000, 0x800001, 0x800002, 0xFF00016D, 0x02000001}
    if field.low is not None and field.kind in ("uint", "sint"):
        for limit in (field.low, field.high):
            raws |= {int(limit / field.factor) + step & ones for step in (-1, 0, 1)}
    return sorted(raws)


def leaves(fields):
    for field in fields:
        if field.type == "struct" or field.parts:
            yield from leaves(supplement.parts_of(field) or [])
        elif field.bits:
            yield field


def inputs(form, rng):
    """Values of a format, and some bytes that are not."""
    flags = next((f for f in form.fields if f.kind == "boolean" and len(form.fields) > 1), None)
    masks = [0, *(1 << bit for bit in range(flags.bits)), (1 << flags.bits) - 1] if flags else []
    values = [form.make(rng, mask) for mask in masks]
    if len(form.fields) == 1 and form.fields[0].bits == 8:
        values += [bytes([raw]) for raw in range(256)]
    for field in leaves(form.fields):
        for raw in edges(field):
            values += [form.make(rng, mask, {field.name: raw}) for mask in (masks[:1] + masks[-1:] if flags else [None])]
    values += [form.make(rng) for _ in range(RANDOM)]
    length = max(len(value) for value in values)
    values += [b"\0" * length, b"\xff" * length, b""]
    values += [value for whole in values[-RANDOM:-RANDOM + 5] for value in (whole[:-1], whole + b"\0", whole + rng.randbytes(1))]
    return values


def accepted(characteristic, rng):
    """Random values of a characteristic that the supplement does not have, most of them acceptable to the package."""
    lengths = sorted(rng.sample(range(25), 25))
    values, good, bad = [], 0, 0
    lowest = characteristic.expected_length or characteristic.min_length or 0
    highest = characteristic.expected_length or characteristic.max_length or lowest + 12
    for attempt in range(1500):
        length = rng.randint(lowest, max(lowest, min(highest, 64))) if attempt % 10 else rng.choice(lengths)
        data = rng.randbytes(length)
        if attempt % 3:  # small numbers, which are more often known ones
            data = bytes(byte & rng.choice((1, 3, 7, 15)) for byte in data)
        if attempt % 3 == 2:
            data = data[:1] + rng.randbytes(max(0, length - 1))
        what = outcome(characteristic, data)[0]
        good, bad = good + (what == "value"), bad + (what != "value")
        if what == "value" or bad <= 15:
            values.append(data)
        if good == RANDOM:
            break
    return values + [b"", b"\0" * lowest, b"\xff" * lowest]


def main():
    logging.disable()
    signal.signal(signal.SIGVTALRM, stop)
    formats = supplement.formats()
    classes = CharacteristicRegistry.get_instance().get_all_characteristics()
    problems, counts = [], {}
    for made in sorted((made() for made in classes.values()), key=lambda made: str(made.uuid)):
        number = str(made.uuid)[4:8].upper()
        if number in LEFT_OUT:
            continue
        rng = random.Random(number)
        form = formats.get(number)
        values = inputs(form, rng) if form else accepted(made, rng)
        seen = set()
        for data in values:
            if data in seen:
                continue
            seen.add(data)
            what, pairs = outcome(made, data)
            named = []
            if form or number in value_fields.TABLE:
                try:
                    fields = dict(form.read(data)[0]) if form else None
                    named = value_fields.named(number, form, pairs if what == "value" else [], fields)
                except supplement.Unreadable:
                    pass
                except KeyError as error:
                    problems.append(f"{number} {made.name}: value-fields.txt does not have the field of {error}")
            columns = [f"{path}={value}" for path, value in pairs] + [f">{name}={value}" for name, value in named]
            print("\t".join([number, data.hex(), verdict(form, data), what, *columns]))
            counts[what] = counts.get(what, 0) + 1
    for number, why in LEFT_OUT.items():
        print(f"{number} left out: {why}", file=sys.stderr)
    print(f"{sum(counts.values())} values of {len(classes) - len(LEFT_OUT)} characteristics: {counts}", file=sys.stderr)
    if problems:
        sys.exit("\n".join(sorted(set(problems))))


if __name__ == "__main__":
    main()
