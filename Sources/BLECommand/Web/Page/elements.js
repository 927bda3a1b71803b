// Elements of the page. Text of peripherals is only ever set as text, never as HTML.

import { numberText, shown } from "./model.js";
import { linePoints, summary, timeTicks, valueRange, valueTicks } from "./plots.js";

/** Creates an element. Keys are properties, or attributes with a hyphen, or listeners such as `onclick`. */
export function element(name, keys = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(keys)) {
    if (key === "data") Object.assign(node.dataset, value);
    else if (key.includes("-") || key === "role") node.setAttribute(key, value);
    else node[key] = value;
  }
  node.append(...children);
  return node;
}

export function button(label, action, onclick, keys = {}) {
  return element("button", { type: "button", textContent: label, data: { action }, onclick, ...keys });
}

/** Sets a text if it differs, so that a selection and the layout stay. */
export function setText(node, value) {
  const next = shown(value);
  if (node.textContent !== next) node.textContent = next;
}

/** Creates an element for a name that a peripheral has chosen, whose direction does not affect what follows. */
export function isolated(value) {
  return element("bdi", { textContent: shown(value) });
}

export function download(name, type, content) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export const peripheralAddress = (id) => `#/peripheral/${encodeURIComponent(id)}`;

/** Makes an element equal to a new one. Equal parts stay, with their focus and listeners. */
function morph(old, next) {
  if (old.nodeType === Node.TEXT_NODE && next.nodeType === Node.TEXT_NODE) old.data = next.data;
  else if (!old.cloneNode(false).isEqualNode(next.cloneNode(false))) old.replaceWith(next);
  else morphChildren(old, [...next.childNodes]);
}

export function morphChildren(parent, next) {
  const old = [...parent.childNodes];
  for (const node of old.slice(next.length)) node.remove();
  next.forEach((node, index) => (index < old.length ? morph(old[index], node) : parent.append(node)));
}

/** Shows the rows of a small table. Cells are texts or elements. */
export function fillTable(table, rows) {
  const cell = (content, index) => {
    const className = table.tHead.rows[0].cells[index].className;
    return element("td", { className }, content instanceof Node ? content : shown(content));
  };
  morphChildren(table.tBodies[0], rows.map((cells) => element("tr", {}, ...cells.map(cell))));
  const empty = table.closest("section").querySelector(".empty");
  if (empty) empty.hidden = rows.length > 0;
}

const svg = "http://www.w3.org/2000/svg";

export function sparkline(width, height) {
  const image = document.createElementNS(svg, "svg");
  image.setAttribute("viewBox", `0 0 ${width} ${height}`);
  image.setAttribute("width", width);
  image.setAttribute("height", height);
  image.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(svg, "path");
  image.append(path);
  return { image, path };
}

// MARK: Long tables

/** The rows of a long table. Only those in view are in the document; all have the same height. */
export class LongTable {
  static #margin = 10;
  #made = new Map();
  #above;
  #below;
  #height = 36;

  /**
   * - key: returns what identifies an item.
   * - make: returns {row, ...parts} for an item.
   * - update: shows an item in its parts.
   */
  constructor(table, { key, make, update }) {
    Object.assign(this, { body: table.tBodies[0], key, make, update });
    this.container = table.closest(".scroll");
    const space = element("td", { colSpan: table.tHead.rows[0].cells.length });
    this.#above = element("tr", { className: "space", "aria-hidden": "true" }, space);
    this.#below = this.#above.cloneNode(true);
    this.body.append(this.#above, this.#below);
  }

  /** Shows the items in view. Those that were there are updated, unless the table stands still. */
  show(items, isStill = false) {
    const [first, end] = this.#range(items.length);
    const wanted = items.slice(first, end);
    this.#removeOthers(new Set(wanted.map(this.key)));
    const focused = document.activeElement;
    let place = this.#above.nextSibling;
    for (const item of wanted) {
      const isNew = !this.#made.has(this.key(item));
      const made = this.#madeFor(item);
      if (isNew || !isStill) this.update(made, item);
      if (made.row === place) place = place.nextSibling;
      else this.body.insertBefore(made.row, place);
    }
    // A row that moves loses the focus.
    if (focused !== document.activeElement && this.body.contains(focused)) focused.focus({ preventScroll: true });
    this.#measure(wanted);
    this.#setSpace(this.#above, first);
    this.#setSpace(this.#below, items.length - end);
  }

  #madeFor(item) {
    const key = this.key(item);
    if (!this.#made.has(key)) this.#made.set(key, this.make(item));
    return this.#made.get(key);
  }

  #removeOthers(keys) {
    for (const [key, made] of this.#made) {
      if (keys.has(key)) continue;
      made.row.remove();
      this.#made.delete(key);
    }
  }

