"""A reader of values by the SIG's GATT Specification Supplement alone, from its YAML files.

The package bluetooth-sig contains the files; this module reads them without any code of that package, so that the
package's results can be compared with the published formats. `formats()` returns a Format for each characteristic;
`Format.read` the fields of a value, by their published names ("Time Stamp.Year" for the field of a structure);
`Format.make` random bytes that it can read.
"""

import datetime
import glob
import math
import os
import re
import struct
from fractions import Fraction

import bluetooth_sig
import yaml

ROOT = os.path.join(os.path.dirname(bluetooth_sig.__file__), "bluetooth_sig")
IDENTIFIER = "org.bluetooth.characteristic."
NUMBER = r"[-+]?\s*\d+(?:\.\d+)?"


WEIGHT = (Fraction(5, 1000), Fraction(1, 100))  # by bit 0 of the flags: kilograms or pounds
HEIGHT = (Fraction(1, 1000), Fraction(1, 10))  # metres or inches
# The meaning of raw numbers where the structure does not define it, or defines it twice.
# Tests/Tools/Differential/ValueDifferences.md has the reasons.
SCALES = {
    ("activity_goal", "Distance"): 1,
    ("body_composition_measurement", "Impedance"): Fraction(1, 10),
    ("cross_trainer_data", "Resistance Level"): 1,
    ("heart_rate_measurement", "Energy Expended"): 1,  # kilojoules
    ("heart_rate_measurement", "RR-interval"): Fraction(1, 1024),
    ("high_voltage", "High Voltage"): Fraction(1, 64),
    ("indoor_bike_data", "Resistance Level"): 1,
    ("rower_data", "Resistance Level"): 1,
    ("supported_resistance_level_range", "Minimum Resistance Level"): 1,
    ("supported_resistance_level_range", "Maximum Resistance Level"): 1,
    ("supported_resistance_level_range", "Minimum Increment"): 1,
    **{("body_composition_measurement", f"{name} Mass"): WEIGHT for name in ("Muscle", "Fat Free", "Soft Lean", "Body Water")},
    ("body_composition_measurement", "Weight"): WEIGHT,
    ("body_composition_measurement", "Height"): HEIGHT,
    ("treadmill_data", "Metabolic Equivalent"): Fraction(1, 10),
    ("weight_measurement", "Weight"): WEIGHT,
    ("weight_measurement", "Height"): HEIGHT,
    ("enhanced_intermediate_cuff_pressure", "Intermediate Cuff Pressure Value"): (1, 1),  # mmHg, or kPa
    # Units of which Assigned Numbers only has a fraction, such as a thousandth: mg/dL, mmol/L, L/s.
    ("glucose_measurement", "Glucose Concentration"): (100000, 100000, 100000, 100000, 1000, 1000, 1000, 1000),  # by bits 0 to 2
    ("kitchen_appliance_airflow", "Kitchen Appliance Airflow"): 1,
}
# Ranges of the raw numbers.
RAW_RANGES = [("cooking_zone_perceived_power", "Cooking Zone Perceived Power"), ("cosine_of_the_angle", "Cosine of the Angle")]
UUIDS = [("preferred_units", "Units"), ("blood_pressure_record", "UUID")]  # (numbers by their type)
TIME = ["Year", "Month", "Day", "Hours", "Minutes", "Seconds"]


class Unreadable(Exception):
    """The bytes are not a value of the format."""


class Special:
    """A raw number with a special meaning."""

    def __init__(self, raw):
        self.raw = raw

    def __eq__(self, other):
        return isinstance(other, Special) and other.raw == self.raw

    def __repr__(self):
        return f"special:{self.raw}"


def medfloat(raw, bits):
    """An IEEE 11073 number of 16 or 32 bits."""
    exponent_bits = 4 if bits == 16 else 8
    mantissa_bits = bits - exponent_bits
    mantissa = signed(raw & (1 << mantissa_bits) - 1, mantissa_bits)
    exponent = signed(raw >> mantissa_bits, exponent_bits)
    top = 1 << mantissa_bits - 1
    if exponent == 0 and mantissa in (top - 2, top - 1, -top, -top + 1, -top + 2):
        return Special(raw)
    return mantissa * Fraction(10) ** exponent


