"""The fields of the supplement that correspond to the paths of bluetooth-sig's values, from the table in
value-fields.txt."""

import datetime
import os
import re

EXPRESSION = re.compile(r"(?:\{(?P<bit>\d+)\} )?(?P<name>.*?)(?:\[(?P<low>\d+)(?:-(?P<high>\d+))?\])?(?: (?P<operator>[x/]) (?P<factor>\d+)| as (?P<form>\w+))?")


def table():
    """For each characteristic the paths, each with its field."""
    result, paths = {}, None
    with open(os.path.join(os.path.dirname(__file__), "value-fields.txt"), encoding="utf-8") as file:
        for line in file:
            line = line.rstrip("\n")
            if line.startswith("#"):
                continue
            if not line.startswith(" "):
                paths = result[line] = {}
            else:
                path, _, expression = line.strip().partition("=")
                paths[path.strip()] = expression.strip()
    return result


TABLE = table()


def expression_of(number, form, path):
    """The field of a path, without the numbers of elements; raises KeyError if the table does not have it."""
    if number in TABLE:
        return TABLE[number][path]
    if path == "" and len(form.fields) == 1:
        return form.fields[0].name
    if path == "[]" and len(form.fields) == 1:
        return form.fields[0].name + "[]"
    raise KeyError(path)


def covered(number, form):
    """The fields of all paths, without the numbers of elements."""
    expressions = TABLE.get(number, {"": form.fields[0].name}).values()
    alternatives = [part for text in expressions if text != "-" for whole in text.split("; ") for part in whole.split(" | ")]
    return {EXPRESSION.fullmatch(part)["name"] for part in alternatives}


def named(number, form, pairs, fields):
    """The pairs by the names of fields. `fields` are the names of the present fields, none if the supplement has no
    format."""
    result = []
    for path, text in pairs:
        expression = expression_of(number, form, re.sub(r"\[\d+\]", "[]", path))
        indices = iter(re.findall(r"\[\d+\]", path))
        expression = re.sub(r"\[\]", lambda _: next(indices), expression)
        for whole in expression.split("; ") if expression != "-" else []:
            choices = [EXPRESSION.fullmatch(part) for part in whole.split(" | ")]
            found = next((choice for choice in choices if base(choice, fields)), choices[0])
            result.append((spelled(found, fields), value(found, text)))
    return result


def base(found, fields):
    """Whether the field is present: `Units[0]` may be an element or a bit."""
    return fields is None or found["name"] in fields or spelled(found, fields) in fields


def spelled(found, fields):
    name = "" if found["name"] == "." else found["name"]
    if found["low"] is None:
        return name
    return f"{name}[{found['low']}" + (f"-{found['high']}]" if found["high"] else "]")


def value(found, text):
    """The text in the field's form."""
    if found["form"]:
        return FORMS[found["form"]](text)
    if text in ("true", "false"):
        text = str(int(text == "true"))
    if found["bit"]:
        return str(int(text) >> int(found["bit"]) & 1)
    if found["factor"]:
        factor = float(found["factor"])
        return repr(float(text) * factor if found["operator"] == "x" else float(text) / factor)
    return text


def quarters(text):
    """UTC+01:30 in quarters of an hour; nan if it is unknown."""
    parts = re.fullmatch(r"UTC([+-])(\d\d):(\d\d)", text)
    return str(int(parts[1] + "1") * (int(parts[2]) * 4 + int(parts[3]) // 15)) if parts else "nan"


FORMS = {
    "days": lambda text: str((datetime.date.fromisoformat(text) - datetime.date(1970, 1, 1)).days),
    "integer": lambda text: str(int.from_bytes(bytes.fromhex(text), "little")),
    "quarters": quarters,
    "uuid": lambda text: text if "-" in text else f"0000{text}-0000-1000-8000-00805F9B34FB",
}