  #measure(wanted) {
    if (wanted.length > 0) this.#height = this.#madeFor(wanted[0]).row.offsetHeight || this.#height;
  }

  #setSpace(row, count) {
    row.hidden = count === 0;
    row.firstChild.style.height = `${count * this.#height}px`;
  }

  #range(count) {
    const [body, container] = [this.body.getBoundingClientRect(), this.container.getBoundingClientRect()];
    const top = Math.max(container.top, 0) - body.top;
    const bottom = Math.min(container.bottom, window.innerHeight) - body.top;
    const first = Math.floor(top / this.#height) - LongTable.#margin;
    const end = Math.ceil(bottom / this.#height) + LongTable.#margin;
    return [Math.min(Math.max(first, 0), count), Math.min(Math.max(end, 2 * LongTable.#margin), count)];
  }
}

// MARK: Plots

const periods = [["1 min", 60], ["10 min", 600], ["1 h", 3600]];

function clockText(time, span) {
  const options = span > 86_400_000
    ? { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" }
    : { hour: "2-digit", minute: "2-digit", second: span < 600_000 ? "2-digit" : undefined };
  return new Date(time).toLocaleString("en", { ...options, hourCycle: "h23" });
}

/** A plot with its buttons. */
export class PlotFigure {
  #paused = null;
  #canvas;
  #caption = element("span", { className: "summary" });

  /** - range: {from, to} in milliseconds of a plot of the past; none for a live plot. */
  constructor(series, { range = null, onRemove = null } = {}) {
    Object.assign(this, { series, range, period: 60 });
    this.#canvas = element("canvas", { className: "plot", data: { field: series.field }, role: "img" });
    const tools = element("span", { className: "plot-tools" });
    if (!range) tools.append(this.#periods(), this.#pause());
    if (onRemove) tools.append(button("Remove", "remove", onRemove));
    this.element = element("figure", {},
      element("figcaption", {}, isolated(series.label), this.#caption, tools), this.#canvas);
  }

  #periods() {
    const options = periods.map(([label, seconds]) => element("option", { value: seconds, textContent: label }));
    return element("select", { "aria-label": "Period", onchange: (event) => {
      this.period = Number(event.target.value);
    } }, ...options);
  }

  #pause() {
    return button("Pause", "pause", ({ target }) => {
      const { times, values } = this.series;
      this.#paused = this.#paused ? null : { now: Date.now(), times: [...times], values: [...values] };
      target.textContent = this.#paused ? "Resume" : "Pause";
    });
  }

  draw(now) {
    const { top, bottom } = this.#canvas.getBoundingClientRect();
    if (bottom < 0 || top > window.innerHeight) return;
    const { times, values } = this.#paused ?? this.series;
    const to = this.range?.to ?? this.#paused?.now ?? now;
    const from = this.range?.from ?? to - this.period * 1000;
    const found = summary(times, values, from);
    const unit = this.series.unit ? ` ${this.series.unit}` : "";
    const told = found
      ? `min ${numberText(found.minimum)}, max ${numberText(found.maximum)}, last ${numberText(found.last)}${unit}`
      : "no values in this period";
    if (this.#caption.textContent !== told) {
      setText(this.#caption, told);
      this.#canvas.setAttribute("aria-label", shown(`${this.series.label}: ${told}`));
    }
    drawPlot(this.#canvas, times, values, from, to, found, this.series.longestPause);
  }
}

/** Returns the context of a canvas with one unit for each CSS pixel, cleared. */
function prepared(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const [columns, lines] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== columns) canvas.width = columns;
  if (canvas.height !== lines) canvas.height = lines;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

function drawPlot(canvas, times, values, from, to, found, longestPause) {
  const { context, width, height } = prepared(canvas);
  if (width < 80 || height < 40) return;
  const style = getComputedStyle(canvas);
  const color = (name) => style.getPropertyValue(name);
  const range = valueRange(found ?? { minimum: 0, maximum: 1 });
  const [left, right, top, bottom] = [52, width - 8, 8, height - 22];
  const x = (time) => left + ((time - from) / (to - from)) * (right - left);
  const y = (value) => bottom - ((value - range.minimum) / (range.maximum - range.minimum)) * (bottom - top);
  context.font = `11px ${style.fontFamily}`;
  context.lineWidth = 1;
  [context.strokeStyle, context.fillStyle] = [color("--line"), color("--muted")];
  [context.textAlign, context.textBaseline] = ["right", "middle"];
  for (const tick of found ? valueTicks(range.minimum, range.maximum, Math.max(2, height / 45)) : []) {
    line(context, left, Math.round(y(tick)) + 0.5, right, Math.round(y(tick)) + 0.5);
    context.fillText(numberText(tick), left - 6, y(tick));
  }
  [context.textAlign, context.textBaseline] = ["center", "alphabetic"];
  const offset = -new Date(to).getTimezoneOffset() * 60_000;
  for (const tick of timeTicks(from, to, Math.max(2, (right - left) / 110), offset)) {
    line(context, Math.round(x(tick)) + 0.5, top, Math.round(x(tick)) + 0.5, bottom);
    const label = clockText(tick, to - from);
    const half = context.measureText(label).width / 2;
    context.fillText(label, Math.min(Math.max(x(tick), half), width - half), height - 6);
  }
  drawLine(context, linePoints(times, values, from, to, right - left), x, y, color("--accent"), longestPause);
}

function line(context, fromX, fromY, toX, toY) {
  context.beginPath();
  context.moveTo(fromX, fromY);
  context.lineTo(toX, toY);
  context.stroke();
}

function drawLine(context, points, x, y, color, longestPause) {
  [context.strokeStyle, context.fillStyle, context.lineWidth] = [color, color, 1.5];
  // A pause much longer than the usual interval is a gap, not a straight line.
  const interval = points.length > 1 ? (points.at(-1)[0] - points[0][0]) / (points.length - 1) : 0;
  const longest = longestPause ?? Math.max(10 * interval, 10_000);
  context.beginPath();
  points.forEach(([time, value], index) => {
    const starts = index === 0 || time - points[index - 1][0] > longest;
    context[starts ? "moveTo" : "lineTo"](x(time), y(value));
  });
  context.stroke();
  if (points.length > 120) return;
  for (const [time, value] of points) context.fillRect(x(time) - 1.5, y(value) - 1.5, 3, 3);
}