def signed(raw, bits):
    return raw - (1 << bits) if raw >> bits - 1 else raw


def clean(text):
    """Text without its LaTeX."""
    text = re.sub(r"\\text\w+\{(.*?)\}", r"\1", text)
    return text.replace("\\{", "{").replace("\\}", "}").replace("\u00a0", " ").strip()


class Field:
    """One row of a structure."""

    def __init__(self, characteristic, row):
        self.name = clean(row["field"])
        self.type = clean(row.get("type") or row["data_type"]).replace(" ", "")
        self.size = str(row["size"])
        self.text = row["description"].replace("“", '"').replace("”", '"').replace("‘", "'").replace("’", "'")
        self.characteristic = characteristic
        scale = SCALES.get((characteristic, self.name))
        self.scales = scale if isinstance(scale, tuple) else None
        self.factor = self._factor() if scale is None or self.scales else Fraction(scale)
        # The multiples of units that values are defined in: kilojoules and kilopascals, microteslas.
        if self.factor == 1000 and re.search(r"energy\.joule|pressure\.pascal", self.text):
            self.factor = Fraction(1)
        elif "tesla" in self.text:
            self.factor *= 1_000_000
        self.condition = self._condition()
        self.parts = self.table = self.foreign = None
        found = re.match(r"([us]?int|boolean\[|medfloat|float)(\d+)", self.type)
        self.kind, self.bits = (found[1].rstrip("["), int(found[2])) if found else (self.type, 0)
        self.kind = {"int": "sint"}.get(self.kind, self.kind)
        if "presence of this field is defined by the service" in self.text:
            self.size = "0"
        repeated = re.search(r"\[(n|\d+[–-]\d+)\]$", self.type)
        self.repeated = bool(repeated) and self.kind != "boolean"
        # A structure whose bytes are another characteristic's. (Some rows name the type instead and refer to the other
        # one.)
        reference = re.search(r"autoref\{sec:org\.bluetooth\.characteristic\.([^/}]+)\}", self.text)
        self.reference = reference[1] if reference and self.type == "struct" else None
        self.specials = {} if self.kind.startswith("medfloat") else self._specials()
        self.low, self.high = self._range()
        if (characteristic, self.name) in RAW_RANGES:
            self.low, self.high = self.low * self.factor, self.high * self.factor

    def _factor(self):
        found = re.search(r"M\s*=\s*([-+]?\s*\d+),\s*d\s*=\s*([-+]?\s*\d+),\s*(?:and\s*)?b\s*=\s*([-+]?\s*\d+)", self.text)
        if not found:
            return Fraction(1)
        m, d, b = (int(part.replace(" ", "")) for part in found.groups())
        return m * Fraction(10) ** d * Fraction(2) ** b

    def _condition(self):
        """The condition for this field to be present: an earlier field, its bits, and their required value; None for
        always."""
        found = re.search(r"Present if bits? (\d+)(?: and (\d+))? of (?:the )?(.+?) fields? (?:is|are) set to ([01])", self.text)
        if found:
            mask = sum(1 << int(bit) for bit in found.group(1, 2) if bit)
            return found[3], mask, mask if found[4] == "1" else 0
        found = re.search(r"Present if value of (.+?) field is (\d+)", self.text)
        if found:
            return found[1], None, int(found[2])
        found = re.search(r"Present if (.+?) field is not 0", self.text)
        if found:
            return found[1], None, "not zero"
        return ("", None, None) if "Present if" in self.text else None

    def _specials(self):
        found = re.findall(r"value of (0x[0-9A-Fa-f]+|-?\d+):?(?: for User ID)? (?:represents|means|indicates|is used)", self.text)
        # (an elapsed time's own zero is zero, and what is not reached is a number still)
        values = [int(number, 0) for number in found if not (self.characteristic == "time_exponential_8" and number == "0x00")]
        if self.bits and self.kind == "sint":
            values = [signed(value & (1 << self.bits) - 1, self.bits) for value in values]
        zero = re.search(r"special value is defined: 0 = ", self.text)
        return dict.fromkeys(values + ([0] if zero else []))

    def _range(self):
        text = self.text
        for pattern in (rf"Allowed range is:? ({NUMBER}) to ({NUMBER})", rf"Valid range (?:from |is )?({NUMBER})(?: \(\w+\))?(?: to |–)({NUMBER})"):
            found = re.search(pattern, text)
            if found:
                low, high = (Fraction(part.replace("+", "").replace(" ", "")) for part in found.groups())
                raw = "Valid range" in text
                return (low * self.factor, high * self.factor) if raw else (low, high)
        low = re.search(rf"Minimum(?: value)?(?: is)?:? ({NUMBER})", text)
        high = re.search(rf"Maximum(?: value)?(?: is)?:? ({NUMBER})", text)
        return (Fraction(low[1]), Fraction(high[1])) if low and high else (None, None)

    def number(self, raw, flags=0):
        """The number that a raw number stands for, after these flags."""
        factor = self.scales[(flags or 0) % len(self.scales)] if self.scales else self.factor
        if self.kind == "medfloat":
            value = medfloat(raw, self.bits)
            return value if isinstance(value, Special) else value * factor
        if self.characteristic == "time_exponential_8" and raw not in self.specials:
            return Fraction(11, 10) ** (raw - 64) if raw else Fraction(0)
        if self.kind == "float":
            value = struct.unpack("<f", raw.to_bytes(4, "little"))[0]
            return Fraction(value) if math.isfinite(value) else Special(raw)
        if self.kind == "sint":
            raw = signed(raw, self.bits)
        if raw in self.specials:
            return Special(raw)
        return raw * factor

    def known_bits(self):
        """The bits with a meaning; None if they are not listed."""
        known = 0
        for row in (self.table or {}).get("values") or []:
            found = re.fullmatch(r"(\d+)(?:\s*[–-]\s*(\d+))?", str(row.get("bit", "")).strip())
            if found and "Reserved" not in str(row.get("description")):
                for bit in range(int(found[1]), int(found[2] or found[1]) + 1):
                    known |= 1 << bit
        return known or None

    def bits_there(self, rest):
        """The number of its bits, with that many bytes left."""
        return 8 if self.characteristic == "alert_category_id_bit_mask" and self.short and rest == 1 else self.bits

    short = False

    @property
    def fixed(self):
        """The number of its bytes when it is present; None if that varies."""
        found = re.fullmatch(r"(?:0 or )?(\d+)", self.size.strip())
        return int(found[1]) if found else None


