"""Finds closures that capture `self` of an actor and come back to it in several steps (Docs/Decisions/0002).

Such a closure does not run on the actor: between two steps, anything else may happen there. A comment that begins with
"Several steps:", in the closure or up to three lines before it, says why that is right. Prints the places without one;
exit status 1 if there are any. Usage: closures.py FILE...
"""
import re
import sys

START = re.compile(r"Task(?:\.\w+)?(?:\([^)]*\))? \{|@Sendable \{|\{ \[(?:weak |unowned )?self[^\]]*\]")
STEP = re.compile(r"await[^\n]*\bself[?!]?\.")


def closure(text, start):
    """The text between the brace at or after `start` and the one that closes it."""
    first = text.index("{", start)
    depth = 0
    for position in range(first, len(text)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return text[first + 1 : position]
    return text[first + 1 :]


found = False
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for match in START.finditer(text):
        body = closure(text, match.start())
        before = "\n".join(text[: match.start()].split("\n")[-4:])
        if len(STEP.findall(body)) < 2 or "// Several steps:" in before + body:
            continue
        line = text.count("\n", 0, match.start()) + 1
        print(f"{path}:{line}: error: a closure comes back to its actor in several steps; say why others may come between")
        found = True
sys.exit(found)
