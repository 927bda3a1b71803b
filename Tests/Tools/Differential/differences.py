"""Compares the values that bluetooth-sig reads with the GATT Specification Supplement itself.

    differences.py CASES LIST

CASES is the output of values.py, LIST is Tests/Tools/Differential/ValueDifferences.md. Each difference must be in the
list, and each entry of the list must be found. (ValueDifferentialTests does the same with this package instead of the
supplement.)
"""

import math
import re
import sys

import supplement
import value_fields

# Fields where this package follows the supplement's words, not its tables.
IN_WORDS = {("2BF2", "Time Value", "×")}
NO_VALUE = {"short": "shorter", "long": "longer", "prohibited": "prohibited", "text": "no text"}


def listed(path):
    """The entries: number, field and kind; "× 8" comes with its factors."""
    entries = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if len(cells) != 5:
                continue
            for number_ in re.findall(r"(?:^|, )([0-9A-F]{4}) ", cells[0]):
                for field in cells[1].split("; "):
                    kind, _, factors = cells[2].partition(" ")
                    factors = factors.split(" or ") if kind == "×" else []
                    entries[number_, field, kind if factors else cells[2]] = [float(factor) for factor in factors]
    return entries


def differences(form, data, verdict, what, pairs):
    """Field, kind and theirs ÷ ours (nan if that is not a number) of each difference."""
    if verdict in NO_VALUE:
        if not what.startswith("refused"):
            yield "–", "endless" if what == "endless" else NO_VALUE[verdict], math.nan
        return
    if what not in ("value", "special"):
        yield "–", what, math.nan
        return
    fields = dict(form.read(data)[0])
    if what == "special":
        if len(fields) > 1 or not isinstance(next(iter(fields.values())), supplement.Special):
            yield next(iter(fields)), "special", math.nan
        return
    seen = set()
    for name, theirs in pairs:
        field, ours = look_up(name, fields)
        seen.add(plain(field))
        if ours is None:
            yield plain(name), "not there", math.nan
        elif isinstance(ours, supplement.Special):
            if theirs not in ("nan", "inf", "-inf"):
                yield plain(name), "number", math.nan
        elif isinstance(ours, str):
            if values_escaped(ours) != theirs:
                yield plain(name), "other", math.nan
        elif not math.isclose(number(theirs), number(ours), rel_tol=1e-9):
            yield plain(name), "×", number(theirs) / number(ours) if ours else math.nan
    for name in fields:
        if plain(name) not in seen:
            yield plain(name), "absent", math.nan


def look_up(name, fields):
    """The field that a name means, `Flags[3-5]` too, and its value."""
    if name in fields:
        return name, fields[name]
    found = re.fullmatch(r"(.*)\[(\d+)(?:-(\d+))?\]", name)
    if not found or found[1] not in fields:
        return name, None
    whole = fields[found[1]]
    if isinstance(whole, supplement.Special):
        return found[1], whole
    whole = int.from_bytes(bytes.fromhex(whole), "little") if isinstance(whole, str) else int(whole)
    low, high = int(found[2]), int(found[3] or found[2])
    return found[1], whole >> low & (1 << high - low + 1) - 1


def plain(name):
    """The name without the numbers of elements, such as `Record.Size`; the numbers of bits stay."""
    return re.sub(r"(?<=^Record)\[\d+\]|(?<=^RR-interval)\[\d+\]|(?<=^Units)\[\d+\]|(?<= Array)\[\d+\]$", "", name)


def number(value):
    try:
        return float(value)
    except OverflowError:
        return math.inf


def values_escaped(text):
    return text.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def found_in(path):
    """Each difference with the values that show it and the quotients."""
    formats, found = supplement.formats(), {}
    with open(path, encoding="utf-8", newline="\n") as file:
        for line in file:
            number_, data, verdict, what, *columns = line.rstrip("\n").split("\t")
            if number_ not in formats:
                continue
            pairs = [column[1:].split("=", 1) for column in columns if column.startswith(">")]
            for field, kind, ratio in differences(formats[number_], bytes.fromhex(data), verdict, what, pairs):
                found.setdefault((number_, field, kind), []).append((data, ratio))
    return found


def main(cases, document):
    formats = supplement.formats()
    entries = {key: factors for key, factors in listed(document).items() if key[0] in formats and key not in IN_WORDS}
    found, problems = found_in(cases), []
    for key, examples in found.items():
        factors = entries.get(key)
        if factors is None and entries.get((*key[:2], "other")) is None:
            problems.append(f"{' | '.join(key)} is not listed: {len(examples)} times, {examples[0]}")
        elif factors:
            wrong = [e for e in examples if not any(math.isclose(e[1], factor, rel_tol=1e-6) for factor in factors)]
            problems += [f"{' | '.join(key)} {factors} does not explain {wrong[0]}"] if wrong else []
    for key in entries:
        if key not in found and not (key[2] == "other" and (*key[:2], "×") in found):
            problems.append(f"{' | '.join(key)} is listed, but is not a difference")
    print(f"{len(found)} differences, {len(entries)} listed", file=sys.stderr)
    sys.exit("\n".join(problems) or None)


if __name__ == "__main__":
    main(*sys.argv[1:])