class Format:
    """The fields of a characteristic."""

    def __init__(self, document):
        self.identifier = document["identifier"][len(IDENTIFIER):]
        self.name = clean(document["name"])
        self.fields = [Field(self.identifier, row) for row in document["structure"]]
        tables = {clean(table["name"]).lower(): table for table in document.get("fields") or []}
        self.tables = tables
        for field in self.fields:
            link(field, tables, self.identifier)

    def read(self, data):
        """The fields of these bytes, name and value, in order."""
        reader = Reader(bytes(data))
        read_fields(self.fields, reader, "", {})
        if reader.rest and not any(field.name.lower().endswith("flags") for field in self.fields):
            raise Unreadable("long")
        if reader.rest and not any(field.condition for field in self.fields):
            raise Unreadable("long")
        return reader.values, reader.notes

    def make(self, rng, flags=None, force=None):
        """Random bytes of the format. Flags are random or given; numbers are within their ranges, or given by the
        field's name."""
        maker = Maker(rng, flags)
        maker.force = force or {}
        maker.fields(self.fields, {})
        return bytes(maker.data)


def link(field, tables, identifier):
    """Finds the parts of a structure that is defined beside the field, and the meanings of numbers."""
    table = tables.get(field.name.lower())
    if table is None and "/field/" in field.text:
        anchor = re.search(r"characteristic\.([^/}]+)/field/(.+?)\}", field.text)
        if anchor[1] == identifier:
            key = anchor[2]
            table = next((t for n, t in tables.items() if re.sub(r"[ ]", "_", n) == key), None)
        else:
            field.foreign = anchor[1], anchor[2]
    tell(field, table)
    if table is None or field.type not in ("struct", "boolean[8][3]"):
        return
    rows = [row for row in table.get("values") or [] if "field" in row and "data_type" in row]
    field.parts = [Field(field.characteristic, row) for row in rows] or None
    for part in field.parts or []:
        link(part, tables, identifier)


def tell(field, table):
    """Sets the table of a field's values."""
    field.table = table
    singles, ranges = listed(field)
    if ranges:
        field.specials.update(dict.fromkeys(singles))


