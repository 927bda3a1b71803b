// The state of the page without a document, so that `node --test` can run it.
// All lines come from peripherals by way of the server: every type is checked before use.

export const maximumText = 300;

/** Returns a value as text for a cell, of at most 300 characters. */
export function shown(value) {
  if (value === null || value === undefined) return "";
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  if (text.length <= maximumText) return text;
  // The cut may not leave half of a surrogate pair.
  return text.slice(0, maximumText - 1).replace(/[\ud800-\udbff]$/, "") + "…";
}

export const isRecord = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
export const list = (value) => (Array.isArray(value) ? value : []);
export const text = (value) => (typeof value === "string" ? value : "");
const entries = (value) => (isRecord(value) ? Object.entries(value) : []);

/** Returns an RSSI in dBm, or null. 127 means "not available": Core Specification 5.4, volume 4, part E, 7.7.65.2. */
export function rssiOf(value) {
  return Number.isInteger(value) && value >= -128 && value < 127 ? value : null;
}

/** Returns a number without the noise of binary fractions. */
export function numberText(value) {
  return Number.isFinite(value) ? String(Number(value.toPrecision(7))) : "";
}

/** Returns a number of seconds as text. */
export function ageText(seconds) {
  if (!Number.isFinite(seconds)) return "";
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const [unit, symbol] = seconds < 120 ? [1, "s"] : seconds < 7200 ? [60, "min"] : [3600, "h"];
  return `${Math.round(seconds / unit)} ${symbol}`;
}

// MARK: Decoded values

const maximumFields = 64;
/** Units at the ends of names, as Docs/Values.md describes them, with a factor. */
const unitSuffixes = [
  ["Celsius", "°C", 1], ["Percent", "%", 1], ["Pascals", "Pa", 1], ["Millivolts", "mV", 1],
  ["Milligravities", "mg", 1], ["Deciseconds", "s", 0.1], ["Power", "dBm", 1],
];
const unitRank = (unit) => (["Pa", "%", "°C"].indexOf(unit) + 1) * -1;
const uninteresting = new Set(["address", "format", "frame", "isTriggerBased", "rest"]);

function words(name) {
  return name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase();
}

/** Returns a key's name, unit and factor: temperatureCelsius is "temperature" in °C. */
function nameAndUnit(key) {
  const found = unitSuffixes.find(([suffix]) => key.endsWith(suffix) && key.length > suffix.length);
  if (!found) return [words(key), "", 1];
  const [suffix, unit, factor] = found;
  // "txPower" keeps its last word, which is a quantity.
  return [words(suffix === "Power" ? key : key.slice(0, -suffix.length)), unit, factor];
}

function addFields(fields, content, prefix, unit, factor, depth) {
  for (const [key, value] of entries(content)) {
    if (fields.length >= maximumFields) return;
    if (uninteresting.has(key) || value === null) continue;
    const [name, ownUnit, ownFactor] = nameAndUnit(key);
    const [fieldUnit, fieldFactor] = [ownUnit || unit, ownFactor * factor];
    if (isRecord(value)) {
      if (depth < 3) addFields(fields, value, `${prefix}${name} `, fieldUnit, fieldFactor, depth + 1);
    } else {
      const scaled = typeof value === "number" ? value * fieldFactor : value;
      fields.push({ name: prefix + name, value: scaled, unit: fieldUnit });
    }
  }
}

function addObjects(fields, objects) {
  const counts = new Map();
  for (const object of objects) {
    if (fields.length >= maximumFields) return;
    if (!isRecord(object) || typeof object.name !== "string") continue;
    const count = (counts.get(object.name) ?? 0) + 1;
    counts.set(object.name, count);
    const name = count > 1 ? `${object.name} #${count}` : object.name;
    fields.push({ name, value: object.value, unit: text(object.unit) });
  }
}

