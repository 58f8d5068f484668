import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { JsonError, readJson, writeJson } from "../src/core/json";
import { parameterProblem } from "../src/core/parameter_names";
import {
  type FormValues,
  initialValues,
  pastedRows,
  problemsOf,
  readSeconds,
  requestOf,
  restored,
  type Row,
  rowOf,
  rowsAsJson,
  rowsFromJson,
  shownValue,
  type StepForm,
  stepsOf,
  valueOf,
} from "../src/core/wizard";
import { vectors } from "./vectors";

const text = readFileSync(new URL("../../docs/wizard.schema.json", import.meta.url), "utf8");
const steps = stepsOf(text);
const initial = initialValues(steps);

function step(key: string): StepForm {
  const found = steps.find((each) => each.key === key);
  if (!found) throw new Error(`no step ${key}`);
  return found;
}

function withValue(key: string, field: string, value: string | boolean | readonly Row[]): FormValues {
  return { ...initial, [key]: { ...initial[key], [field]: value } };
}

function problem(key: string, field: string, value: string | readonly Row[], at = field): string | undefined {
  return problemsOf(step(key), withValue(key, field, value)[key] ?? {}).get(at);
}

describe("the wizard's steps", () => {
  it("are those of the schema, in its order", () => {
    expect(steps.map(({ key }) => key)).toEqual(["name", "training", "federation", "model"]);
  });

  it("have the schema's titles and defaults", () => {
    const shown = step("federation").fields.map(({ title, initial: value, seconds }) => [title, value, seconds]);
    expect(shown).toContainEqual(["Heartbeat timeout", "600", true]);
    expect(initial["training"]?.["parameters"]).toContainEqual({ name: "learning_rate", typed: "0.001" });
  });

  it("show a field that was added to the schema", () => {
    const schema = JSON.parse(text) as { $defs: { FederationStep: { properties: Record<string, unknown> } } };
    Object.assign(schema.$defs.FederationStep.properties, {
      fraction: { type: "number", title: "Fraction", default: 0.5, minimum: 0.1, maximum: 1 },
      strict: { type: "boolean", title: "Strict", default: true },
      algorithm: { type: "string", enum: ["fedavg", "fedprox"], default: "fedavg" },
    });
    const added = stepsOf(JSON.stringify(schema))[2]?.fields.slice(-3) ?? [];
    expect(added.map(({ kind, initial: value, choices }) => [kind, value, choices])).toEqual([
      ["number", "0.5", []],
      ["boolean", true, []],
      ["choice", "fedavg", ["fedavg", "fedprox"]],
    ]);
  });

  it("have no problem at their defaults, but for the name", () => {
    const found = steps.flatMap((each) => Array.from(problemsOf(each, initial[each.key] ?? {})));
    expect(found).toEqual([["name", "Name is missing."]]);
  });

  it.each([
    ["rounds", "0", "Rounds is at least 1."],
    ["rounds", "100001", "Rounds is at most 100,000."],
    ["rounds", "1.5", "Rounds is a whole number."],
    ["rounds", "x", "Rounds is a whole number."],
    ["training_timeout_s", "soon", "Training timeout is a time: 600, or 10 min."],
    ["heartbeat_timeout_s", "5 s", "Heartbeat timeout is at least 10."],
  ])("refuse %s = %s", (field, typed, why) => {
    expect(problem("federation", field, typed)).toBe(why);
  });

  it("refuse a class that is no path, and say what one is", () => {
    expect(problem("model", "model_class", "Net")).toMatch(/wrong form.*module\.ClassName/);
  });

  it("refuse a text that is too long", () => {
    expect(problem("model", "train_fn", "x".repeat(129))).toBe("Training function is longer than 128 characters.");
  });

  it.each([
    ["600", 600],
    ["10 min", 600],
    ["1 h 30 min", 5400],
    ["1.5h", 5400],
    ["1 parsec", null],
    ["min", null],
    ["-1", -1],
  ])("read the time %s", (typed, seconds) => {
    expect(readSeconds(typed, true)).toBe(seconds);
  });

  it("read no units where none are meant", () => {
    expect(readSeconds("10 min", false)).toBeNull();
  });
});

