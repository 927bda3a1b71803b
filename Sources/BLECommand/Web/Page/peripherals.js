// The table of peripherals in range, and the view of one peripheral.

import {
  PeripheralTable, ageText, attributeArgument, fieldText, hexFrom, hexHandle, isRecord, list, numericFields, rssiOf,
  shown, sparklinePath, tableAsCSV, text,
} from "./model.js";
import { PlotBook } from "./plots.js";
import {
  LongTable, PlotFigure, button, download, element, isolated, morphChildren, peripheralAddress, setText, sparkline,
} from "./elements.js";
import { Command, Scan, errorText, run, whyReadOnly } from "./server.js";

export const plots = new PlotBook();
const table = new PeripheralTable();
/** The last known names, also of peripherals that do not advertise while they are connected. */
const names = new Map();
let heardAt = null;

/** Remembers a name, and forgets the one that was heard longest ago: private addresses come and go for days. */
function remember(id, name) {
  names.delete(id);
  names.set(id, name);
  if (names.size > PeripheralTable.capacity) names.delete(names.keys().next().value);
}

const scan = new Scan((line) => {
  const now = Date.now();
  heardAt = now;
  const row = table.apply(line, now);
  if (!row) return;
  if (row.name) remember(row.id, row.name);
  plots.addAdvertisement(row, rssiOf(line.rssi), now);
});

/** Returns the name of a peripheral, or its address. */
export const nameOf = (id) => names.get(id) ?? id;

/** Returns a button that adds a plot of a value of an advertisement. */
function plotButton(id, field, label, unit, title = "Plot") {
  const isPlotted = () => String(plots.get(id, field) !== undefined);
  const toggle = ({ currentTarget }) => {
    const series = plots.get(id, field);
    if (series) plots.remove(series);
    else if (!plots.follow(id, field, `${nameOf(id)}: ${label}`, unit)) currentTarget.title = "Too many plots";
    currentTarget.setAttribute("aria-pressed", isPlotted());
  };
  return button(title, "plot", toggle, {
    title: shown(`Plot ${label}`), "aria-pressed": isPlotted(), data: { action: "plot", id, field },
  });
}

/** Shows the decoded values of an advertisement. */
function updateValues(cell, row) {
  if (cell.shownFields === row.fields) return;
  cell.shownFields = row.fields;
  morphChildren(cell, row.fields.map((field) => {
    const chip = element("span", { className: "chip" }, isolated(`${field.name} ${fieldText(field)}`));
    if (typeof field.value === "number") chip.append(plotButton(row.id, field.key, field.key, field.unit));
    return chip;
  }));
}

// MARK: The table

export class PeripheralsView {
  #sort = "rssi";
  #descending = true;
  #rows = [];
  #sortedAt = 0;

  constructor(section) {
    this.section = section;
    const find = (selector) => section.querySelector(selector);
    Object.assign(this, {
      freeze: find("#freeze"), filter: find("#filter"), minimum: find("#minimum-rssi"),
      scanButton: find("[data-action=scan]"), showAll: find("[data-action=show-all]"),
      status: find(".status"), empty: find(".empty"),
    });
    this.long = new LongTable(find("table"), { key: (row) => row.id, make: makeRow, update: updateRow });
    this.scanButton.onclick = () => this.#toggleScan();
    find("[data-action=hide]").onclick = () => this.#filterBy(() => table.hidePresent());
    this.showAll.onclick = () => this.#filterBy(() => table.showAll());
    find("[data-action=csv]").onclick = () =>
      download("peripherals.csv", "text/csv", tableAsCSV(this.#rows, Date.now()));
    this.filter.oninput = () => this.#filterBy(() => {});
    this.minimum.oninput = () => this.#filterBy(() => {
      const value = Number(this.minimum.value);
      section.querySelector("output").textContent = value === -100 ? "any" : `${value} dBm`;
    });
    for (const head of section.querySelectorAll("th")) head.firstChild.onclick = () => this.#sortBy(head);
    this.#showOrder();
  }

  show() {
    scan.start();
  }

