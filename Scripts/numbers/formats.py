"""Formats of characteristics, in the notation of notation.py, from the SIG's GATT Specification Supplement."""

import re
import sys
from fractions import Fraction

import yaml

import corrections
from notation import NOT_KNOWN, NOT_VALID, Field, Fields, Unsaid, name_of, number, numbered, plain

SECTION = r"\\autoref\{sec:org\.bluetooth\.characteristic\.([^}]*)\}"
RESERVED = re.compile(
    r"reserved for future use|^rfu\b|^reserved\b|^prohibited|^n/a$|^-$|^–$|defined by (the )?service", re.I)


def whole(value):
    """The number as an integer, rounded down."""
    return value.numerator // value.denominator


class Supplement:
    def __init__(self, folder, uuids, units):
        self.units = {key.removeprefix("org.bluetooth.unit."): value for key, value in units.items()}
        self.characteristics, self.uuids = {}, {}
        for path in sorted(folder.glob("*.yaml")):
            content = yaml.safe_load(path.read_text("utf-8"))["characteristic"]
            identifier = content["identifier"].removeprefix("org.bluetooth.characteristic.")
            self.characteristics[identifier] = content
            self.uuids[identifier] = uuids.get(content["identifier"].lower()) or uuids.get(plain(content["name"]).lower())
        self.notes, self.problems, self.used = [], [], set()

    def note(self, identifier, reason):
        line = f"{identifier}: {reason}"
        if line not in self.notes:
            self.notes.append(line)

    def formats(self):
        """Lines by number, of all formats that the notation can express."""
        lines = {}
        for identifier in self.characteristics:
            if self.uuids[identifier] is None:
                self.note(identifier, "left out: no UUID has been assigned")
                continue
            try:
                line = self.line(identifier)
            except Unsaid as reason:
                self.note(identifier, f"left out: {reason}")
                continue
            lines[self.uuids[identifier]] = line
        for key in corrections.FIELDS.keys() - self.used:
            self.problems.append(f"{key} no longer exists")
        if self.problems:
            sys.exit("\n".join(["decide these in corrections.py:", *self.problems]))
        return lines

    def line(self, identifier):
        fields = Fields()
        for member in self.characteristics[identifier]["structure"]:
            self.add(identifier, member, fields)
        last = len(fields) - 1
        if last > 0 and fields[last].name == "E2E-CRC" and fields[last - 1].kind == "x":
            self.note(identifier, f"in part: E2E-CRC, if there is one, is shown with {fields[last - 1].name}")
            del fields[last]
        for field in fields[:-1]:
            if field.kind in ("x", "t", "g", "b0") and not field.conditions:
                raise Unsaid(f"{field.name} is not the last and has no size")
            if field.kind.endswith("*"):
                self.note(identifier, f"in part: {field.name} takes all bytes that are left")
        shared = sum(int(field.kind[1:]) for field in fields if field.kind[0] == "%")
        if shared % 8:
            raise Unsaid(f"its parts of bytes are {shared} bits together")
        return ("*" if fields[0].name == "Size" else "") + "|".join(field.text() for field in fields)

    # --- one field ---

    def add(self, identifier, member, fields, conditions=()):
        """Adds the fields of a member of the structure: several if it has parts, or if its unit depends on other
        fields."""
        name, description = member["field"], str(member.get("description", ""))
        lines = [line.strip() for line in description.split("\n")]
        details = self.details(name, description)
        conditions = [*conditions, *self.conditions(description, fields)]
        kind = self.kind(member, description, details)
        if kind is None:
            parts = {plain(part["name"]).lower(): part for part in details.get("subfields", [])}
            for part in details["values"]:
                first = len(fields)
                self.add(identifier, {**part, "type": part["data_type"]}, fields, conditions)
                if plain(part["field"]).lower() in parts:
                    for field in fields[first:]:
                        self.enumerate(identifier, field, parts[plain(part["field"]).lower()])
            return
        field = Field(name, kind)
        field.conditions = conditions
        prose = str((details or {}).get("description", ""))
        if kind[0] in "usmfT%":
            self.describe(identifier, field, lines)
            if details and kind[0] in "us%":
                self.enumerate(identifier, field, details)
            self.describe(identifier, field, [line.strip() for line in prose.split("\n")])
        elif kind[0] == "b":
            self.name_bits(field, details, lines)
        for variant in self.variants(identifier, field, " ".join([*lines, prose]), fields):
            fields.append(self.corrected(identifier, variant))

    def corrected(self, identifier, field):
        correction = corrections.FIELDS.get((identifier, field.name))
        if correction:
            self.used.add((identifier, field.name))
            changes, reason = correction
            field.changed(changes)
            self.note(identifier, f"by hand, {field.name}: {reason}")
        if field.kind[0] == "x":
            self.note(identifier, f"in part: {field.name} is shown as bytes")
        return field

    def details(self, name, description):
        """The supplement's own section about a field, if it has one."""
        own = name.lower().replace(" ", "_")
        sections = [part for part in re.findall(SECTION, description) if "/field/" in part or "/subfield/" in part]
        for section in sorted(sections, key=lambda part: not part.endswith("/" + own)):
            owner, _, path = section.partition("/")
            wanted = path.split("/")[-1].replace("_", " ").lower()
            found = [
                part
                for top in self.characteristics[owner].get("fields", [])
                for part in [top, *top.get("subfields", [])]
                if plain(part["name"]).lower().replace("/", " ") == wanted
            ]
            if len(found) == 1:
                return found[0]
            tops = self.characteristics[owner].get("fields", [])
            starts = [top for top in tops if plain(top["name"]).lower().startswith(wanted.split(" and ")[0])]
            if len(starts or tops) == 1:
                return (starts or tops)[0]
            self.problems.append(f"{owner}: what is {section}?")
        return None

    def kind(self, member, description, details):
        """The type in the notation; None for a structure whose parts the supplement names."""
        size, published = plain(member["size"]), str(member["type"]).replace("\\", "").replace(" ", "")
        reference = self.reference(member, description)
        if reference:
            return reference
        if match := re.match(r"(uint|sint|int)(\d+)(\[.*\])?$", published):
            sign, bits = "u" if match[1] == "uint" else "s", int(match[2])
            if bits % 8:
                return f"%{bits}"
            if match[3]:
                return ("g2*" if "UUID" in str(details) else f"{sign}{bits // 8}*")
            return f"{sign}{bits // 8}"
        if match := re.match(r"medfloat(16|32)$", published):
            return f"m{int(match[1]) // 8}"
        if published == "float32":
            return "f4"
        if match := re.match(r"boolean\[(\d+)\]$", published):
            return f"b{int(match[1]) // 8}"
        if match := re.match(r"utf8s(\{(\d+)\})?$", published):
            return f"t{match[2]}" if match[2] else "z" if "Zero-terminated" in description else "t"
        if published == "gatt_uuid":
            return "g"
        if published in ("struct", "boolean[8][3]") and details and details.get("values") and "field" in details["values"][0]:
            return None
        if published in ("struct", "DeterminedbyUUID") and not re.match(r"\d+( or \d+)?$", size):
            return "x"
        if published == "struct":
            raise Unsaid(f"{plain(member['field'])} is a structure that is not described")
        raise Unsaid(f"{plain(member['field'])} has the type {published}")

    def reference(self, member, description):
        """The characteristic whose format a field has, according to its description."""
        like = re.search(
            r"(?:Refer to|Structure of the field matches|same as the format of)[^.]*?" + SECTION
            + "|See " + SECTION + " for the supported values", description)
        if not like:
            return None
        other = like[1] or like[2]
        content = self.characteristics.get(other)
        if content is None or "/" in other or self.uuids.get(other) is None:
            raise Unsaid(f"{plain(member['field'])} is like {other}, which is not there")
        size = plain(member["size"]).split(" or ")[-1]
        total = sum(int(plain(part["size"])) for part in content["structure"] if plain(part["size"]).isdigit())
        if size != str(total):
            raise Unsaid(f"{plain(member['field'])} has {size} bytes, and {other} has {total}")
        return f"@{self.uuids[other]:04x}"

    def conditions(self, description, fields):
        found = re.search(r"Present if (.*)", description)
        if not found:
            return []
        said, position = plain(found[1]).strip(" ."), fields.position
        if match := re.match(r"bits? (\d+)(?: and (\d+))? of (?:the )?(.*) field (?:is|are) set to ([01])$", said):
            return [f"{position(match[3])}.{bit}={match[4]}" for bit in (match[1], match[2]) if bit]
        if match := re.match(r"value of (.*) field is (\d+)$", said):
            return [f"{position(match[1])}=={match[2]}"]
        if match := re.match(r"(.*) field is not (\d+) \(", said):
            return [f"{position(match[1])}!{match[2]}"]
        if said.startswith("E2E-CRC Supported bit"):
            return ["left"]
        raise Unsaid(f"“present if {said}”")

    # --- numbers ---

    def describe(self, identifier, field, lines):
        """Takes unit, scale, range and special values from the lines about a number."""
        text = plain(" ".join(line for line in lines if not line.startswith("Present if")))
        units = re.findall(r"org\.bluetooth\.unit\.\s*([a-z_0-9.]+)", text)
        if units and not field.unit and len(set(units)) == 1:
            self.set_unit(field, units[0].rstrip("."))
        if not units and re.search("Unit: Seconds", text):
            field.unit = f"{self.units['time.second']:04x}"
        if match := re.search(r"M ?= ?(-? ?\d+), d ?= ?(-? ?\d+),? (?:and )?b ?= ?(-? ?\d+)", text):
            multiplier, decimal, binary = (int(part.replace(" ", "")) for part in match.groups())
            before = self.unit_exponent(units)
            field.scale = [multiplier, decimal + before, binary]
            self.check_resolution(identifier, field, Fraction(multiplier) * power(10, decimal) * power(2, binary), text)
        for line in [plain(line) for line in lines]:
            self.special(field, line)
        self.inline_choices(field, lines)
        if re.search(r"all other values are prohibited", text, re.I):
            self.set_range(identifier, field, text)

    def set_unit(self, field, unit):
        if unit in corrections.UNITS_WITHOUT_NUMBER:
            field.unit = "=" + corrections.UNITS_WITHOUT_NUMBER[unit]
            return
        name, exponent = corrections.UNIT_ALIASES.get(unit, (unit, 0))
        if name not in self.units:
            raise Unsaid(f"{field.name} has the unit {unit}, which is not assigned")
        if self.units[name] != 0x2700:
            field.unit = f"{self.units[name]:04x}"
        field.scale[1] += exponent

    def unit_exponent(self, units):
        return corrections.UNIT_ALIASES.get(units[0].rstrip("."), ("", 0))[1] if units else 0

    def check_resolution(self, identifier, field, scale, text):
        """Compares the resolution in words with the one in numbers."""
        match = re.search(r"resolution of (?:1/(\d+)|(\d+(?:\.\d+)?)(?![\d/]))|Unit is 1/(\d+)", text)
        if not match:
            return
        said = 1 / Fraction(match[1] or match[3]) if match[1] or match[3] else Fraction(match[2])
        if said != scale and (identifier, field.name) not in corrections.FIELDS:
            if (identifier, field.name) not in corrections.RESOLUTIONS:
                self.problems.append(f"{identifier}: {field.name} has a resolution of {said} in words and {scale} in numbers")

    def special(self, field, line):
        count = field.count
        if not count:
            return
        match = re.search(
            r"(?:(?:[Aa]|The) (?:raw )?value of|special value of) (0x[0-9A-Fa-f]+|-?\d+)(?: for [A-Za-z ]+?)?:? "
            r"(?:represents:?|means(?: that)?|indicates(?: that)?|is used when)(.*)", line)
        pairs = [(match[1], match[2])] if match else re.findall(r"defined: (\d+) = (.*)", line)
        for value, name in pairs:
            quoted = re.match(r"""\s*["'](.*)["']""", name)
            name = name_of(quoted[1] if quoted else re.split(r"\. ", name)[0])
            name = NOT_KNOWN if re.search("is not known$", name) else NOT_VALID if name == "value is not valid" else name
            field.specials[number(value)] = name

    def inline_choices(self, field, lines):
        """The values that the lines name."""
        found = [re.match(r"(0x[0-9A-Fa-f]+|\d+)\s*[:=]\s+(.+)", plain(line)) for line in lines]
        found = [(number(match[1]), name_of(match[2])) for match in found if match]
        is_range = re.compile(r"(0x[0-9A-Fa-f]+|\d+) ?(-|to) ?(0x[0-9A-Fa-f]+|\d+)\s*:")
        ranges = [line for line in map(plain, lines) if is_range.match(line)]
        if any(not RESERVED.search(line.split(":", 1)[1].strip()) for line in ranges):
            field.specials.update({value: name for value, name in found if not RESERVED.search(name)})
        elif len(found) > 1:
            field.choices.update({value: name for value, name in found if not RESERVED.search(name)})

    def set_range(self, identifier, field, text):
        match = re.search(r"Allowed range is:? (-?[\d.]+) to (-?\d+(?:\.\d+)?)", text)
        low, high = match.groups() if match else (None, None)
        if not match:
            low = re.search(r"Minimum(?: value)?(?: is)?:? (-?[\d.]+)", text)
            high = re.search(r"Maximum(?: value)?(?: is)?:? (-?\d+(?:\.\d+)?)", text)
            if not low or not high:
                raise Unsaid(f"{field.name} has prohibited values, but which?")
            low, high = low[1], high[1]
        multiplier, decimal, binary = field.scale
        scale = Fraction(multiplier) * power(10, decimal) * power(2, binary)
        low, high = (whole(Fraction(end.rstrip(".")) / scale) for end in (low, high))
        bits = 8 * field.count
        limits = (0, (1 << bits) - 1) if field.kind[0] != "s" else (-(1 << bits - 1), (1 << bits - 1) - 1)
        if not limits[0] <= low <= high <= limits[1] and (identifier, field.name) not in corrections.FIELDS:
            self.problems.append(f"{identifier}: {field.name} cannot have the values {low} to {high}")
        field.range = (low, high)

    def enumerate(self, identifier, field, details):
        """Takes the names of values from a section's table."""
        singles, has_range = {}, False
        for row in details.get("values", []):
            key = next((key for key in ("value", "op_code_value") if key in row), None)
            if key is None:
                return
            value, name = plain(row[key]), row.get("name") or row.get("definition") or str(row["description"]).split("\n")[0]
            name = name_of(name)
            if match := re.match(r"(0x[0-9A-Fa-f]+|\d+) ?- ?(0x[0-9A-Fa-f]+|\d+)$", value):
                if name == "Prohibited":
                    field.range = (0, number(match[1]) - 1)
                elif not RESERVED.search(name) and field.name != "User ID":
                    has_range = True
                    self.describe(identifier, field, [str(row["description"])])
                elif field.name == "User ID":
                    has_range = True
            elif not re.match(r"(0x[0-9A-Fa-f]+|\d+)$", value):
                if not RESERVED.search(name):
                    return
            elif not RESERVED.search(name) and name:
                singles[number(value)] = name
        if has_range:
            field.specials.update(singles)
        else:
            field.choices.update(singles)

    def name_bits(self, field, details, lines):
        """Takes the names of bits from a section's table, or from the lines about the field."""
        width = 8 * int(field.kind[1:])
        tables = [details] if details else []
        if details and details.get("values") and "field" in details["values"][0]:
            tables = details["subfields"]
        rows = [
            (plain(row.get("bit", row.get("value", ""))), str(row["description"]))
            for table in tables
            for row in table.get("values", [])
        ]
        # In several octets, the bits of each may be counted from the first octet's first bit.
        if rows and all(re.match(r"\d+$", row[0]) and int(row[0]) >= width for row in rows):
            rows = [(str(int(position) % width), description) for position, description in rows]
        if not rows:
            rows = [match.groups() for match in (re.match(r"(\d+(?:-\d+)?): (.*)", plain(line)) for line in lines) if match]
        for position, description in rows:
            first, *rest = [plain(line) for line in description.split("\n")]
            if RESERVED.search(first):
                continue
            if not re.match(r"\d+(-\d+)?$", position):
                raise Unsaid(f"{field.name} has the bit {position}")
            first = name_of(re.sub("^If set to 1, then (the )?", "", first.split(". ")[0]))
            low, _, high = position.partition("-")
            if int(high or low) >= width:
                raise Unsaid(f"{field.name} has no bit {position}")
            if not high:
                field.bits.append((int(low), first))
                continue
            own = [re.match(r"Bit (\d+): (.*)", line) for line in rest]
            if any(own):
                field.bits += [(int(match[1]), f"{first}: {name_of(match[2])}") for match in own if match]
                continue
            choices = {}
            for match in (re.match(r"(0b[01]+|0x[0-9A-Fa-f]+|[01]{2}|\d+) ?[=:] ?(.*)", line) for line in rest):
                if match and not RESERVED.search(match[2]):
                    text = match[1]
                    value = int(text, 2) if re.match(r"[01]{2}$", text) else number(text)
                    choices[value] = name_of(match[2])
            field.bits.append((position, "^".join([first, *numbered(choices)])))

    def variants(self, identifier, field, text, fields):
        """One field for each unit, if the unit depends on a bit."""
        text = plain(text)
        if (identifier, field.name) in corrections.VARIANTS:
            variants, reason = corrections.VARIANTS[identifier, field.name]
            self.note(identifier, f"by hand, {field.name}: {reason}")
            return [field.copy().changed(changes) for changes in variants]
        either = re.findall(
            r"If bit (\d+) of (?:the )?(\w+) field is set to ([01]), [Uu]nit: org\.bluetooth\.unit\.([a-z_.]+)", text)
        if len(either) == 2:
            variants = []
            for bit, owner, value, unit in either:
                other = field.copy()
                other.conditions = [*other.conditions, f"{fields.position(owner)}.{bit}={value}"]
                self.set_unit(other, unit)
                variants.append(other)
            return variants
        match = re.search(
            r"in (kilogram|meter)s with (?:a )?resolution (?:of )?([\d.]+) if the bit (\d+) of the Flag field is 0 "
            r"or in (pound|inche)s with a resolution of ([\d.]+) if the bit \3 of the Flag field is 1", text)
        if not match:
            return [field]
        variants = []
        for value, (unit, resolution) in enumerate([(match[1], match[2]), (match[4], match[5])]):
            other = field.copy()
            other.conditions = [*other.conditions, f"{fields.position('Flags')}.{match[3]}={value}"]
            names = {"kilogram": "mass.kilogram", "meter": "length.metre", "pound": "mass.pound", "inche": "length.inch"}
            self.set_unit(other, names[unit])
            digits = len(resolution.partition(".")[2])
            other.scale = [int(Fraction(resolution) * 10**digits), -digits, 0]
            variants.append(other)
        return variants


def power(base, exponent):
    return Fraction(base) ** exponent


def formats(folder, uuids, units):
    """Lines by number, and notes on the formats that are left out, incomplete, or decided by hand."""
    supplement = Supplement(folder, uuids, units)
    lines = supplement.formats()
    return lines, supplement.notes