/** Returns the fields of the known formats of an advertisement: {key, name, value, unit}. */
export function advertisedFields(formats) {
  const all = [];
  for (const [format, content] of entries(formats).slice(0, 8)) {
    const fields = [];
    if (isRecord(content) && Array.isArray(content.objects)) addObjects(fields, content.objects);
    else addFields(fields, content, "", "", 1, 0);
    // JSON has the fields in alphabetical order; what is measured comes first, where it is seen in a narrow column.
    if (!Array.isArray(content?.objects)) fields.sort((a, b) => unitRank(a.unit) - unitRank(b.unit));
    for (const field of fields) all.push({ ...field, key: `${format} ${field.name}` });
  }
  return all;
}

/** Returns the numbers among the fields of a characteristic's value, also of nested fields: {name, value, unit}. */
export function numericFields(fields, prefix = "", found = []) {
  for (const field of list(fields)) {
    if (!isRecord(field) || found.length >= maximumFields) continue;
    const name = prefix + text(field.name);
    if (Number.isFinite(field.value)) found.push({ name, value: field.value, unit: text(field.unit) });
    // The depth is that of the names, which a peripheral cannot choose.
    else if (Array.isArray(field.value) && prefix.length < 200) numericFields(field.value, `${name}: `, found);
  }
  return found;
}

export function fieldText(field) {
  const value = typeof field.value === "number" ? numberText(field.value) : shown(field.value);
  return field.unit ? `${value} ${field.unit}` : value;
}

// MARK: Characteristics and bytes

/** Returns what `ble` calls a characteristic or descriptor: its handle, or its UUID where there are no handles. */
export function attributeArgument(attribute) {
  const handle = attribute.handle;
  if (Number.isInteger(handle) && handle > 0 && handle <= 0xffff) return `@${hexHandle(handle)}`;
  return text(attribute.uuid);
}

export function hexHandle(handle) {
  return Number.isInteger(handle) ? handle.toString(16).padStart(4, "0") : "";
}

/** Returns bytes as `ble write` takes them, or null if the text is not hexadecimal or longer than an attribute. */
export function hexFrom(input, isText) {
  const hex = isText
    ? Array.from(new TextEncoder().encode(input), (byte) => byte.toString(16).padStart(2, "0")).join("")
    : input.replace(/(^|[\s:-])0x/gi, "").replace(/[\s:-]/g, "").toLowerCase();
  return /^([0-9a-f]{2}){1,512}$/.test(hex) ? hex : null;
}

// MARK: Peripherals

const signalSeconds = 60;

/** The last RSSI of each second of the last minute. */
export class SignalHistory {
  #points = [];

  add(rssi, now) {
    const second = Math.floor(now / 1000);
    const last = this.#points.at(-1);
    if (last?.[0] === second) last[1] = rssi;
    else this.#points.push([second, rssi]);
    if (this.#points.length > signalSeconds) this.#points.shift();
  }

  /** Returns [seconds ago, RSSI], the oldest first. */
  points(now) {
    const second = Math.floor(now / 1000);
    return this.#points.map(([then, rssi]) => [second - then, rssi]).filter(([age]) => age < signalSeconds);
  }
}

/** Returns the path of a sparkline. All have the same scale, -100 to -30 dBm, so that rows can be compared. */
export function sparklinePath(points, width, height) {
  let path = "";
  let previous = Infinity;
  for (const [age, rssi] of points) {
    const x = (width * (signalSeconds - 1 - age)) / (signalSeconds - 1);
    const y = height * (1 - (Math.min(Math.max(rssi, -100), -30) + 100) / 70);
    // More than 3 s without an advertisement is a gap.
    const starts = previous - age > 3;
    path += `${starts ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}${starts ? "h1" : ""}`;
    previous = age;
  }
  return path;
}

/** A row of the table: what the advertisements of a peripheral have said. */
export class Row {
  address = "";
  name = null;
  rssi = null;
  services = [];
  companies = [];
  formats = {};
  heardAt = 0;
  signal = new SignalHistory();
  #fields = null;
  #valuesText = null;

  constructor(id) {
    this.id = id;
  }

