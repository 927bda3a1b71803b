"""Compares the asynchronous declarations of the public API with the tables of awaits in the tests.

awaits.py GRAPHS TESTS EXEMPT: reads all symbol graphs in a folder, all rows in a folder of tests, and the exempt
declarations of a file. Prints declarations without a row, and rows and exemptions without a declaration. Exit status 1
if there is one.
"""

import fnmatch
import json
import pathlib
import re
import sys

CALLABLE = {
    "swift.method", "swift.type.method", "swift.init", "swift.func", "swift.property", "swift.type.property",
    "swift.subscript",
}


def declarations(folder):
    names = set()
    for path in pathlib.Path(folder).glob("*.symbols.json"):
        for symbol in json.loads(path.read_text())["symbols"]:
            text = "".join(part["spelling"] for part in symbol.get("declarationFragments", []))
            if symbol["kind"]["identifier"] in CALLABLE and re.search(r"\basync\b", text):
                names.add(".".join(symbol["pathComponents"]))
    return names


def main(graphs, tests, exempt):
    public = declarations(graphs)
    rows = set()
    for path in pathlib.Path(tests).rglob("*.swift"):
        for row in re.findall(r'\b(?:PublicCall|PublicWait|ProfileCall|ProfileWait|FeatureCall|FirmwareCall|TransferCall|onLink)\(\s*"([^"]+)"', path.read_text()):
            rows.add(row.split(", ")[0])
    patterns = [line for line in pathlib.Path(exempt).read_text().splitlines() if line and not line.startswith("#")]

    def is_exempt(name):
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)

    # The two forms of a sequence's `next` are one wait: the first calls the second.
    called = rows | {row.replace("next()", "next(isolation:)") for row in rows}
    problems = [f"{name} is in no table of awaits" for name in sorted(public - called) if not is_exempt(name)]
    problems += [f"{row} is in a table of awaits, but not in the public API" for row in sorted(rows - public)]
    problems += [
        f"{pattern} is in {exempt}, but not in the public API"
        for pattern in patterns if not any(fnmatch.fnmatchcase(name, pattern) for name in public)]
    problems += [f"{row} is in {exempt} and in a table of awaits" for row in sorted(rows) if is_exempt(row)]
    print("\n".join(problems) or f"{len(public)} asynchronous declarations, {len(rows)} rows")
    return 1 if problems else 0


sys.exit(main(*sys.argv[1:]))