  draw(now) {
    table.removeSilent(now);
    // Rows change places at most once a second, so that they can be clicked.
    if (!this.freeze.checked && now - this.#sortedAt >= 1000) this.#select(now);
    this.long.show(this.#rows, this.freeze.checked);
    this.#showStatus(now);
  }

  #select(now) {
    this.#sortedAt = now;
    this.#rows = table.rows({
      sort: this.#sort, descending: this.#descending, filter: this.filter.value,
      minimumRSSI: Number(this.minimum.value),
    });
  }

  #filterBy(change) {
    change();
    this.#select(Date.now());
  }

  #sortBy(head) {
    const key = head.dataset.sort;
    this.#descending = key === this.#sort ? !this.#descending : key === "rssi";
    this.#sort = key;
    this.#showOrder();
    this.#filterBy(() => {});
  }

  #showOrder() {
    for (const head of this.section.querySelectorAll("th")) {
      const isSorted = head.dataset.sort === this.#sort;
      head.setAttribute("aria-sort", !isSorted ? "none" : this.#descending ? "descending" : "ascending");
    }
  }

  #toggleScan() {
    if (scan.isPaused) scan.start();
    else scan.pause();
  }

  #showStatus(now) {
    setText(this.scanButton, scan.isPaused ? "Scan" : "Pause");
    this.showAll.hidden = table.hiddenCount === 0;
    const parts = [`${this.#rows.length} of ${table.size}`];
    if (scan.isPaused) parts.push("paused");
    else if (heardAt === null) parts.push("no advertisement yet");
    else if (now - heardAt > 3000) parts.push(`last advertisement ${ageText((now - heardAt) / 1000)} ago`);
    if (scan.dropped > 0) parts.push(`${scan.dropped} lines dropped`);
    setText(this.status, parts.join(", "));
    setText(this.empty, scan.problem ?? (this.#rows.length > 0 ? "" : this.#reasonForNone()));
    this.empty.hidden = this.empty.textContent === "";
  }

  #reasonForNone() {
    if (table.size > 0) return "No peripheral passes the filters.";
    return scan.isPaused ? "Scanning is paused." : "No peripheral in range yet.";
  }
}

function makeRow(row) {
  const cell = (className, ...children) => element("td", { className }, ...children);
  const name = element("a", { href: peripheralAddress(row.id) }, isolated(""));
  const rssi = element("span");
  const { image, path } = sparkline(60, 20);
  const made = {
    name, rssi, path, address: cell("address"), age: cell("age number"), company: cell("company code"),
    services: cell("services code"), values: cell("values"),
  };
  const signal = cell("rssi number", image, rssi, plotButton(row.id, "rssi", "RSSI", "dBm"));
  made.row = element("tr", { data: { id: row.id } },
    cell("name", name), made.address, signal, made.age, made.company, made.services, made.values);
  return made;
}

function updateRow(made, row) {
  const now = Date.now();
  setText(made.name.firstChild, row.name ?? "(no name)");
  made.name.classList.toggle("muted", row.name === null);
  setText(made.address, row.address);
  setText(made.rssi, row.rssi === null ? "" : row.rssi);
  setText(made.age, ageText((now - row.heardAt) / 1000));
  setText(made.company, row.companies.join(" "));
  setText(made.services, row.services.join(" "));
  made.path.setAttribute("d", sparklinePath(row.signal.points(now), 60, 20));
  updateValues(made.values, row);
}

// MARK: A peripheral

/** Makes a button that requires the token. */
function guarded(button) {
  button.dataset.guarded = "";
  return button;
}

/** Disables the buttons that require the token if there is none, and says why. */
function applyGuards(root) {
  const reason = whyReadOnly();
  for (const button of root.querySelectorAll("[data-guarded]")) {
    button.disabled = reason !== null;
    button.title = reason ?? "";
  }
}

function valueText(line) {
  return text(line.decoded) || (text(line.error) ? `(${line.error})` : "");
}

/** Shows a value: its bytes, and what they mean. */
function showValue(node, line) {
  if (!("value" in line) && !line.error) return;
  node.hidden = false;
  const parts = [element("code", { textContent: shown(line.value) }), " ", isolated(valueText(line))];
  node.replaceChildren(...parts);
}

function tell(node, told) {
  node.hidden = false;
  setText(node, told);
}

function showFailure(node, message) {
  node.hidden = false;
  node.replaceChildren(element("span", { className: "failure", textContent: shown(message) }));
}

/** Runs a command, and shows in a node what it tells, and why it fails. */
async function attempt(node, words, onLines) {
  try {
    onLines(await run(words, (told) => tell(node, told)));
  } catch (error) {
    showFailure(node, error.message);
  }
}

/** A characteristic in the tree, with its buttons, its value, and its plots. */
class CharacteristicItem {
  #subscription = null;
  /** The last notified value, which is shown with the next drawing: values may arrive much faster. */
  #latest = null;
  #figures = new Map();
  #value = element("p", { className: "value", hidden: true, "aria-live": "polite" });
  #plots = element("div", { className: "plots" });
  #descriptors = element("ul");
  #subscribeButton = null;