  update(line, now) {
    this.heardAt = now;
    this.address = text(line.address) || this.id;
    if (typeof line.name === "string" && line.name !== "") this.name = line.name;
    const rssi = rssiOf(line.rssi);
    if (rssi !== null) {
      this.rssi = rssi;
      this.signal.add(rssi, now);
    }
    // An advertisement may leave out what a scan response has: what was said stays.
    const services = list(line.services).filter((service) => typeof service === "string");
    if (services.length > 0) this.services = services.slice(0, maximumFields);
    const companies = entries(line.manufacturerData).map(([company]) => company);
    if (companies.length > 0) this.companies = companies.slice(0, maximumFields);
    if (entries(line.formats).length > 0) {
      this.formats = line.formats;
      [this.#fields, this.#valuesText] = [null, null];
    }
  }

  // Decoded when it is shown, not for each of thousands of advertisements a second.
  get fields() {
    return (this.#fields ??= advertisedFields(this.formats));
  }

  get valuesText() {
    return (this.#valuesText ??= this.fields.map((field) => `${field.name} ${fieldText(field)}`).join(", "));
  }

  contains(needle) {
    const parts = [this.name ?? "", this.address, ...this.companies, ...this.services, this.valuesText];
    return parts.some((part) => part.toLowerCase().includes(needle));
  }
}

const collator = new Intl.Collator("en", { sensitivity: "base" });
/** What each column is sorted by. Null is last in both directions. */
const sortKeys = {
  name: (row) => row.name,
  address: (row) => row.address,
  rssi: (row) => row.rssi,
  age: (row) => -row.heardAt,
  company: (row) => row.companies[0] ?? null,
  services: (row) => row.services[0] ?? null,
  values: (row) => row.valuesText || null,
};

function compareRows(a, b, key, descending) {
  const [left, right] = [sortKeys[key](a), sortKeys[key](b)];
  if (left === null || right === null) {
    if (left !== right) return left === null ? 1 : -1;
  } else {
    const order = typeof left === "number" ? left - right : collator.compare(left, right);
    if (order !== 0) return descending ? -order : order;
  }
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}

/** The peripherals in range: takes the lines of `ble scan`, and returns rows. */
export class PeripheralTable {
  static silence = 60_000;
  // Peripherals with a new address every few minutes must not fill the memory of the page.
  static capacity = 5000;
  #rows = new Map();
  #hidden = new Set();

  get size() {
    return this.#rows.size;
  }

  get hiddenCount() {
    return this.#hidden.size;
  }

  row(id) {
    return this.#rows.get(id);
  }

  /** Applies a line, and returns the row that it has changed, if any. */
  apply(line, now) {
    const id = text(line.id);
    if (id === "") return null;
    if (line.event === "lost") {
      this.#rows.delete(id);
      return null;
    }
    if (line.event !== "found" && line.event !== "updated") return null;
    let row = this.#rows.get(id);
    if (!row) {
      if (this.#rows.size >= PeripheralTable.capacity) this.#removeOldest();
      row = new Row(id);
      this.#rows.set(id, row);
    }
    row.update(line, now);
    return row;
  }

  removeSilent(now) {
    for (const [id, row] of this.#rows) {
      if (now - row.heardAt > PeripheralTable.silence) this.#rows.delete(id);
    }
  }

  hidePresent() {
    for (const id of this.#rows.keys()) this.#hidden.add(id);
  }

  showAll() {
    this.#hidden.clear();
  }

  /** Returns the rows that pass the filters, sorted. */
  rows({ sort = "rssi", descending = true, filter = "", minimumRSSI = -128 } = {}) {
    const needle = filter.trim().toLowerCase();
    const rows = [...this.#rows.values()].filter(
      (row) =>
        !this.#hidden.has(row.id) &&
        (minimumRSSI <= -100 || (row.rssi ?? -128) >= minimumRSSI) &&
        (needle === "" || row.contains(needle)));
    return rows.sort((a, b) => compareRows(a, b, sort, descending));
  }

  #removeOldest() {
    let oldest = null;
    for (const row of this.#rows.values()) if (!oldest || row.heardAt < oldest.heardAt) oldest = row;
    if (oldest) this.#rows.delete(oldest.id);
  }
}

// MARK: Log

/** The lines of all commands. Advertisements have half of the space, so that they do not displace all others. */
export class Log {
  static capacity = 5000;
  #advertisements = [];
  #others = [];
  count = 0;

  add(command, line, time) {
    const entries = command.startsWith("scan") ? this.#advertisements : this.#others;
    entries.push({ number: this.count++, time, command, line });
    if (entries.length > Log.capacity / 2) entries.shift();
  }

  /** Returns the entries, the oldest first. */
  entries() {
    return [...this.#others, ...this.#advertisements].sort((a, b) => a.number - b.number);
  }
}

export function entriesContaining(filter, entries) {
  const needle = filter.trim().toLowerCase();
  return needle === "" ? entries : entries.filter((entry) => searchText(entry).includes(needle));
}

// Made when a filter is used: most lines leave the log unread.
function searchText(entry) {
  return (entry.searchText ??= [entry.command, ...Object.values(describe(entry))].join(" ").toLowerCase());
}

function rawBytes(line) {
  if (typeof line.value === "string") return line.value;
  const data = [...entries(line.manufacturerData), ...entries(line.serviceData)];
  return data.map(([key, bytes]) => `${key}:${text(bytes)}`).join(" ");
}

/** Returns the columns of an entry of the log. */
export function describe({ line }) {
  const failure = isRecord(line.error) ? line.error : null;
  const event = text(line.event) || (failure ? "error" : "note" in line ? "note" : "prompt" in line ? "prompt" : "");
  const failureText = failure && [failure.message, failure.remedy].filter((part) => part).join(" ");
  const told = failureText || line.note || line.prompt || line.decoded || line.message || line.name || line.error;
  return {
    event: event || ("value" in line ? "value" : "result"),
    id: text(line.id) || text(failure?.peripheral),
    value: rawBytes(line),
    text: text(told) || (line.arguments ? "" : otherKeys(line)),
  };
}

function otherKeys(line) {
  const rest = { ...line };
  for (const key of ["version", "time", "event", "id", "value", "manufacturerData", "serviceData"]) delete rest[key];
  return JSON.stringify(rest);
}

// MARK: Export

/** Returns a cell of CSV. A text that a spreadsheet would take for a formula begins with an apostrophe. */
export function csvCell(value) {
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  let cell = value === null || value === undefined ? "" : String(value);
  // Spreadsheets skip white space and invisible characters before a formula, and accept full-width forms.
  if (/^[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠]|^[\t\r\n]/u.test(cell)) cell = `'${cell}`;
  return /[",\r\n;]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

export function csv(rows) {
  return rows.map((row) => row.map(csvCell).join(",") + "\r\n").join("");
}

export function logAsCSV(entries) {
  const head = ["time", "command", "event", "id", "value", "text"];
  const lines = entries.map((entry) => {
    const { event, id, value, text } = describe(entry);
    return [new Date(entry.time).toISOString(), entry.command, event, id, value, text];
  });
  return csv([head, ...lines]);
}

export function logAsJSONLines(entries) {
  return entries
    .map(({ time, command, line }) =>
      JSON.stringify({ received: new Date(time).toISOString(), command, line }) + "\n")
    .join("");
}

export function tableAsCSV(rows, now) {
  const head = ["address", "name", "rssi", "age", "companies", "services", "values"];
  const lines = rows.map((row) => [
    row.address, row.name, row.rssi, Math.round((now - row.heardAt) / 100) / 10,
    row.companies.join(" "), row.services.join(" "), row.valuesText,
  ]);
  return csv([head, ...lines]);
}

// MARK: Connection

/** Returns how many seconds to wait before an attempt, the first being 0. */
export function retryDelay(attempt) {
  return [1, 2, 5, 10][Math.min(attempt, 3)];
}

/** Returns the token of an address's fragment such as #token=…, or null. */
export function tokenIn(hash) {
  const token = new URLSearchParams(hash.replace(/^#/, "")).get("token");
  return token && /^[\x21-\x7e]{1,256}$/.test(token) ? token : null;
}