class Reader:
    """Takes bytes, and the bits of a byte, from the front."""

    def number(self, field):
        return scaled_raw(field, self.take(field.bits), self.notes)

    def text(self, field):
        size = re.search(r"\{(\d+)\}", field.type)
        text = self.data[self.offset:]
        self.offset = len(self.data)
        if field.characteristic == "udi_for_medical_devices":  # (each ends with a zero byte)
            if b"\0" not in text:
                raise Unreadable("short")
            end = text.index(b"\0")
            self.offset -= len(text) - end - 1
            text = text[:end]
        if size and len(text) != int(size[1]):
            raise Unreadable("short" if len(text) < int(size[1]) else "long")
        try:
            return text.rstrip(b"\0").decode()
        except UnicodeDecodeError:
            raise Unreadable("text") from None

    def __init__(self, data):
        self.data, self.offset, self.bit, self.values, self.notes = data, 0, 0, [], set()

    @property
    def rest(self):
        return len(self.data) - self.offset

    def take(self, bits):
        if bits % 8 or self.bit:
            whole = int.from_bytes(self.data[self.offset:self.offset + 3], "little")
            if self.offset + (self.bit + bits + 7) // 8 > len(self.data):
                raise Unreadable("short")
            value = whole >> self.bit & (1 << bits) - 1
            self.bit += bits
            self.offset, self.bit = self.offset + self.bit // 8, self.bit % 8
            return value
        if self.rest < bits // 8:
            raise Unreadable("short")
        self.offset += bits // 8
        return int.from_bytes(self.data[self.offset - bits // 8:self.offset], "little")


def holds(condition, seen):
    name, mask, value = condition
    raw = seen.get(name.lower(), seen.get("flags"))
    if mask is not None and raw is not None:
        return raw & mask == value
    if raw is None:
        return None
    return raw != 0 if value == "not zero" else raw == value


def parts_of(field):
    """The fields of a structure; None if they are not described. A structure of one field is that field."""
    other = by_identifier(field.reference)
    parts = field.parts or (other.fields if other else None)
    return [renamed(parts[0], field.name)] if parts and len(parts) == 1 and field.type == "struct" else parts


def is_there(field, reader, seen):
    if field.size == "0":
        return False
    if field.condition is None:
        return "optional" not in field.text or reader.rest > 0
    present = holds(field.condition, seen)
    # (said elsewhere: there when bytes are left for it)
    return reader.rest >= (field.fixed or 1) if present is None else present


def read_fields(fields, reader, prefix, outer):
    seen = dict(outer)
    if [field.name for field in fields] == TIME:
        numbers = [int(reader.number(field)) for field in fields]
        try:
            datetime.datetime(*[number or 1 for number in numbers[:3]])
        except ValueError:  # (not in any month; what is out of range is noted already)
            reader.notes.add("reserved")
        reader.values.append((prefix.rstrip("."), "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}".format(*numbers)))
        return
    for field in fields:
        if not is_there(field, reader, seen):
            continue
        name = prefix + field.name
        parts = parts_of(field) if field.type == "struct" or field.parts else None
        if parts and field.size == "variable":
            index = 0
            while reader.rest or not index:
                end = reader.offset + (reader.data[reader.offset] if reader.rest else 1)
                if not reader.offset < end <= len(reader.data):
                    raise Unreadable("short")
                record = Reader(reader.data[reader.offset:end])
                read_fields(parts, record, f"Record[{index}].", {})
                reader.offset, index = end, index + 1
                reader.values += record.values
                reader.notes |= record.notes
        elif parts and (len(parts) > 1 or field.parts):
            read_fields(parts, reader, prefix if field.parts else name + ".", seen)
        elif parts:
            read_fields(parts, reader, prefix, seen)
        elif field.type.startswith("utf8s"):
            reader.values.append((name, reader.text(field)))
        elif field.repeated:
            index = 0
            while reader.rest:
                reader.values.append((f"{name}[{index}]", scaled(field, reader.take(field.bits), reader.notes)))
                index += 1
        elif field.type == "gatt_uuid":
            if reader.rest not in (2, 16):
                raise Unreadable("short" if reader.rest < 16 else "long")
            reader.values.append((name, uuid_text(reader.take(reader.rest * 8))))
        elif not field.bits:
            reader.values.append((name, reader.data[reader.offset:].hex()))
            reader.offset = len(reader.data)
        else:
            raw = reader.take(field.bits_there(reader.rest))
            seen[field.name.lower()] = raw
            reader.values.append((name, scaled(field, raw, reader.notes, seen.get("flags"))))


def uuid_text(raw):
    """A UUID of 16 or 128 bits in full."""
    digits = f"{raw:04X}".zfill(8) + "00001000800000805F9B34FB" if raw < 1 << 16 else f"{raw:032X}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def scaled(field, raw, notes, flags=0):
    if (field.characteristic, field.name) in UUIDS:
        return uuid_text(raw)
    if field.kind == "boolean" and field.known_bits() is not None and raw & ~field.known_bits():
        notes.add("reserved")
    value = field.number(raw, flags)
    if isinstance(value, Special):
        notes.add("special")
    elif field.low is not None:
        # (ranges are printed with fewer digits than the numbers have)
        slack = field.factor / 2
        if not field.low - slack <= value <= field.high + slack:
            if "prohibited" in field.text.lower():
                raise Unreadable("prohibited")
            notes.add("reserved")
    known = enumerated(field)
    if known and raw not in known:
        if any("Prohibited" in str(row) for row in (field.table or {}).get("values") or []):
            raise Unreadable("prohibited")
        notes.add("reserved")
    return value


def scaled_raw(field, raw, notes):
    """A part of a date or time, where 0 stands for an unknown one."""
    found = re.search(r"Valid range (\d+) (?:\(\w+\) )?to (\d+)", field.text)
    if raw == 0 and "not known" in field.text:
        notes.add("special")
    elif found and not int(found[1]) <= raw <= int(found[2]):
        notes.add("reserved")
    return raw


def renamed(field, name):
    """The only field of another characteristic, under the structure's name for it."""
    copy = Field.__new__(Field)
    copy.__dict__.update(field.__dict__)
    copy.name, copy.condition, copy.short = name, None, True
    return copy


class Maker:
    """Writes random values."""

    def __init__(self, rng, flags):
        self.rng, self.flags, self.force, self.data, self.bits = rng, flags, {}, bytearray(), []
        self.known = rng.random() < 0.8  # whether reserved bits stay 0

    def fields(self, fields, outer):
        seen = dict(outer)
        for field in fields:
            present = field.condition is None or holds(field.condition, seen)
            if field.size == "0" or not (self.rng.random() < 0.5 if present is None else present):
                continue
            parts = parts_of(field) if field.type == "struct" or field.parts else None
            if parts and field.size == "variable":
                for _ in range(self.rng.randint(1, 2)):
                    self.record(parts)
            elif parts:
                self.fields(parts, seen)
            elif field.type == "struct":
                self.data += self.rng.randbytes(self.rng.randint(0, 8))
            elif field.type.startswith("utf8s"):
                self.text(field)
            elif field.repeated:
                least = 1 if field.type.endswith("[1-256]") else 0
                for _ in range(self.rng.randint(least, 4)):
                    self.put(field, self.raw(field))
            elif field.type == "gatt_uuid":
                self.data += self.rng.randbytes(self.rng.choice((2, 16)))
            elif not field.bits:
                self.data += self.rng.randbytes(self.rng.randint(0, 8))
            else:
                raw = self.force.get(field.name)
                raw = self.raw(field) if raw is None else raw
                if field.kind == "boolean" and field.name not in self.force:
                    raw = self.flags if self.flags is not None and not seen else raw
                    raw &= field.known_bits() or raw if self.known else raw
                seen[field.name.lower()] = raw
                self.put(field, raw)

    def record(self, parts):
        """A structure whose first byte is its size."""
        start = len(self.data)
        self.fields(parts, {})
        self.data[start] = len(self.data) - start

    def text(self, field):
        size = re.search(r"\{(\d+)\}", field.type)
        text = "".join(self.rng.choice("aZ 9-äß°€😀") for _ in range(self.rng.randint(0, 12))).encode()
        if size:
            text = bytes(self.rng.choice(b"abcXYZ 019") for _ in range(int(size[1])))
        if field.characteristic == "udi_for_medical_devices":
            text += b"\0"
        self.data += text

    def put(self, field, raw):
        if field.bits % 8:
            self.bits += [raw >> bit & 1 for bit in range(field.bits)]
            while len(self.bits) >= 8:
                self.data.append(sum(bit << i for i, bit in enumerate(self.bits[:8])))
                del self.bits[:8]
        else:
            self.data += (raw & (1 << field.bits) - 1).to_bytes(field.bits // 8, "little")

    def raw(self, field):
        if field.specials and self.rng.random() < 0.03:
            return self.rng.choice(list(field.specials))
        if field.low is not None and field.kind in ("uint", "sint"):
            low, high = math.ceil(field.low / field.factor), math.floor(field.high / field.factor)
            return self.rng.randint(low, max(low, high))
        named = enumerated(field)
        if named:
            return self.rng.choice(named)
        if field.kind == "medfloat" and self.rng.random() < 0.8:  # of a size that instruments send
            exponent, mantissa = self.rng.choice((0, 0, -1, -2)), self.rng.randint(0, 300)
            bits = 12 if field.bits == 16 else 24
            return (exponent & (1 << field.bits - bits) - 1) << bits | mantissa
        return self.rng.getrandbits(field.bits)


def listed(field):
    """The single numbers that a list gives a meaning, and whether the list also has ranges: then the field is a
    quantity, and the single numbers are special."""
    if field.kind not in ("uint", "sint") or field.factor != 1:
        return [], False
    rows = (field.table or {}).get("values") or []
    rows = [(next((text for key, text in row.items() if key.endswith("value")), ""), str(row)) for row in rows]
    rows += re.findall(r"^(0x[0-9A-Fa-f]+|\d+(?:[–-]\d+)?): (.*)$", field.text, re.M)
    rows = [(str(number).strip(), text) for number, text in rows if not re.search("Reserved|RFU|Prohibited", text)]
    singles = [int(number, 0) for number, _ in rows if re.fullmatch(r"0x[0-9A-Fa-f]+|\d+", number)]
    # (a list of many has its ranges for what others may add)
    return singles, len(singles) < 4 and any(re.fullmatch(r"(0x)?[0-9A-Fa-f]+\s*(–|-|to)\s*(0x)?[0-9A-Fa-f]+", number) for number, _ in rows)


def enumerated(field):
    """The values that the supplement has names for, if it has a list of them."""
    singles, ranges = listed(field)
    return [] if ranges else singles


_formats = {}


def refer(field):
    """The meaning of a field's number, if its row names a number but refers to another characteristic for it."""
    found = re.search(r"Refer to .*?\{sec:org\.bluetooth\.characteristic\.([^/}]+)\}", field.text)
    other = by_identifier(found[1]) if found and field.kind in ("uint", "sint") else None
    if other and len(other.fields) == 1:
        meaning = other.fields[0]
        field.kind, field.specials, field.low, field.high = meaning.kind, meaning.specials, meaning.low, meaning.high
        field.table, field.text = field.table or meaning.table, meaning.text


def by_identifier(identifier):
    return _formats.get(identifier)


def formats():
    """Each characteristic's number, and its format."""
    if not _formats:
        for path in sorted(glob.glob(os.path.join(ROOT, "gss", "*.yaml"))):
            with open(path, encoding="utf-8") as file:
                made = Format(yaml.safe_load(file)["characteristic"])
            _formats[made.identifier] = made
        for made in _formats.values():
            for field in made.fields:
                refer(field)
                if field.foreign and field.kind == "uint":
                    other, name = field.foreign
                    tell(field, by_identifier(other).tables.get(name.replace("_", " ")))
    with open(os.path.join(ROOT, "assigned_numbers", "uuids", "characteristic_uuids.yaml"), encoding="utf-8") as file:
        numbers = yaml.safe_load(file)["uuids"]
    by_id = {entry["id"][len(IDENTIFIER):].lower(): entry["uuid"] for entry in numbers}
    by_name = {entry["name"].lower(): entry["uuid"] for entry in numbers}
    result = {}
    for made in _formats.values():
        number = by_id.get(made.identifier.lower(), by_name.get(made.name.lower()))
        if number is not None:
            result[f"{int(str(number), 0):04X}" if not isinstance(number, int) else f"{number:04X}"] = made
    return result
