import assert from "node:assert/strict";
import { test } from "node:test";
import { pageModule } from "./page.mjs";

const { PeripheralTable, Row, SignalHistory, advertisedFields, sparklinePath } = await pageModule("model.js");

const now = 1_800_000_000_000;
const line = (id, keys = {}) => ({ event: "updated", id, address: id, name: null, rssi: -60, services: [],
  manufacturerData: {}, serviceData: {}, formats: {}, ...keys });

function tableOf(...lines) {
  const table = new PeripheralTable();
  lines.forEach((one, index) => table.apply(one, now + index));
  return table;
}

const ids = (rows) => rows.map((row) => row.id);

test("rows are sorted, with unknown values last in both directions", () => {
  const table = tableOf(line("A", { rssi: -70 }), line("B", { rssi: null }), line("C", { rssi: -40 }));
  assert.deepEqual(ids(table.rows({ sort: "rssi", descending: true })), ["C", "A", "B"]);
  assert.deepEqual(ids(table.rows({ sort: "rssi", descending: false })), ["A", "C", "B"]);
  assert.deepEqual(ids(table.rows({ sort: "age", descending: false })), ["C", "B", "A"]);
});

test("equal rows keep their order", () => {
  const table = tableOf(line("B"), line("A"), line("C"));
  assert.deepEqual(ids(table.rows({ sort: "rssi" })), ["A", "B", "C"]);
});

test("a lost peripheral leaves the table, and a silent one after 60 s", () => {
  const table = tableOf(line("A"), line("B"), line("A", { event: "lost", rssi: null }));
  assert.deepEqual(ids(table.rows()), ["B"]);
  table.removeSilent(now + 60_000);
  assert.equal(table.size, 1);
  table.removeSilent(now + 60_002);
  assert.equal(table.size, 0);
});

test("what is there is hidden, also when it comes back, until all is shown", () => {
  const table = tableOf(line("A"), line("B"));
  table.hidePresent();
  table.apply(line("A", { event: "lost" }), now);
  table.apply(line("A"), now);
  table.apply(line("C"), now);
  assert.deepEqual(ids(table.rows()), ["C"]);
  table.showAll();
  assert.deepEqual(ids(table.rows()), ["A", "B", "C"]);
});

test("rows are filtered by text and by RSSI", () => {
  const ruuvi = { manufacturerData: { "0499": "05" }, formats: { RuuviTag: { temperatureCelsius: 21.5 } } };
  const table = tableOf(line("A", { name: "Strap" }), line("B", ruuvi), line("C", { rssi: -90 }));
  assert.deepEqual(ids(table.rows({ filter: " STRAP " })), ["A"]);
  assert.deepEqual(ids(table.rows({ filter: "0499" })), ["B"]);
  assert.deepEqual(ids(table.rows({ filter: "21.5 °C" })), ["B"]);
  assert.deepEqual(ids(table.rows({ minimumRSSI: -80 })), ["A", "B"]);
});

test("the number of rows is bounded, and the oldest goes first", () => {
  const table = new PeripheralTable();
  for (let index = 0; index <= PeripheralTable.capacity; index++) table.apply(line(`P${index}`), now + index);
  assert.equal(table.size, PeripheralTable.capacity);
  assert.equal(table.row("P0"), undefined);
});

test("values of the wrong type are ignored", () => {
  const table = new PeripheralTable();
  for (const wrong of [1, {}, null, [], "", undefined]) assert.equal(table.apply(line(wrong), now), null);
  const row = table.apply(
    line("A", { name: 5, rssi: "x", services: { a: 1 }, manufacturerData: [], formats: "x" }), now);
  assert.deepEqual([row.name, row.rssi, row.services, row.companies, row.fields], [null, null, [], [], []]);
  assert.equal(table.apply(line("A", { rssi: 127 }), now).rssi, null);
});

test("a later advertisement without a name does not remove it", () => {
  const row = new Row("A");
  row.update(line("A", { name: "Strap", services: ["180d"] }), now);
  row.update(line("A"), now);
  assert.deepEqual([row.name, row.services], ["Strap", ["180d"]]);
});

test("known formats have fields with units, and what is measured comes first", () => {
  const fields = advertisedFields({
    RuuviTag: { accelerationMilligravities: { x: 4 }, format: 5, temperatureCelsius: 24.3, txPower: 4 },
    BTHome: { isTriggerBased: false, objects: [
      { name: "temperature", value: 1, unit: "°C" }, { name: "temperature", value: 2, unit: "°C" }, "x" ] },
    Eddystone: { frame: "telemetry", telemetry: { uptimeDeciseconds: 20 } },
  });
  assert.deepEqual(fields.map((field) => [field.key, field.value, field.unit]), [
    ["RuuviTag temperature", 24.3, "°C"], ["RuuviTag acceleration x", 4, "mg"], ["RuuviTag tx power", 4, "dBm"],
    ["BTHome temperature", 1, "°C"], ["BTHome temperature #2", 2, "°C"], ["Eddystone telemetry uptime", 2, "s"],
  ]);
});

test("fields are bounded in number and depth", () => {
  const many = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`k${index}`, index]));
  assert.equal(advertisedFields({ X: many }).length, 64);
  let deep = { value: 1 };
  for (let level = 0; level < 100; level++) deep = { a: deep };
  assert.deepEqual(advertisedFields({ X: deep }), []);
});

test("the history of an RSSI is that of the last minute", () => {
  const history = new SignalHistory();
  history.add(-50, now);
  history.add(-60, now + 1000);
  history.add(-61, now + 1500);
  assert.deepEqual(history.points(now + 2000), [[2, -50], [1, -61]]);
  assert.deepEqual(history.points(now + 60_500), [[59, -61]]);
  assert.deepEqual(history.points(now + 200_000), []);
});

test("a sparkline has a gap where nothing was received", () => {
  const path = sparklinePath([[30, -50], [29, -50], [3, -60]], 60, 20);
  assert.equal(path.match(/M/g).length, 2);
  assert.equal(sparklinePath([], 60, 20), "");
});
