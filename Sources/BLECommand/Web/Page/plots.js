// The points of plots, and their scales, without a document: `node --test` runs it.

/** The points of a plot, at most 3,600. Times are milliseconds since 1970. */
export class Series {
  static capacity = 3600;
  times = [];
  values = [];

  constructor(id, field, label, unit) {
    Object.assign(this, { id, field, label, unit });
  }

  get key() {
    return `${this.id} ${this.field}`;
  }

  /** Adds points of a history: `[second, value]`, or of several values `[second, average, minimum, maximum]`. */
  addIntervals(points, interval) {
    for (const point of points) {
      if (!Array.isArray(point)) continue;
      const [second, average, minimum, maximum] = point;
      for (const value of [minimum, maximum, average]) this.add(second * 1000, value);
    }
    // A value that stays the same is recorded once a minute.
    this.longestPause = Math.max(2 * interval, 150) * 1000;
  }

  add(time, value) {
    if (!Number.isFinite(value) || !Number.isFinite(time)) return;
    this.times.push(time);
    this.values.push(value);
    if (this.times.length > Series.capacity) {
      this.times.shift();
      this.values.shift();
    }
  }
}

/** Asks for the latest choice, one at a time: what was chosen meanwhile is asked for next, and only that is shown. */
export class LatestRequest {
  #choice = null;
  #isRunning = false;

  constructor(ask, show, fail) {
    Object.assign(this, { ask, show, fail });
  }

  /** Asks for a choice. Null for none. */
  async choose(choice) {
    this.#choice = choice;
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      while (this.#choice) await this.#askOnce();
    } finally {
      this.#isRunning = false;
    }
  }

  async #askOnce() {
    const asked = this.#choice;
    const [answer, error] = await this.ask(asked).then((answer) => [answer], (error) => [null, error]);
    if (asked !== this.#choice) return;
    this.#choice = null;
    if (error) return this.fail(error);
    try {
      this.show(asked, answer);
    } catch (error) {
      this.fail(error);
    }
  }
}

/** Returns minimum, maximum and last of the points from a time on, or null without points. */
export function summary(times, values, from) {
  let [minimum, maximum, last] = [Infinity, -Infinity, null];
  for (let index = 0; index < times.length; index++) {
    if (times[index] < from) continue;
    minimum = Math.min(minimum, values[index]);
    maximum = Math.max(maximum, values[index]);
    last = values[index];
  }
  return last === null ? null : { minimum, maximum, last };
}

/** All live plots, by peripheral and field. */
export class PlotBook {
  static capacity = 64;
  #series = new Map();
  /** Changes with each plot that is added or removed. */
  version = 0;

  /** Returns the plot of a field, a new one if there is room, or null. */
  follow(id, field, label, unit) {
    const existing = this.get(id, field);
    if (existing) return existing;
    if (this.all().length >= PlotBook.capacity) return null;
    if (!this.#series.has(id)) this.#series.set(id, new Map());
    const series = new Series(id, field, label, unit);
    this.#series.get(id).set(field, series);
    this.version++;
    return series;
  }

  get(id, field) {
    return this.#series.get(id)?.get(field);
  }

  all() {
    return [...this.#series.values()].flatMap((fields) => [...fields.values()]);
  }

  remove(series) {
    const fields = this.#series.get(series.id);
    if (fields?.delete(series.field)) this.version++;
    if (fields?.size === 0) this.#series.delete(series.id);
  }

  /** Adds what an advertisement says to the plots that follow it. */
  addAdvertisement(row, rssi, now) {
    const fields = this.#series.get(row.id);
    if (!fields) return;
    if (rssi !== null) fields.get("rssi")?.add(now, rssi);
    for (const field of row.fields) fields.get(field.key)?.add(now, field.value);
  }
}

/** Returns round numbers in a range, about as many as asked for. */
export function valueTicks(minimum, maximum, count) {
  const rough = (maximum - minimum) / Math.max(count, 1);
  if (!(rough > 0) || !Number.isFinite(rough)) return [];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
  const ticks = [];
  for (let index = Math.ceil(minimum / step); index * step <= maximum && ticks.length < 50; index++) {
    ticks.push(Number((index * step).toPrecision(12)));
  }
  return ticks;
}

const timeSteps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800];

/** Returns round times in a range of milliseconds, about as many as asked for. Offset is that of local time. */
export function timeTicks(from, to, count, offset = 0) {
  const rough = (to - from) / 1000 / Math.max(count, 1);
  if (!(rough > 0)) return [];
  const step = (timeSteps.find((step) => step >= rough) ?? Math.ceil(rough / 86400) * 86400) * 1000;
  const ticks = [];
  for (let time = Math.ceil((from + offset) / step) * step - offset; time <= to && ticks.length < 50; time += step) {
    ticks.push(time);
  }
  return ticks;
}

/** Returns the range of values of a plot, with room above and below. */
export function valueRange({ minimum, maximum }) {
  const room = (maximum - minimum) * 0.08 || Math.max(Math.abs(maximum) * 0.01, 0.5);
  return { minimum: minimum - room, maximum: maximum + room };
}

/** Returns the points of a line of a width in pixels: of each column at most the first, lowest, highest and last. */
export function linePoints(times, values, from, to, width) {
  const points = [];
  let [column, members] = [null, []];
  const flush = () => {
    if (members.length === 0) return;
    const sorted = [...members].sort((a, b) => values[a] - values[b]);
    const chosen = new Set([members[0], sorted[0], sorted.at(-1), members.at(-1)]);
    for (const index of [...chosen].sort((a, b) => a - b)) points.push([times[index], values[index]]);
    members = [];
  };
  for (let index = 0; index < times.length; index++) {
    if (times[index] < from || times[index] > to) continue;
    const next = Math.floor(((times[index] - from) / (to - from || 1)) * width);
    if (next !== column) flush();
    column = next;
    members.push(index);
  }
  flush();
  return points;
}
