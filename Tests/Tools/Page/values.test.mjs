import assert from "node:assert/strict";
import { test } from "node:test";
import { pageModule } from "./page.mjs";

const {
  Log, ageText, attributeArgument, csvCell, describe, entriesContaining, hexFrom, logAsCSV, logAsJSONLines,
  numericFields, retryDelay, shown, tokenIn,
} = await pageModule("model.js");

test("text for a cell has at most 300 characters, and no half of a pair", () => {
  assert.equal(shown("a".repeat(300)).length, 300);
  assert.equal(shown("a".repeat(301)), "a".repeat(299) + "…");
  assert.equal(shown("a".repeat(298) + "😀😀"), "a".repeat(298) + "…");
  assert.equal(shown(null), "");
  assert.equal(shown({ a: 1 }), '{"a":1}');
});

for (const text of ["=1+1", "+1", "-1", "@sum", " =1", "\t=1", "＝1", "\n1"]) {
  test(`a spreadsheet does not evaluate ${JSON.stringify(text)}`, () => {
    assert.match(csvCell(text), /^"?'/);
  });
}

test("cells of CSV are quoted where necessary, and numbers are numbers", () => {
  assert.equal(csvCell('a,"b"'), '"a,""b"""');
  assert.equal(csvCell("a\r\nb"), '"a\r\nb"');
  assert.equal(csvCell("plain"), "plain");
  assert.equal(csvCell(-60), "-60");
  assert.equal(csvCell(NaN), "");
  assert.equal(csvCell(null), "");
});

test("an age is in seconds, minutes or hours", () => {
  assert.deepEqual([0.25, 12.5, 119, 120, 7200, NaN].map(ageText), ["0.3 s", "13 s", "119 s", "2 min", "2 h", ""]);
});

test("bytes are hexadecimal, or text in UTF-8", () => {
  assert.equal(hexFrom("0xFF 01:2a", false), "ff012a");
  assert.equal(hexFrom("é", true), "c3a9");
  for (const wrong of ["", "f", "xx", "ff".repeat(513)]) assert.equal(hexFrom(wrong, false), null);
});

test("equal characteristics differ in their handles", () => {
  assert.equal(attributeArgument({ uuid: "2a19", handle: 14 }), "@000e");
  assert.equal(attributeArgument({ uuid: "2a19", handle: 0 }), "2a19");
  assert.equal(attributeArgument({ uuid: "2a19", handle: "1" }), "2a19");
});

test("numbers are found in nested fields, and nothing else is a number", () => {
  const fields = [
    { name: "Rate", value: 70, unit: "bpm" }, { name: "Flags", value: ["a"] }, { name: "Text", value: "5" }, null,
    { name: "Intervals", value: [{ name: "RR", value: 0.8, unit: "s" }] }, { name: "None", value: null },
  ];
  assert.deepEqual(numericFields(fields), [
    { name: "Rate", value: 70, unit: "bpm" }, { name: "Intervals: RR", value: 0.8, unit: "s" }]);
  assert.deepEqual(numericFields("x"), []);
});

test("the log keeps 5,000 lines, and advertisements do not displace others", () => {
  const log = new Log();
  log.add("read A 2a19", { value: "5a" }, 0);
  for (let index = 0; index < 9000; index++) log.add("scan --duplicates", { event: "updated", id: `P${index}` }, index);
  const entries = log.entries();
  assert.equal(entries.length, 2501);
  assert.equal(entries[0].line.value, "5a");
  assert.equal(entries.at(-1).line.id, "P8999");
  for (let index = 0; index < 9000; index++) log.add("notify A 2a37", { value: "00" }, index);
  assert.equal(log.entries().length, Log.capacity);
  assert.equal(entriesContaining(" p8999 ", log.entries()).length, 1);
  // Keys of a line are not searched.
  assert.equal(entriesContaining("event", log.entries()).length, 0);
});

test("an entry of the log has its event, its bytes and its text", () => {
  const cells = (line) => Object.values(describe({ line })).slice(0, 4);
  assert.deepEqual(cells({ id: "A", value: "5a", decoded: "90 %", error: null }), ["value", "A", "5a", "90 %"]);
  assert.deepEqual(
    cells({ error: { code: "timedOut", message: "late", remedy: "Try again.", peripheral: "A" }, status: 4 }),
    ["error", "A", "", "late Try again."]);
  assert.deepEqual(cells({ note: "subscribed" }), ["note", "", "", "subscribed"]);
  assert.deepEqual(
    cells({ event: "found", id: "A", name: "Strap", manufacturerData: { "0499": "05" } }),
    ["found", "A", "0499:05", "Strap"]);
});

test("the log is exported as CSV and as JSON Lines", () => {
  const log = new Log();
  log.add("scan", { event: "found", id: "A", name: "=1+1" }, 0);
  assert.equal(
    logAsCSV(log.entries()), "time,command,event,id,value,text\r\n1970-01-01T00:00:00.000Z,scan,found,A,,'=1+1\r\n");
  assert.deepEqual(JSON.parse(logAsJSONLines(log.entries())), {
    received: "1970-01-01T00:00:00.000Z", command: "scan", line: { event: "found", id: "A", name: "=1+1" } });
});

test("attempts to reach the server are made after 1, 2, 5, 10 and 10 s", () => {
  assert.deepEqual([0, 1, 2, 3, 4].map(retryDelay), [1, 2, 5, 10, 10]);
});

test("a token is found in the address, and other addresses have none", () => {
  assert.equal(tokenIn("#token=00ff"), "00ff");
  for (const hash of ["", "#/peripherals", "#token=", "#token=a%20b"]) assert.equal(tokenIn(hash), null);
});
