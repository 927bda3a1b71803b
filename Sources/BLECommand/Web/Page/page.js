// The page: its views, and what moves them.

import {
  ageText, describe, entriesContaining, fieldText, isRecord, list, logAsCSV, logAsJSONLines, shown, text,
} from "./model.js";
import { LatestRequest, Series } from "./plots.js";
import {
  LongTable, PlotFigure, download, element, fillTable, isolated, peripheralAddress, setText,
} from "./elements.js";
import { adoptToken, connectionProblem, fetchJSON, fetchRecording, log, refreshAbout, run, server } from "./server.js";
import { PeripheralView, PeripheralsView, nameOf, plots } from "./peripherals.js";

const pollPeriod = 2000;
const drawPeriod = 250;
const aboutPeriod = 5000;

function peripheralLink(id) {
  return element("a", { href: peripheralAddress(id), className: "address" }, isolated(id));
}

const yesOrNo = (value) => (value ? "yes" : "no");

/** A view that asks the server again and again while it is shown. */
class PollingView {
  #polledAt = 0;
  #isPolling = false;

  constructor(section) {
    this.section = section;
    this.table = section.querySelector("table");
  }

  show() {
    this.#polledAt = 0;
  }

  draw(now) {
    if (this.#isPolling || now - this.#polledAt < pollPeriod) return;
    this.#polledAt = now;
    this.#isPolling = true;
    // Without an answer, the banner says so, and what was shown stays.
    this.poll().catch(() => {}).finally(() => (this.#isPolling = false));
  }
}

class DevicesView extends PollingView {
  #figure = null;
  #chosen = null;
  #hours = 24;
  #plots = new LatestRequest(
    ({ id, field, hours }) => fetchJSON(`history?${new URLSearchParams({ device: id, field, hours })}`),
    (choice, answer) => this.#showPlot(choice, answer),
    (error) => setText(this.history.querySelector(".status"), error.message),
  );

  constructor(section) {
    super(section);
    this.history = section.querySelector("#history");
    for (const choice of this.history.querySelectorAll("[data-hours]")) {
      choice.onclick = () => {
        this.#hours = Number(choice.dataset.hours);
        this.#showHistory();
      };
    }
    this.history.querySelector("[data-action=close]").onclick = () => this.#close();
  }

  async poll() {
    const { devices } = await fetchJSON("devices");
    fillTable(this.table, list(devices).filter(isRecord).map((device) => this.#cells(device)));
  }

  draw(now) {
    super.draw(now);
    this.#figure?.draw(now);
  }

  #cells(device) {
    const name = element("span", {}, isolated(device.name || device.id), " ");
    if (text(device.address)) name.append(peripheralLink(device.address));
    const states = [device.available ? "available" : "unavailable"];
    if (device.connected) states.push("connected");
    if (device.published === false) states.push("not published");
    const state = element("span", { className: device.available ? "good" : "bad", textContent: states.join(", ") });
    const values = Object.entries(isRecord(device.values) ? device.values : {}).filter(([, value]) => isRecord(value));
    const chips = values.map(([field, value]) => this.#chip(device, field, value));
    return [name, element("span", { className: "values" }, ...chips), state, ageText(device.age), device.rssi];
  }

  #chip(device, field, value) {
    const told = `${field.replaceAll("_", " ")} ${fieldText({ value: value.value, unit: text(value.unit) })}`;
    if (!server.about.history || typeof value.value !== "number") {
      return element("span", { className: "chip" }, isolated(told));
    }
    const id = text(device.id);
    const choose = () => {
      this.#chosen = { id, name: text(device.name) || id, field };
      this.#showHistory();
    };
    const keys = { type: "button", className: "chip", data: { action: "history", id, field }, onclick: choose };
    return element("button", keys, isolated(told));
  }

  #showHistory() {
    this.history.hidden = false;
    this.#figure = null;
    this.history.querySelector(".plots").replaceChildren();
    const { name, field } = this.#chosen;
    setText(this.history.querySelector("h2"), `${name}: ${field.replaceAll("_", " ")}`);
    for (const choice of this.history.querySelectorAll("[data-hours]")) {
      choice.setAttribute("aria-pressed", String(Number(choice.dataset.hours) === this.#hours));
    }
    setText(this.history.querySelector(".status"), "Loading");
    this.#plots.choose({ ...this.#chosen, hours: this.#hours });
  }

  #showPlot({ id, field, hours }, { points, unit, interval }) {
    const series = new Series(id, field, field, text(unit));
    series.addIntervals(list(points), interval);
    const now = Date.now();
    this.#figure = new PlotFigure(series, { range: { from: now - hours * 3_600_000, to: now } });
    this.history.querySelector(".plots").replaceChildren(this.#figure.element);
    setText(this.history.querySelector(".status"), "");
  }

  #close() {
    this.#plots.choose(null);
    this.#figure = null;
    this.history.hidden = true;
  }
}

class PlotsView {
  #figures = new Map();
  #version = -1;

  constructor(section) {
    this.container = section.querySelector(".plots");
    this.empty = section.querySelector(".empty");
  }

  show() {}

  draw(now) {
    if (this.#version !== plots.version) this.#update();
    for (const figure of this.#figures.values()) figure.draw(now);
  }

  #update() {
    this.#version = plots.version;
    const all = new Set(plots.all());
    for (const [series, figure] of this.#figures) {
      if (all.has(series)) continue;
      figure.element.remove();
      this.#figures.delete(series);
    }
    for (const series of all) {
      if (this.#figures.has(series)) continue;
      const figure = new PlotFigure(series, { onRemove: () => plots.remove(series) });
      this.#figures.set(series, figure);
      this.container.append(figure.element);
    }
    this.empty.hidden = all.size > 0;
  }
}

class LinksView extends PollingView {
  async poll() {
    const { links, statistics } = await fetchJSON("links");
    fillTable(this.table, list(links).filter(isRecord).map((link) => [
      isolated(link.name ?? nameOf(text(link.id))), peripheralLink(text(link.id)),
      link.connected ? "connected" : "not connected",
    ]));
    const pairs = statisticsPairs(statistics);
    this.section.querySelector("#statistics").replaceChildren(...pairs.flatMap(([name, value]) => [
      element("dt", { textContent: shown(name) }), element("dd", { textContent: shown(value) }),
    ]));
  }
}

/** Returns the names and numbers of statistics, which may have groups. */
function statisticsPairs(statistics, prefix = "") {
  return Object.entries(isRecord(statistics) ? statistics : {}).flatMap(([key, value]) => {
    const words = key.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
    const name = prefix ? `${prefix}${words}` : words[0]?.toUpperCase() + words.slice(1);
    return isRecord(value) && prefix.length < 100 ? statisticsPairs(value, `${name}: `) : [[name, value]];
  });
}

class RadiosView {
  constructor(section) {
    this.table = section.querySelector("table");
    this.status = section.querySelector(".status");
    section.querySelector("[data-action=refresh]").onclick = () => this.show();
  }

  async show() {
    setText(this.status, "Loading");
    try {
      const adapters = await run(["adapters"]);
      fillTable(this.table, adapters.map((line) => [
        line.adapter, line.address, isolated(line.name), line.powered ? "on" : "off", yesOrNo(line.discovering),
        yesOrNo(line.default),
      ]));
      setText(this.status, "");
    } catch (error) {
      setText(this.status, error.message);
    }
  }

  draw() {}
}

class LogView {
  #all = [];
  #entries = [];
  #count = -1;
  #filter = "";

  constructor(section) {
    const find = (selector) => section.querySelector(selector);
    this.paused = find("#pause-log");
    this.filter = find("#filter-log");
    this.status = find(".status");
    this.recording = find("#recording");
    this.long = new LongTable(find("table"), { key: (entry) => entry.number, make: logRow, update: () => {} });
    find("[data-action=csv]").onclick = () => download("log.csv", "text/csv", logAsCSV(this.#entries));
    find("[data-action=json]").onclick = () =>
      download("log.jsonl", "application/jsonl", logAsJSONLines(this.#entries));
    this.recording.onclick = () => this.#downloadRecording();
  }

  async #downloadRecording() {
    try {
      download("recording.btsnoop", "application/octet-stream", await fetchRecording());
      setText(this.recording, "btsnoop");
    } catch (error) {
      setText(this.recording, `btsnoop: ${error.message}`);
    }
  }

  show() {
    this.recording.hidden = !server.about.records;
  }

  draw() {
    const isNew = this.#count !== log.count && !this.paused.checked;
    if (isNew) [this.#count, this.#all] = [log.count, log.entries().reverse()];
    if (isNew || this.#filter !== this.filter.value) {
      this.#filter = this.filter.value;
      this.#entries = entriesContaining(this.#filter, this.#all);
    }
    this.long.show(this.#entries);
    setText(this.status, `${this.#entries.length} lines, the latest first`);
  }
}

function logRow(entry) {
  const { event, id, value, text } = describe(entry);
  const time = new Date(entry.time);
  const digits = { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 };
  const clock = time.toLocaleTimeString("en", { ...digits, hourCycle: "h23" });
  const cells = [
    element("td", { className: "code", textContent: clock }),
    element("td", { textContent: shown(entry.command) }),
    element("td", { textContent: shown(event), className: event === "error" ? "bad" : "" }),
    element("td", { className: "address", textContent: shown(id) }),
    element("td", { className: "code", textContent: shown(value) }),
    element("td", {}, isolated(text)),
  ];
  return { row: element("tr", {}, ...cells) };
}

// MARK: The frame

const section = (name) => document.getElementById(`view-${name}`);
const views = {
  devices: new DevicesView(section("devices")),
  peripherals: new PeripheralsView(section("peripherals")),
  peripheral: new PeripheralView(section("peripheral")),
  plots: new PlotsView(section("plots")),
  links: new LinksView(section("links")),
  radios: new RadiosView(section("radios")),
  log: new LogView(section("log")),
};
let current = null;
const visited = [];

/** Returns the view and its argument of an address such as #/peripheral/C4%3A7C…. */
function place() {
  const [, name = "", argument = ""] = location.hash.split("/");
  const first = server.about.gateway ? "devices" : "peripherals";
  try {
    if (!Object.hasOwn(views, name) || (name === "peripheral" && argument === "")) return [first, ""];
    return [name, decodeURIComponent(argument)];
  } catch {
    return [first, ""];
  }
}

function route() {
  adoptToken();
  const [name, argument] = place();
  if (!location.hash.startsWith(`#/${name}`)) history.replaceState(null, "", `#/${name}`);
  if (visited.at(-1) !== location.hash) visited.push(location.hash);
  if (current && current !== views[name]) {
    window.scrollTo(0, 0);
    // The link that was followed may be hidden now.
    if (!document.activeElement?.closest("nav")) document.getElementById("main").focus({ preventScroll: true });
  }
  current = views[name];
  for (const other of Object.keys(views)) section(other).hidden = other !== name;
  const tab = name === "peripheral" ? "peripherals" : name;
  for (const link of document.querySelectorAll("[data-view]")) {
    if (link.dataset.view === tab) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  current.show(argument);
}

/** Returns to the view before, without leaving the page. */
function goBack() {
  visited.pop();
  const previous = visited.pop();
  if (previous !== undefined) location.hash = previous || "#/";
  else location.hash = "#/";
}

function onKey(event) {
  if (event.key !== "Escape" || event.defaultPrevented) return;
  // In a field with text, Escape clears it.
  if (event.target.matches?.("input[type=search], input[type=text]") && event.target.value !== "") return;
  goBack();
}

function showAbout() {
  const { title, version, backend, gateway } = server.about;
  document.title = shown(title) || "ble web";
  setText(document.getElementById("title"), title ?? "ble web");
  setText(document.getElementById("about"), [version, backend].filter((part) => part).join(", "));
  document.querySelector("[data-view=devices]").hidden = !gateway;
}

function showBanner() {
  const banner = document.getElementById("banner");
  const problem = connectionProblem();
  banner.hidden = problem === null;
  setText(banner, problem ?? "");
}

function draw() {
  const now = Date.now();
  showBanner();
  current?.draw(now);
}

async function askAbout() {
  try {
    await refreshAbout();
    showAbout();
  } catch {
    // The banner says so.
  }
}

async function start() {
  adoptToken();
  // What the page shows depends on it, so the first answer is awaited.
  await askAbout();
  route();
  window.addEventListener("hashchange", route);
  document.addEventListener("keydown", onKey);
  document.addEventListener("scroll", () => requestAnimationFrame(draw), { capture: true, passive: true });
  setInterval(() => requestAnimationFrame(draw), drawPeriod);
  setInterval(askAbout, aboutPeriod);
}

start();