describe("parameters", () => {
  it.each(vectors<{ name: string; training: boolean; ok: boolean }>("parameter_names"))("$name may be used: $ok", ({ name, training, ok }) => {
    expect(parameterProblem(name, training) === null).toBe(ok);
  });

  it("flag a double at the second one", () => {
    const rows = [rowOf("a", "x"), rowOf("a", "y"), rowOf("A", "z")];
    expect(problem("training", "parameters", rows, "parameters.1.name")).toBe("a is there already.");
    expect(problem("training", "parameters", rows, "parameters.2.name")).toBe("A and a are the same name in capitals.");
    expect(problem("model", "arguments", rows, "arguments.2.name")).toBeUndefined();
  });

  it("need a name", () => {
    expect(problem("training", "parameters", [{ name: "", typed: "1" }], "parameters.0.name")).toBe("A name is missing.");
  });

  it("name the place of a value that is not JSON", () => {
    expect(problem("training", "parameters", [{ name: "a", typed: "[1," }], "parameters.0.value")).toMatch(/line 1, column/);
  });

  it.each(vectors<{ typed: string; json?: string }>("values").filter(({ json }) => json !== undefined))("keep $typed through the JSON view", ({ typed, json }) => {
    const rows: readonly Row[] = [{ name: "a", typed }];
    const back = rowsFromJson(rowsAsJson(rows), rows);
    expect(back).toEqual(rows);
    expect(back.map((row) => writeJson(valueOf(row)))).toEqual([json]);
  });

  it.each(['"5"', '"true"', '"[not json"', "null", '" x "', "12345678901234567890", "3.0"])("keep %s from the JSON view", (json) => {
    const rows = rowsFromJson(`{"a": ${json}}`, []);
    expect(rows.map((row) => writeJson(valueOf(row)))).toEqual([json]);
    expect(rowsFromJson(rowsAsJson(rows), rows)).toEqual(rows);
  });

  it("show a text that only JSON can say without its quotes", () => {
    expect([shownValue(rowOf("a", "5")), shownValue(rowOf("a", null)), shownValue(rowOf("a", "b"))]).toEqual(["5", "null", "b"]);
  });

  it("are an object in the JSON view", () => {
    expect(() => rowsFromJson("[1]", [])).toThrow(JsonError);
  });

  it("replace a typing that was no value", () => {
    expect(rowsFromJson('{"a": 1}', [{ name: "a", typed: "[1" }])).toEqual([{ name: "a", typed: "1" }]);
  });

  it("are read from a pasted block", () => {
    const rows = [
      { name: "lr", typed: "0.1" },
      { name: "epochs", typed: "3" },
    ];
    expect(pastedRows("lr: 0.1\n epochs = 3,\n")).toEqual(rows);
    expect(pastedRows('{"lr": 0.1, "epochs": 3}')).toEqual(rows);
  });

  it.each(["0.1", "{broken", "a sentence\nand another"])("are not read from %s", (pasted) => {
    expect(pastedRows(pasted)).toBeNull();
  });
});

describe("the request", () => {
  it("says what was typed, in the schema's form", () => {
    const values = { ...withValue("training", "parameters", [{ name: "a", typed: "1.0" }, rowOf("b", "5")]), name: { name: "My run" } };
    const body = writeJson(requestOf(steps, values));
    expect(body).toContain('"name": {"name": "My run"}');
    expect(body).toContain('[{"name": "a", "typed": "1.0"}, {"name": "b", "value": "5"}]');
    expect(body).toContain('"heartbeat_timeout_s": 600');
  });

  it("sends times in seconds", () => {
    expect(writeJson(requestOf(steps, withValue("federation", "training_timeout_s", "10 min")))).toContain('"training_timeout_s": 600');
  });

  it("sends a boolean as one, and a field that is not there at its default", () => {
    const field = { ...(step("federation").fields[0] as (typeof steps)[0]["fields"][0]), key: "strict", kind: "boolean" as const, initial: true };
    const one = [{ key: "s", title: "", help: "", fields: [field] }];
    expect(writeJson(requestOf(one, {}))).toBe('{"s": {"strict": true}}');
  });
});

