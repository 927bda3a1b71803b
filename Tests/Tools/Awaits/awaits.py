"""Compares the asynchronous declarations of the public API with the tables of awaits in the tests.

awaits.py GRAPHS TESTS EXEMPT: reads all symbol graphs in a folder, all rows in a folder of tests, and the exempt
declarations of a file. Prints what is missing, and what no longer exists. Exit status 1 if there is any.
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
        for row in re.findall(r'\b(?:PublicCall|PublicWait|ProfileCall|ProfileWait|FeatureCall|onLink)\(\s*"([^"]+)"', path.read_text()):
            rows.add(row.split(", ")[0])
    patterns = [line for line in pathlib.Path(exempt).read_text().splitlines() if line and not line.startswith("#")]

    def is_exempt(name):
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)

    # A sequence's two forms of next are one wait: the first calls the second.
    called = rows | {row.replace("next()", "next(isolation:)") for row in rows}
    problems = [f"no table of awaits has {name}" for name in sorted(public - called) if not is_exempt(name)]
    problems += [f"a table of awaits has {row}, which the public API does not" for row in sorted(rows - public)]
    problems += [
        f"{exempt} has {pattern}, which the public API does not"
        for pattern in patterns if not any(fnmatch.fnmatchcase(name, pattern) for name in public)]
    problems += [f"{exempt} has {row}, and so has a table of awaits" for row in sorted(rows) if is_exempt(row)]
    print("\n".join(problems) or f"{len(public)} asynchronous declarations, {len(rows)} rows")
    return 1 if problems else 0


sys.exit(main(*sys.argv[1:]))