  constructor(id, characteristic) {
    this.id = id;
    this.argument = attributeArgument(characteristic);
    this.title = text(characteristic.name) || text(characteristic.uuid);
    const properties = list(characteristic.properties).map(text);
    const tools = element("span", { className: "tools" });
    if (properties.includes("read")) tools.append(button("Read", "read", () => this.#read()));
    if (properties.some((name) => name === "notify" || name === "indicate")) {
      this.#subscribeButton = guarded(button("Subscribe", "subscribe", () => this.#toggle()));
      tools.append(this.#subscribeButton);
    }
    const writes = properties.filter((name) => name.startsWith("write"));
    this.element = element("li", { data: { uuid: text(characteristic.uuid), argument: this.argument } },
      attributeHead(characteristic, properties.join(", ")), tools, this.#value, this.#plots, this.#descriptors);
    if (writes.length > 0) tools.after(this.#writer(writes));
  }

  /** Shows the values that an inspection has read. */
  update(characteristic) {
    showValue(this.#value, characteristic);
    this.#descriptors.replaceChildren(...list(characteristic.descriptors).filter(isRecord).map(descriptorItem));
  }

  draw(now) {
    if (this.#latest) showValue(this.#value, this.#latest);
    this.#latest = null;
    for (const figure of this.#figures.values()) figure.draw(now);
  }

  stop() {
    this.#subscription?.close();
    this.#ended();
  }

  #read() {
    attempt(this.#value, ["read", this.id, this.argument], (lines) => showValue(this.#value, lines.at(-1) ?? {}));
  }

  // MARK: Subscription

  #toggle() {
    if (this.#subscription) return this.stop();
    this.#subscription = new Command(["notify", this.id, this.argument], {
      onLine: (line) => this.#receive(line),
      onEnd: ({ error }) => {
        this.#ended();
        if (error) showFailure(this.#value, errorText(error));
      },
    });
    setText(this.#subscribeButton, "Unsubscribe");
    // A screen reader must not read each of many values.
    this.#value.setAttribute("aria-live", "off");
  }

  #ended() {
    this.#subscription = null;
    this.#value.setAttribute("aria-live", "polite");
    if (this.#subscribeButton) setText(this.#subscribeButton, "Subscribe");
  }

  #receive(line) {
    if (typeof line.note === "string") return tell(this.#value, line.note);
    if (!("value" in line)) return;
    this.#latest = line;
    for (const { name, value, unit } of numericFields(line.fields)) {
      if (!this.#figures.has(name)) this.#addPlot(name, unit);
      this.#figures.get(name)?.series.add(Date.now(), value);
    }
  }

  #addPlot(name, unit) {
    const field = `${this.title} ${this.argument} ${name}`;
    const series = plots.follow(this.id, field, `${nameOf(this.id)}: ${name || this.title}`, unit);
    if (!series) return;
    const figure = new PlotFigure(series);
    this.#figures.set(name, figure);
    this.#plots.append(figure.element);
  }

  // MARK: Writing

  #writer(properties) {
    const input = element("input", { type: "text", "aria-label": "Value to write", placeholder: "00ff", size: 12 });
    const kind = element("select", { "aria-label": "Form of the value" },
      ...["Hex", "Text"].map((name) => element("option", { textContent: name })));
    const noResponse = element("input", {
      type: "checkbox", checked: !properties.includes("write"), disabled: properties.length === 1,
    });
    const form = element("form", { className: "tools" }, input, kind,
      element("label", {}, noResponse, " Without response"),
      guarded(button("Write", "write", null, { type: "submit" })));
    form.onsubmit = (event) => {
      event.preventDefault();
      this.#write(input.value, kind.value === "Text", noResponse.checked);
    };
    return form;
  }

  #write(input, isText, isWithoutResponse) {
    const hex = hexFrom(input, isText);
    if (hex === null) return showFailure(this.#value, "Enter 1 to 512 bytes, two hexadecimal digits each.");
    const options = isWithoutResponse ? ["--without-response"] : [];
    attempt(this.#value, ["write", ...options, this.id, this.argument, hex], () =>
      tell(this.#value, `Wrote ${hex}`));
  }
}

function attributeHead(attribute, properties = "") {
  const head = element("span", { className: "head" },
    element("code", { className: "muted", textContent: hexHandle(attribute.handle) }), " ",
    element("strong", {}, isolated(text(attribute.name) || "Unknown")), " ",
    element("code", { textContent: shown(attribute.uuid) }));
  if (properties) head.append(" ", element("span", { className: "muted", textContent: shown(properties) }));
  return head;
}

function descriptorItem(descriptor) {
  const value = element("span", { className: "value", hidden: true });
  showValue(value, descriptor);
  return element("li", {}, attributeHead(descriptor), " ", value);
}

/** A peripheral that was opened. Its link and its subscriptions stay when another view is shown. */
class OpenPeripheral {
  #link = null;
  #items = new Map();
  #isInspecting = false;
  #hasEvents = false;
  #state = element("span", { className: "status", role: "status" });
  #message = element("p", { className: "value", hidden: true, role: "status" });
  #tree = element("ul", { id: "tree" });
  #values = element("p", { className: "values" });
  #name = isolated("");
  #connect = button("Connect", "connect", () => (this.#link ? this.disconnect() : this.connect()));

  constructor(id) {
    this.id = id;
    const tools = element("div", { className: "tools" }, this.#connect,
      button("Values", "values", () => this.#inspect(true)),
      guarded(button("Pair", "pair", () => this.#act("pair"))),
      guarded(button("Unpair", "unpair", () => this.#act("unpair"))),
      plotButton(id, "rssi", "RSSI", "dBm", "Plot RSSI"), this.#state);
    this.root = element("div", {},
      element("p", {}, element("a", { href: "#/peripherals", textContent: "Peripherals" })),
      element("h1", {}, this.#name, " ", element("code", { textContent: shown(id) })),
      tools, this.#message, this.#values, this.#tree);
    this.connect();
  }

  connect() {
    setText(this.#connect, "Disconnect");
    setText(this.#state, "connecting");
    const link = new Command(["connect", this.id], {
      onLine: (line) => this.#receive(line),
      onEnd: ({ error }) => this.#ended(error),
    });
    this.#link = link;
    this.#hasEvents = false;
    // There are no events of a link that another command has established before.
    setTimeout(() => {
      if (this.#link !== link || this.#hasEvents) return;
      setText(this.#state, "connected");
      this.#inspect(false);
    }, 1500);
  }

  disconnect() {
    this.#link?.close();
    this.#ended(null);
  }

  draw(now) {
    setText(this.#name, names.get(this.id));
    const row = table.row(this.id);
    if (row) updateValues(this.#values, row);
    for (const item of this.#items.values()) item.draw(now);
  }

  #receive(line) {
    if (typeof line.event !== "string" || line.event === "dropped") return;
    this.#hasEvents = true;
    if (line.event === "connected" || line.event === "servicesChanged") this.#inspect(false);
    const retry = Number.isFinite(line.retryAfter) ? `again in ${Math.round(line.retryAfter * 10) / 10} s` : "";
    const parts = [line.event, text(line.message) || text(line.reason), retry];
    setText(this.#state, parts.filter((part) => part).join(", "));
  }

  #ended(error) {
    this.#link = null;
    for (const item of this.#items.values()) item.stop();
    setText(this.#connect, "Connect");
    setText(this.#state, error ? errorText(error) : "disconnected");
  }

  async #inspect(withValues) {
    if (this.#isInspecting) return;
    this.#isInspecting = true;
    tell(this.#message, withValues ? "Reading all values" : "Discovering services");
    await attempt(this.#message, ["inspect", ...(withValues ? ["--values"] : []), this.id], (lines) => {
      const services = list(lines.at(-1)?.services).filter(isRecord);
      this.#showServices(services);
      tell(this.#message, "No services");
      this.#message.hidden = services.length > 0;
    });
    this.#isInspecting = false;
  }

  /** Shows the tree. Characteristics that were there keep their subscriptions and plots. */
  #showServices(services) {
    const before = this.#items;
    this.#items = new Map();
    this.#tree.replaceChildren(...services.map((service) => {
      const items = list(service.characteristics).filter(isRecord).map((found) => this.#item(found, before));
      return element("li", { data: { uuid: text(service.uuid) } }, attributeHead(service),
        element("ul", {}, ...items.map((item) => item.element)));
    }));
    for (const [key, item] of before) if (!this.#items.has(key)) item.stop();
    applyGuards(this.#tree);
  }

  #item(characteristic, before) {
    const key = `${attributeArgument(characteristic)} ${characteristic.uuid} ${list(characteristic.properties)}`;
    const item = before.get(key) ?? new CharacteristicItem(this.id, characteristic);
    item.update(characteristic);
    this.#items.set(key, item);
    return item;
  }

  #act(verb) {
    tell(this.#message, verb === "pair" ? "Pairing" : "Unpairing");
    attempt(this.#message, [verb, this.id], ([line]) => {
      const told = verb === "pair" ? ["Paired.", "Not paired."] : ["No longer paired.", "Was not paired."];
      tell(this.#message, line?.paired || line?.wasPaired ? told[0] : told[1]);
    });
  }
}

export class PeripheralView {
  #open = new Map();
  #current = null;

  constructor(section) {
    this.section = section;
  }

  show(id) {
    scan.start();
    if (!this.#open.has(id)) this.#open.set(id, new OpenPeripheral(id));
    this.#current = this.#open.get(id);
    this.section.replaceChildren(this.#current.root);
    applyGuards(this.section);
  }

  draw(now) {
    this.#current?.draw(now);
  }
}