describe("saved values", () => {
  it("come back as they were", () => {
    const values = withValue("training", "parameters", [rowOf("b", "5")]);
    expect(restored(steps, JSON.parse(JSON.stringify(values)))).toEqual(values);
  });

  it.each([null, {}, { federation: { rounds: 5, gone: 1 } }, { training: { parameters: [1] } }])("of another version take today's defaults: %j", (saved) => {
    expect(restored(steps, saved)).toEqual(initial);
  });

  it("restore a boolean only from a boolean", () => {
    const field = { ...(step("federation").fields[0] as (typeof steps)[0]["fields"][0]), key: "on", kind: "boolean" as const, initial: true };
    const one = [{ key: "s", title: "", help: "", fields: [field] }];
    expect([restored(one, { s: { on: false } }), restored(one, { s: { on: "no" } })]).toEqual([{ s: { on: false } }, { s: { on: true } }]);
  });
});

it("a row's value is read by the same reader as the file", () => {
  expect(readJson(rowsAsJson([rowOf("a", readJson("[1, 2.0]"))]))).toEqual(readJson('{"a": [1, 2.0]}'));
});

it("numbers keep their spelling in both views, also a text with a byte order mark", () => {
  const rows = rowsFromJson('\ufeff{"a/b~c": 1e-3, "b": 1.50, "c": 123456789012345678901}', [{ name: "b", typed: " 1.50 " }]);
  expect(rows).toEqual([
    { name: "a/b~c", typed: "1e-3" },
    { name: "b", typed: " 1.50 " },
    { name: "c", typed: "123456789012345678901" },
  ]);
  expect(rowsAsJson(rows)).toBe('{\n  "a/b~c": 1e-3,\n  "b": 1.50,\n  "c": 123456789012345678901\n}');
});

it.each([
  [["a", "a"], "JSON has each name once, and a is there twice"],
  [["", ""], "JSON has each name once, and the empty name is there twice"],
])("an object cannot say the names %j", (names, why) => {
  expect(() => rowsAsJson(names.map((name) => ({ name, typed: "1" })))).toThrow(why);
});

it("a value that cannot be read is named, by its place when it has no name", () => {
  expect(problem("training", "parameters", [{ name: "", typed: "{" }], "parameters.0.value")).toMatch(/^The value of parameter 1 cannot be read: /);
});

describe("fields of a later schema", () => {
  const schema = JSON.parse(text) as { $defs: { FederationStep: { properties: Record<string, unknown> } } };
  Object.assign(schema.$defs.FederationStep.properties, {
    seed: { anyOf: [{ type: "integer", minimum: 0 }, { type: "null" }], title: "Seed", default: null },
    sites: { type: "array", items: { type: "string" }, title: "Sites", default: ["a"] },
    either: { anyOf: [{ type: "integer" }, { type: "string" }], title: "Either", default: 1 },
    odd: { type: "array", title: "Odd" },
    tag_s: { type: "string", title: "Tag" },
  });
  const later = stepsOf(JSON.stringify(schema));
  const federation = later.find(({ key }) => key === "federation") as StepForm;
  const values = initialValues(later);
  const body = (changed: Record<string, string>) => {
    const sent = requestOf(later, { ...values, federation: { ...values["federation"], odd: "[]", ...changed } }).get("federation") as Map<string, unknown>;
    return writeJson(new Map(["seed", "sites", "either"].map((key) => [key, sent.get(key) as never])));
  };

  it("are drawn by what they may hold", () => {
    expect(federation.fields.slice(-5).map(({ kind, optional, seconds, initial: value }) => [kind, optional, seconds, value])).toEqual([
      ["integer", true, false, ""],
      ["json", false, false, '["a"]'],
      ["json", false, false, "1"],
      ["json", false, false, ""],
      ["text", false, false, ""],
    ]);
  });

  it("may be empty where the schema says null", () => {
    expect([problemsOf(federation, { ...values["federation"], odd: "[]" }).size, body({})]).toEqual([0, '{"seed": null, "sites": ["a"], "either": 1}']);
  });

  it("are sent as what they hold", () => {
    expect(body({ seed: "7", sites: '["b", 1.0]', either: '"x"' })).toBe('{"seed": 7, "sites": ["b", 1.0], "either": "x"}');
  });

  it("say what is wrong with them", () => {
    const found = problemsOf(federation, { ...values["federation"], seed: "-1", sites: "[" });
    expect([found.get("seed"), found.get("sites")]).toEqual(["Seed is at least 0.", expect.stringMatching(/^Sites cannot be read: .*line 1/)]);
  });
});
