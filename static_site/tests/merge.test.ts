import { describe, expect, it } from "vitest";
import type { Schema } from "@cfworker/json-schema";
import { checkConfig } from "../src/core/config_check";
import { placesIn, readJson, withoutComments, writeJson } from "../src/core/json";
import { classesOf, configText, decided, mergeJson, reopened, withValue } from "../src/core/merge";

const merge = (base: string, mine: string, theirs: string) => {
  const { value, conflicts } = mergeJson(readJson(base), readJson(mine), readJson(theirs));
  return [writeJson(value), conflicts.map(({ path }) => path.join("."))];
};

describe("a merge", () => {
  it.each([
    ["takes what only the wizard changed", '{"a": 1}', '{"a": 1}', '{"a": 2}', '{"a": 2}', []],
    ["keeps what only the hand changed", '{"a": 1}', '{"a": 3}', '{"a": 1}', '{"a": 3}', []],
    ["takes both where they differ in place", '{"a": 1, "b": 1}', '{"a": 3, "b": 1}', '{"a": 1, "b": 2}', '{"a": 3, "b": 2}', []],
    ["is silent where both say the same", '{"a": 1}', '{"a": 2}', '{"a": 2}', '{"a": 2}', []],
    ["names what both changed", '{"x": {"a": 1}}', '{"x": {"a": 2}}', '{"x": {"a": 3}}', '{"x": {"a": 2}}', ["x.a"]],
    ["goes into lists of equal length", '[{"a": 1, "b": 1}]', '[{"a": 2, "b": 1}]', '[{"a": 1, "b": 2}]', '[{"a": 2, "b": 2}]', []],
    ["does not guess in lists of other lengths", "[1]", "[1, 2]", "[1, 3]", "[1, 2]", [""]],
    ["keeps a key added by hand", '{"a": 1}', '{"a": 1, "mine": 1}', '{"a": 2}', '{"a": 2, "mine": 1}', []],
    ["drops a key the wizard dropped", '{"a": 1, "b": 1}', '{"a": 2, "b": 1}', '{"a": 1}', '{"a": 2}', []],
    ["merges objects that both added", "{}", '{"a": {"x": 1}}', '{"a": {"y": 1}}', '{"a": {"y": 1, "x": 1}}', []],
  ])("%s", (_, base, mine, theirs, result, conflicts) => {
    expect(merge(base, mine, theirs)).toEqual([result, conflicts]);
  });
});

describe("a value put into a config", () => {
  it.each([
    ["at a key", '{"a": {"b": 1}}', ["a", "b"], "2", '{"a": {"b": 2}}'],
    ["in a list", '{"a": [1, {"b": 1}]}', ["a", "1", "b"], "2", '{"a": [1, {"b": 2}]}'],
    ["at the top", '{"a": 1}', [], "2", "2"],
    ["nowhere, when the way ends before", '{"a": 1}', ["a", "b", "c"], "2", '{"a": 1}'],
    ["nowhere, when there is no such key", '{"a": 1}', ["x", "b"], "2", '{"a": 1}'],
  ])("stands %s", (_, whole, path, value, result) => {
    expect(writeJson(withValue(readJson(whole), path, readJson(value)))).toBe(result);
  });

  it("may be none", () => {
    expect(writeJson(withValue(readJson('{"a": 1, "b": 2}'), ["a"], undefined))).toBe('{"b": 2}');
    expect(withValue(readJson("[1]"), [], undefined)).toBeNull();
  });
});

describe("a config opened again", () => {
  const text = (a: number, b: number) => configText(readJson(`{"a": ${a}, "b": ${b}}`));

  it("is what the steps give now when the hand changed nothing", () => {
    expect(reopened(text(2, 1), text(1, 1), text(1, 1))).toEqual({ text: text(2, 1), conflicts: [], unmerged: "" });
  });

  it("is the edit, to the letter, when the steps changed nothing", () => {
    expect(reopened(text(1, 1), text(1, 1), '{ "a":  5 }').text).toBe('{ "a":  5 }');
  });

  it("is the text that is there when nobody knows what it began from", () => {
    expect(reopened(text(1, 1), null, text(7, 7)).text).toBe(text(7, 7));
  });

  it("holds both changes in different places", () => {
    expect(reopened(text(2, 1), text(1, 1), text(1, 9))).toEqual({ text: text(2, 9), conflicts: [], unmerged: "" });
  });

  it("keeps the edit where both changed the same, and can take the other", () => {
    const { text: kept, conflicts } = reopened(text(2, 1), text(1, 1), text(5, 1));
    expect([kept, conflicts.map(({ path }) => path)]).toEqual([text(5, 1), [["a"]]]);
    expect(conflicts.map((each) => decided(kept, each))).toEqual([text(2, 1)]);
  });

  it("stays as it was when it has comments or is no JSON, and says so", () => {
    const commented = '{"a": 5 // mine\n}';
    expect(reopened(text(2, 1), text(1, 1), commented)).toMatchObject({ text: commented, unmerged: expect.stringContaining("comments") });
    expect(reopened(text(2, 1), text(1, 1), '{"a": ')).toMatchObject({ text: '{"a": ', unmerged: "it is not JSON" });
  });
});

describe("num_classes", () => {
  const client = (value: string) => `{"executors": [{"executor": {"args": {"num_classes": ${value}}}}]}`;
  const server = (value: string) => `{"components": [{"id": "x"}, {"args": {"model": {"args": {"num_classes": ${value}}}}}]}`;

  it("is flagged when workers and server differ", () => expect(classesOf(client("10"), server("11"))).toEqual(["10", "11"]));
  it("is fine when they agree", () => expect(classesOf(client("10"), server("10"))).toBeNull());
  it("is not judged when one does not name it, or is no JSON", () => {
    expect(classesOf(client("10"), "{}")).toBeNull();
    expect(classesOf("{", server("10"))).toBeNull();
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
    expect(mark?.message).toBe("nested.n: it must be number, not string");
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
