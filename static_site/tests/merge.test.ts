import { describe, expect, it } from "vitest";
import type { Schema } from "@cfworker/json-schema";
import { checkConfig } from "../src/core/config_check";
import { placesIn, readJson, withoutComments, writeJson } from "../src/core/json";
import { mergeJson } from "../src/core/merge";

const merge = (base: string, mine: string, theirs: string) => {
  const { value, conflicts } = mergeJson(readJson(base), readJson(mine), readJson(theirs));
  return [writeJson(value), conflicts];
};

describe("a merge", () => {
  it.each([
    ["takes what only the wizard changed", '{"a": 1}', '{"a": 1}', '{"a": 2}', '{"a": 2}', []],
    ["keeps what only the hand changed", '{"a": 1}', '{"a": 3}', '{"a": 1}', '{"a": 3}', []],
    ["takes both where they differ in place", '{"a": 1, "b": 1}', '{"a": 3, "b": 1}', '{"a": 1, "b": 2}', '{"a": 3, "b": 2}', []],
    ["is silent where both say the same", '{"a": 1}', '{"a": 2}', '{"a": 2}', '{"a": 2}', []],
    ["names what both changed", '{"x": {"a": 1}}', '{"x": {"a": 2}}', '{"x": {"a": 3}}', '{"x": {"a": 2}}', ["/x/a"]],
    ["goes into lists of equal length", '[{"a": 1, "b": 1}]', '[{"a": 2, "b": 1}]', '[{"a": 1, "b": 2}]', '[{"a": 2, "b": 2}]', []],
    ["does not guess in lists of other lengths", "[1]", "[1, 2]", "[1, 3]", "[1, 2]", [""]],
    ["keeps a key added by hand", '{"a": 1}', '{"a": 1, "mine": 1}', '{"a": 2}', '{"a": 2, "mine": 1}', []],
    ["drops a key the wizard dropped", '{"a": 1, "b": 1}', '{"a": 2, "b": 1}', '{"a": 1}', '{"a": 2}', []],
    ["merges objects that both added", "{}", '{"a": {"x": 1}}', '{"a": {"y": 1}}', '{"a": {"y": 1, "x": 1}}', []],
  ])("%s", (_, base, mine, theirs, result, conflicts) => {
    expect(merge(base, mine, theirs)).toEqual([result, conflicts]);
  });
});

const SCHEMA: Schema = {
  type: "object",
  required: ["name"],
  additionalProperties: false,
  properties: { name: { type: "string" }, min_clients: { type: "integer", minimum: 1 }, nested: { type: "object", properties: { n: { type: "number" } } } },
};

describe("a check of a config", () => {
  it("is silent about a good one, comments included", () => {
    expect(checkConfig('{ // a job\n "name": "x", "min_clients": 2 /* two */ }', SCHEMA)).toEqual([]);
  });

  it("names the place where it is no JSON", () => {
    expect(checkConfig('{\n "name": "x",\n}', SCHEMA)).toMatchObject([{ line: 2, level: "error", message: "a comma before } is not JSON" }]);
  });

  it("names the place of a wrong value", () => {
    const text = '{\n "name": "x",\n "nested": {"n": "two"}\n}';
    const [mark] = checkConfig(text, SCHEMA);
    expect([mark?.line, mark?.level, text.slice(mark?.from, mark?.to)]).toEqual([3, "error", '"two"']);
    expect(mark?.message).toContain("nested.n");
  });

  it("only warns of a key it does not know", () => {
    expect(checkConfig('{"name": "x", "colour": 1}', SCHEMA)).toMatchObject([{ level: "warning", message: "colour is not a key that NVFLARE knows here" }]);
  });

  it("names a wrong list entry, once", () => {
    const schema: Schema = { type: "object", properties: { tasks: { type: "array", items: { type: "string" } } } };
    const marks = checkConfig('{"tasks": ["a", 2]}', schema);
    expect(marks.map(({ level, message }) => [level, message.startsWith("tasks.1")])).toEqual([["error", true]]);
  });

  it("says what is missing", () => {
    expect(checkConfig("{}", SCHEMA)[0]?.message).toContain("name");
  });
});

describe("comments", () => {
  it("are blanked, and no position moves", () => {
    const text = '{"url": "http://x/y", // here\n /* and\n here */ "a": "\\"//"}';
    const bare = withoutComments(text);
    expect([bare.length, bare.includes("here"), bare.includes("http://x/y"), bare.split("\n").length]).toEqual([text.length, false, true, 3]);
  });
});

it("every value has a place", () => {
  expect(Array.from(placesIn('{"a/b": [1, "x"]}'))).toEqual([
    ["/a~1b/0", [9, 10]],
    ["/a~1b/1", [12, 15]],
    ["/a~1b", [8, 16]],
    ["", [0, 17]],
  ]);
});
