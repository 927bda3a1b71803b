"""The notation for the format of a characteristic, one line, which ValueFormat+Table.swift reads.

Fields are separated by `|`, the properties of a field by `;`.
First come its type and its name:

    u2 s3 m2 m4 f4    an unsigned or signed integer, a medfloat, a float, of that many bytes; u2* as many as there are
    %4                that many bits of bytes that are shared with the neighboring fields, the least significant first
    b2 b0             bits with names, in that many bytes; in all remaining bytes
    t t16 z           text: all remaining bytes, that many bytes, up to a zero byte
    g g2 g2*          a UUID: of 2 or 16 bytes, of 2, as many as there are
    x x8              bytes: all remaining ones, that many
    a                 an appearance
    T                 1.1 to the power of a byte less 64
    @2a6e             the format of this characteristic

Then the other properties, each identified by its first character:

    ?0.3=1 ?0==2 ?2!0 there if bit 3 of field 0 is 1, if field 0 is 2, if field 2 is not 0; ? if any bytes are left
    #272f #=1/min     the unit, by its number or as it is written
    *5 e-3 p-6        times 5, ten to the power of -3, two to the power of -6
    [0,10000          any other number is prohibited, except special ones
    !ffff:?           special numbers (as bits) and their names: ? for "value is not known", - for "value is not valid"
    =0:a~b~7:c        names of numbers; a name without a number has the number after the last one
    &0:a~1-2:b^0:c^d  names of bits, and for a group of bits the names of its values

A line that begins with * describes a record whose first field is its size; the value has any number of records.
"""

import re

NOT_KNOWN, NOT_VALID = "?", "-"



def plain(text):
    """The text without typesetting, with ASCII dashes and quotes and single spaces."""
    text = re.sub(r"\\text(sub|super)script\{([^}]*)\}", r"\2", str(text))
    text = re.sub(r"\\[A-Za-z]+(\{[^}]*\})?", "", text)
    for fancy, simple in {"–": "-", "’": "'", "‘": "'", "“": '"', "”": '"'}.items():
        text = text.replace(fancy, simple)
    return " ".join(text.split())


def name_of(text):
    """A name that can stand in the notation."""
    return re.sub(r"[|~^]", "/", plain(text).replace(";", ",")).strip(" .:")


def number(text):
    return int(text, 0) if re.match(r"-?(0x|0b)?[0-9A-Fa-f]+$", text.strip()) else int(text)


class Fields(list):
    """The fields of a structure."""

    def position(self, name):
        for position, field in enumerate(self):
            if field.name == name:
                return position
        raise Unsaid(f"a field depends on {name}, which does not exist")


class Unsaid(Exception):
    """The notation cannot express a format; the message has the reason."""


class Field:
    """One field: its type and its other properties."""

    def __init__(self, name, kind):
        self.name, self.kind = name_of(name), kind
        self.conditions, self.unit, self.range = [], None, None
        self.scale = [1, 0, 0]
        self.specials, self.choices, self.bits = {}, {}, []

    def copy(self):
        other = Field(self.name, self.kind)
        other.__dict__.update({key: (value.copy() if hasattr(value, "copy") else value) for key, value in vars(self).items()})
        return other

    def changed(self, changes):
        self.__dict__.update(changes)
        return self

    @property
    def count(self):
        """The number of bytes; None if the field is not a number of fixed size."""
        match = re.match(r"[usm](\d+)$", self.kind)
        return int(match[1]) if match else 1 if self.kind == "T" else None

    def text(self):
        parts = [f"{self.kind} {self.name}"]
        if self.conditions:
            parts.append("?" + ",".join(condition for condition in self.conditions if condition != "left"))
        if self.unit:
            parts.append("#" + self.unit)
        parts += [sign + str(value) for sign, value, default in zip("*ep", self.scale, (1, 0, 0)) if value != default]
        if self.range:
            parts.append("[%d,%d" % self.range)
        if self.specials:
            mask = (1 << 8 * self.count) - 1
            parts.append("!" + "~".join(f"{value & mask:x}:{name}" for value, name in self.specials.items()))
        if self.choices:
            parts.append("=" + "~".join(numbered(self.choices)))
        if self.bits:
            parts.append("&" + "~".join(numbered(dict(self.bits))))
        return ";".join(parts)


def numbered(names):
    """Names, with the number if it is not the one after the last."""
    expected = None
    for value, name in sorted(names.items(), key=lambda item: int(str(item[0]).split("-")[0])):
        if value != expected or re.match(r"\d+(-\d+)?:", name):
            name = f"{value}:{name}"
        yield name
        expected = value + 1 if isinstance(value, int) else None
