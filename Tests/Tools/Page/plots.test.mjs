import assert from "node:assert/strict";
import { test } from "node:test";
import { pageModule } from "./page.mjs";

const { LatestRequest, PlotBook, Series, linePoints, summary, timeTicks, valueRange, valueTicks } = await pageModule("plots.js");

test("a plot keeps 3,600 points, and only numbers", () => {
  const series = new Series("A", "rssi", "RSSI", "dBm");
  for (const wrong of [NaN, Infinity, "5", null, undefined, {}]) series.add(0, wrong);
  assert.equal(series.times.length, 0);
  for (let index = 0; index < 4000; index++) series.add(index, index);
  assert.deepEqual([series.times.length, series.values[0], series.values.at(-1)], [3600, 400, 3999]);
});

test("a summary is that of the shown period", () => {
  assert.deepEqual(summary([1, 2, 3], [9, 1, 5], 2), { minimum: 1, maximum: 5, last: 5 });
  assert.equal(summary([1], [9], 2), null);
});

test("ticks are round numbers within the range", () => {
  assert.deepEqual(valueTicks(0, 10, 5), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(valueTicks(-0.35, 0.35, 4), [-0.2, 0, 0.2]);
  assert.deepEqual(valueTicks(5, 5, 4), []);
  assert.deepEqual(valueTicks(0, Infinity, 4), []);
  assert.deepEqual(timeTicks(500, 31_000, 3), [15_000, 30_000].filter((time) => time <= 31_000));
});

test("ticks of days are at midnight of local time", () => {
  const [hour, day] = [3_600_000, 86_400_000];
  assert.deepEqual(timeTicks(0, 2 * day, 2, hour), [day - hour, 2 * day - hour]);
});

test("the range of a constant is not empty", () => {
  for (const value of [0, 5, -1e9]) {
    const { minimum, maximum } = valueRange({ minimum: value, maximum: value });
    assert.ok(minimum < value && value < maximum);
  }
});

test("a line of many points keeps the extremes of each column", () => {
  const times = Array.from({ length: 3600 }, (_, index) => index);
  const values = times.map((time) => (time === 1234 ? 100 : time === 2345 ? -100 : 0));
  const points = linePoints(times, values, 0, 3600, 100);
  assert.ok(points.length <= 400);
  assert.ok(points.some(([time, value]) => time === 1234 && value === 100));
  assert.ok(points.some(([time, value]) => time === 2345 && value === -100));
  assert.deepEqual(points.map(([time]) => time), points.map(([time]) => time).sort((a, b) => a - b));
});

test("an advertisement adds to the plots that follow it", () => {
  const book = new PlotBook();
  const [rssi, temperature] = [book.follow("A", "rssi", "RSSI", "dBm"), book.follow("A", "R temperature", "T", "°C")];
  book.addAdvertisement({ id: "A", fields: [{ key: "R temperature", value: 21.5 }] }, -60, 1);
  book.addAdvertisement({ id: "B", fields: [] }, -70, 1);
  book.addAdvertisement({ id: "A", fields: [{ key: "R temperature", value: "x" }] }, null, 2);
  assert.deepEqual([rssi.values, temperature.values], [[-60], [21.5]]);
});

test("the number of plots is bounded, and a removed one makes room", () => {
  const book = new PlotBook();
  for (let index = 0; index < PlotBook.capacity; index++) assert.ok(book.follow(`P${index}`, "rssi", "", ""));
  assert.equal(book.follow("X", "rssi", "", ""), null);
  book.remove(book.get("P0", "rssi"));
  assert.ok(book.follow("X", "rssi", "", ""));
});

test("a history has the extremes of each interval, and its longest pause", () => {
  const series = new Series("A", "temperature", "temperature", "°C");
  series.addIntervals([[10, 4], [14, 5, 1, 9], "x", [18], null], 4);
  assert.deepEqual([series.times, series.values], [[10_000, 14_000, 14_000, 14_000], [4, 1, 9, 5]]);
  assert.equal(series.longestPause, 150_000);
  series.addIntervals([], 600);
  assert.equal(series.longestPause, 1_200_000);
});

test("of several choices, one is asked for at a time, and only the latest is shown", async () => {
  const [asked, shown] = [[], []];
  const request = new LatestRequest(
    (choice) => new Promise((answer, fail) => asked.push({ choice, answer, fail })),
    (choice, answer) => shown.push([choice, answer]),
    (error) => shown.push(error),
  );
  const settled = () => new Promise((done) => setTimeout(done));
  for (const choice of ["day", "week", "hour"]) request.choose(choice);
  assert.deepEqual(asked.map(({ choice }) => choice), ["day"]);
  asked[0].answer(1);
  await settled();
  assert.deepEqual([asked.map(({ choice }) => choice), shown], [["day", "hour"], []]);
  asked[1].answer(2);
  await settled();
  assert.deepEqual(shown, [["hour", 2]]);
  // A failure of one that is not wanted any more is not shown, and the next choice is asked for.
  request.choose("day");
  request.choose(null);
  asked[2].fail("late");
  await settled();
  request.choose("week");
  asked[3].fail("away");
  await settled();
  assert.deepEqual(shown, [["hour", 2], "away"]);
});
