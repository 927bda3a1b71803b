"""tables.py FOLDER OUTPUT SOURCE: writes Swift tables of the SIG's assigned numbers and of the formats of
characteristics.

FOLDER is the SIG's assigned_numbers, with gss beside it; OUTPUT is a folder that the script makes; SOURCE is the origin
of FOLDER, for the comment in the tables. The same files give the same tables. Unexpected content in the files is an
error: nothing is left out. OUTPUT/formats.txt lists the formats that the notation cannot express, and those that are
decided by hand. The formats that only specifications of services have are in service-formats.txt, written by hand.
"""

import re
import sys
from pathlib import Path

import formats
import yaml

# Each table: the name of its constant, the file, its title.
UUID_TABLES = [
    ("browseGroups", "browse_group_identifiers", "Browse group identifiers"),
    ("characteristics", "characteristic_uuids", "Characteristics"),
    ("declarations", "declarations", "Declarations of attributes"),
    ("descriptors", "descriptors", "Descriptors"),
    ("memberServices", "member_uuids", "UUIDs that members of the SIG have for services of their own"),
    ("meshProfiles", "mesh_profile_uuids", "Mesh profiles"),
    ("objectTypes", "object_types", "Object types"),
    ("organizationServices", "sdo_uuids", "UUIDs that other standards organizations have for their services"),
    ("protocols", "protocol_identifiers", "Protocol identifiers"),
    ("serviceClasses", "service_class", "Service classes and profiles of BR/EDR"),
    ("services", "service_uuids", "Services"),
    ("units", "units", "Units"),
]


def read(path, key, shape):
    """The list under `key`. Each member must have the keys of `shape`; those that end in a question mark are
    optional."""
    members = yaml.safe_load(path.read_text("utf-8"))[key]
    required = {name for name in shape if not name.endswith("?")}
    optional = {name[:-1] for name in shape if name.endswith("?")}
    for member in members:
        if not required <= set(member) <= required | optional:
            sys.exit(f"{path}: {member} does not have the expected keys")
    return members


def plain(name):
    """The name without typesetting, with single spaces."""
    name = re.sub(r"\\textsubscript\{([^}]*)\}", r"\1", name)
    return " ".join(name.split())


def check(path, number, limit, name):
    if not isinstance(number, int) or not 0 <= number <= limit:
        sys.exit(f"{path}: {number} is not a number up to {limit:#x}")
    if not name or "\\" in name or '"""' in name or not name.isprintable():
        sys.exit(f"{path}: {name!r} is not a name")


def numbers(path, members, key, limit):
    """Names by number. A number that was assigned twice has both names."""
    names = {}
    for member in members:
        number, name = member[key], plain(str(member["name"]))
        check(path, number, limit, name)
        names[number] = f"{names[number]} or {name}" if number in names else name
    return names


def appearances(path):
    """Names by appearance value: of the category or, for a value with a subcategory, of the subcategory."""
    names = {}
    for category in read(path, "appearance_values", ["category", "name", "subcategory?"]):
        check(path, category["category"], 0x3FF, category["name"])
        base = category["category"] << 6
        if base in names:
            sys.exit(f"{path}: category {category['category']:#x} occurs twice")
        names[base] = plain(category["name"])
        for subcategory in category.get("subcategory", []):
            check(path, subcategory["value"], 0x3F, subcategory["name"])
            value = base | subcategory["value"]
            if value in names:
                sys.exit(f"{path}: {value:#x} occurs twice")
            names[value] = plain(subcategory["name"])
    return names


def tables(folder):
    """Each table: its constant, its title, its names by number."""
    for constant, file, title in UUID_TABLES:
        path = folder / "uuids" / f"{file}.yaml"
        yield constant, title, numbers(path, read(path, "uuids", ["uuid", "name", "id?"]), "uuid", 0xFFFF)
    path = folder / "core" / "ad_types.yaml"
    members = read(path, "ad_types", ["value", "name", "reference?"])
    yield "advertisingDataTypes", "Types of advertising data", numbers(path, members, "value", 0xFF)
    path = folder / "core" / "appearance_values.yaml"
    yield "appearances", "Categories of appearance, and below each its subcategories", appearances(path)
    path = folder / "company_identifiers" / "company_identifiers.yaml"
    members = read(path, "company_identifiers", ["value", "name"])
    yield "companies", "Company identifiers", numbers(path, members, "value", 0xFFFF)


def identified(path):
    """UUIDs by identifier and by name, in lowercase."""
    members = read(path, "uuids", ["uuid", "name", "id"])
    return {member[key].lower(): member["uuid"] for key in ("name", "id") for member in members}


def format_lines(folder):
    """Lines by number of all formats, and the notes on them."""
    uuids = folder / "uuids"
    return formats.formats(
        folder.parent / "gss", identified(uuids / "characteristic_uuids.yaml"), identified(uuids / "units.yaml"))


def swift(constant, title, names, source):
    lines = "\n".join(f"        {number:04x} {names[number]}" for number in sorted(names))
    return f'''// Written by Scripts/assigned-numbers, from {source}.
// swift-format-ignore-file

extension NumberTable {{
    /// {title}: {len(names)}.
    static var {constant}: NumberTable {{
        NumberTable(#"""
{lines}

        """#)
    }}
}}
'''


def main():
    folder, output, source = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    output.mkdir(parents=True)
    for constant, title, names in tables(folder):
        path = output / f"NumberTable+{constant[0].upper()}{constant[1:]}.swift"
        path.write_text(swift(constant, title, names, source), "utf-8")
    lines, notes = format_lines(folder)
    own = Path(__file__).with_name("service-formats.txt")
    for line in own.read_text("utf-8").splitlines():
        if line.startswith("#"):
            continue
        number = int(line[:4], 16)
        if number in lines:
            sys.exit(f"{own}: {number:04x} is in the supplement, or occurs twice")
        lines[number] = line[5:]
    path = output / "NumberTable+Formats.swift"
    for number, line in lines.items():
        check(path, number, 0xFFFF, line)
    title = "Formats of characteristics, in the notation of Scripts/numbers/notation.py"
    path.write_text(swift("formats", title, lines, source), "utf-8")
    (output / "formats.txt").write_text("".join(f"{note}\n" for note in notes), "utf-8")


main()
