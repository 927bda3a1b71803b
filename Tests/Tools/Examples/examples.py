"""Writes a Swift file for each page and source file with examples: its declarations unchanged, and its statements in
functions, one for each block. Prints the paths of the files.

A block is the text between ```swift and ```, in Markdown or in doc comments. A line with only … stands for code that
the example leaves out.
"""

import pathlib
import re
import sys

DECLARATION = re.compile(
    r"(@\w+(\(.*\))?\s+)*((public|private|fileprivate|internal|final|indirect|nonisolated)\s+)*"
    r"(import|extension|struct|class|actor|enum|protocol|func|typealias)\b")
ATTRIBUTE = re.compile(r"@\w+(\(.*\))?$")


def blocks(path):
    """The first line's number and the lines of each block."""
    lines = path.read_text().splitlines()
    if path.suffix == ".swift":
        lines = [re.sub(r"^\s*/// ?", "", line) if re.match(r"\s*///", line) else None for line in lines]
    block, begin = None, 0
    for number, line in enumerate(lines, 1):
        if block is None:
            if line is not None and line.strip() == "```swift":
                block, begin, indent = [], number + 1, len(line) - len(line.lstrip())
        elif line is None or line.strip() == "```":
            yield begin, block
            block = None
        else:
            block.append(line[indent:])
    if block is not None:
        sys.exit(f"{path}: the block that begins in line {begin} does not end")


def chunks(lines, begin):
    """The parts of a block: declarations and statements."""
    part, depth, first = [], 0, begin
    for number, line in enumerate(lines, begin):
        text = "" if line.strip() == "…" else line
        if not part:
            first = number
        part.append(text)
        code = re.sub(r'"(\\.|[^"\\])*"', '""', re.sub(r"//.*", "", text))
        depth += sum(code.count(c) for c in "{[(") - sum(code.count(c) for c in "}])")
        if depth <= 0 and code.strip() and not ATTRIBUTE.match(code.strip()):
            yield first, part
            part, depth = [], 0
    if part:
        yield first, part


def squeezed(text):
    return re.sub(r"\s+", " ", text).strip()


def main(root, out):
    root, out = pathlib.Path(root), pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("*.swift"):
        old.unlink()
    compiled = [squeezed(path.read_text()) for path in root.glob("Docs/Examples/**/*.swift")]
    paths = [root / "README.md", *root.glob("Docs/**/*.md"), *root.glob("Sources/**/*.md"), *root.glob("Sources/**/*.swift")]
    for path in sorted(paths):
        name = str(path.relative_to(root))
        declarations, functions = [], []
        for begin, lines in blocks(path):
            # A part of an example that is a program or a test of its own.
            if any(squeezed("\n".join(lines)) in text for text in compiled):
                continue
            body = []
            for first, part in chunks(lines, begin):
                start = next((line.strip() for line in part if line.strip() and not line.strip().startswith("//")), "")
                located = [f'#sourceLocation(file: "{name}", line: {first})', *part]
                if DECLARATION.match(start) or ATTRIBUTE.match(start):
                    declarations += located
                else:
                    body += located
            if any(not line.startswith("#") and line.strip() for line in body):
                functions += [f"func example{begin}() async throws {{", *body, "#sourceLocation()", "}"]
        if not declarations and not functions:
            continue
        file = out / (re.sub(r"[^A-Za-z0-9]+", "_", name) + ".swift")
        own = root / "Tests/Tools/Examples/Context" / file.name
        context = (root / "Tests/Tools/Examples/Context.swift").read_text().splitlines()
        context += own.read_text().splitlines() if own.exists() else []
        if declarations:
            declarations.append("#sourceLocation()")
        file.write_text("\n".join([*context, *declarations, *functions]) + "\n")
        print(file)


main(*sys.argv[1:])
