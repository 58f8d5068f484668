import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ExactNumber, exact, JsonError, plain, pythonFloat, readJson, writeJson } from "../src/core/json";

function problem(text: string): JsonError {
  try {
    readJson(text);
  } catch (error) {
    if (error instanceof JsonError) return error;
  }
  throw new Error(`${text} was read`);
}

describe("JSON", () => {
  it("says the same as the browser's reader", () => {
    fc.assert(
      fc.property(fc.json({ noUnicodeString: false }), (text) => {
        expect(plain(readJson(text))).toEqual(JSON.parse(text));
      }),
    );
  });

  it("writes what it read", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const once = writeJson(readJson(text));
        expect(writeJson(readJson(once))).toBe(once);
        expect(plain(readJson(writeJson(readJson(text), 2, false)))).toEqual(JSON.parse(text));
      }),
    );
  });

  it.each([
    ["", "a value is missing", 1, 1],
    ["[1,]", "a comma before ] is not JSON", 1, 3],
    ['{"a": 1,\n}', "a comma before } is not JSON", 1, 8],
    ['{"a": 1, "a": 2}', "the key a is given twice", 1, 10],
    ["[NaN]", "NaN is not JSON", 1, 2],
    ["[1 2]", "a comma or ] is missing", 1, 4],
    ["[1]\n x", "something follows the value", 2, 2],
    ["{a: 1}", "a key in double quotes is missing", 1, 2],
    ['{"a" 1}', "a colon is missing after the key", 1, 6],
    ['"a', "the text in quotes never ends, or holds a character that must be escaped", 1, 1],
    ["[01]", "this is not a number of JSON", 1, 2],
    ["1e999", "1e999 is out of range", 1, 1],
    ["-1".padEnd(4400, "1"), "the number has more than 4,300 digits", 1, 1],
    ["[".repeat(1000), "it is nested too deeply", 1, 902],
  ])("%# names the place of a mistake", (text, what, line, column) => {
    const error = problem(text);
    expect([error.problem, error.line, error.column]).toEqual([what, line, column]);
  });

  it("ignores a byte order mark", () => {
    expect(readJson("\ufeff1")).toEqual(new ExactNumber("1"));
  });

  it("keeps the order of keys that look like numbers", () => {
    expect(writeJson(readJson('{"b": 1, "10": 2, "9": 3}'))).toBe('{"b": 1, "10": 2, "9": 3}');
  });

  it("indents as the config files are indented", () => {
    expect(writeJson(exact({ a: [1, {}], b: [] }), 2)).toBe('{\n  "a": [\n    1,\n    {}\n  ],\n  "b": []\n}');
  });

  it.each([
    [1e16, "1e+16"],
    [123456789012345680, "1.2345678901234568e+17"],
    [1e15, "1000000000000000.0"],
    [0.0001, "0.0001"],
    [0.00001, "1e-05"],
    [-0, "-0.0"],
    [0, "0.0"],
    [1.5e300, "1.5e+300"],
    [-2.5, "-2.5"],
    [100, "100.0"],
  ])("spells %d as Python does", (value, spelled) => {
    expect(pythonFloat(value)).toBe(spelled);
  });

  it("escapes what is not ASCII only when asked", () => {
    expect([writeJson("é"), writeJson("é", 0, false)]).toEqual(['"\\u00e9"', '"é"']);
  });

  it("takes plain data apart from what is undefined", () => {
    expect(writeJson(exact({ a: undefined, b: 0.5, c: null, d: true, e: new ExactNumber("3.0"), f: new Map() }))).toBe(
      '{"b": 0.5, "c": null, "d": true, "e": 3.0, "f": {}}',
    );
  });
});
