/** Steps 1 to 4 as the exported schema describes them: fields with titles, helps, bounds and defaults, what is wrong with what was
 * typed, and the request that builds a workspace. A field added to the schema appears here by itself. */

import { type Json, type JsonObject, ExactNumber, JsonError, exact, placesIn, readJson, writeJson } from "./json";
import { parameterProblem } from "./parameter_names";
import { readTyped } from "./values";

/** `json`: anything else a schema may say, typed as JSON. */
export type Kind = "text" | "integer" | "number" | "boolean" | "choice" | "parameters" | "json";

export interface Field {
  readonly key: string;
  readonly kind: Kind;
  readonly title: string;
  readonly help: string;
  readonly required: boolean;
  /** May be left empty, which is null. */
  readonly optional: boolean;
  readonly choices: readonly string[];
  readonly minimum: number | null;
  readonly maximum: number | null;
  readonly minLength: number;
  readonly maxLength: number | null;
  readonly pattern: string | null;
  /** Seconds, by the name's ending `_s`. */
  readonly seconds: boolean;
  readonly initial: FieldValue;
}

export interface StepForm {
  readonly key: string;
  readonly title: string;
  readonly help: string;
  readonly fields: readonly Field[];
}

/** A parameter as typed into a field, or (from the JSON view) a value that no typing gives. */
export type Row = { readonly name: string; readonly typed: string } | { readonly name: string; readonly json: string };

/** Texts and numbers as typed, so that nothing typed is lost; parameters as rows. */
export type FieldValue = string | boolean | readonly Row[];
export type StepValues = Readonly<Record<string, FieldValue>>;
export type FormValues = Readonly<Record<string, StepValues>>;
/** What is wrong, by field key; of rows by `key.index.name` and `key.index.value`. */
export type Problems = ReadonlyMap<string, string>;

interface Schema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly enum?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
}

/** The steps of a schema text, in its order. */
export function stepsOf(schemaText: string): readonly StepForm[] {
  const whole = JSON.parse(schemaText) as Schema;
  return Object.entries(whole.properties ?? {}).map(([key, outer]) => {
    const step = resolved(outer, whole);
    const defaults = (outer.default ?? {}) as Readonly<Record<string, unknown>>;
    const fields = Object.entries(step.properties ?? {}).map(([name, field]) => fieldOf(name, field, whole, (step.required ?? []).includes(name), defaults[name]));
    return { key, title: step.title ?? key, help: step.description ?? "", fields };
  });
}

function resolved(schema: Schema, whole: Schema): Schema {
  const name = schema.$ref?.split("/").at(-1);
  return name === undefined ? schema : (whole.$defs?.[name] ?? {});
}

function fieldOf(key: string, outer: Schema, whole: Schema, required: boolean, stepDefault: unknown): Field {
  const others = (outer.anyOf ?? []).filter(({ type }) => type !== "null");
  const optional = others.length === 1 && others.length < (outer.anyOf ?? []).length;
  const schema = resolved(optional ? (others[0] as Schema) : outer, whole);
  const kind = kindOf(schema, whole);
  return {
    key,
    kind,
    title: outer.title ?? schema.title ?? key,
    help: outer.description ?? schema.description ?? "",
    required,
    optional,
    choices: schema.enum ?? [],
    minimum: schema.minimum ?? null,
    maximum: schema.maximum ?? null,
    minLength: schema.minLength ?? 0,
    maxLength: schema.maxLength ?? null,
    pattern: schema.pattern ?? null,
    seconds: key.endsWith("_s") && (kind === "integer" || kind === "number"),
    initial: initialOf(kind, stepDefault ?? outer.default ?? schema.default),
  };
}

function kindOf(schema: Schema, whole: Schema): Kind {
  if (schema.enum) return "choice";
  if (schema.type === "integer" || schema.type === "number" || schema.type === "boolean") return schema.type;
  if (schema.type === "string") return "text";
  return schema.type === "array" && "typed" in (resolved(schema.items ?? {}, whole).properties ?? {}) ? "parameters" : "json";
}

function initialOf(kind: Kind, value: unknown): FieldValue {
  if (kind === "boolean") return value === true;
  if (kind === "parameters") return rowsOf((value ?? []) as readonly { name: string; value: unknown }[]);
  if (value === undefined || value === null) return "";
  return kind === "json" ? writeJson(exact(value), 0, false) : String(value);
}

function rowsOf(parameters: readonly { name: string; value: unknown }[]): readonly Row[] {
  return parameters.map(({ name, value }) => rowOf(name, exact(value)));
}

/** Every field at its default. */
export function initialValues(steps: readonly StepForm[]): FormValues {
  return Object.fromEntries(steps.map((step) => [step.key, initialStep(step)]));
}

export function initialStep(step: StepForm): StepValues {
  return Object.fromEntries(step.fields.map((field) => [field.key, field.initial]));
}

/** Saved values over today's fields: those of another version are kept where they fit, new ones get their defaults. */
export function restored(steps: readonly StepForm[], saved: unknown): FormValues {
  const old = (typeof saved === "object" && saved !== null ? saved : {}) as Record<string, Record<string, unknown> | undefined>;
  return Object.fromEntries(
    steps.map((step) => [
      step.key,
      Object.fromEntries(step.fields.map((field) => [field.key, fits(field, old[step.key]?.[field.key]) ? (old[step.key]?.[field.key] as FieldValue) : field.initial])),
    ]),
  );
}

function fits(field: Field, value: unknown): boolean {
  if (field.kind === "boolean") return typeof value === "boolean";
  if (field.kind !== "parameters") return typeof value === "string";
  return Array.isArray(value) && value.every((row: unknown) => typeof row === "object" && row !== null && "name" in row && ("typed" in row || "json" in row));
}

/** What is wrong with a step as it stands. */
export function problemsOf(step: StepForm, values: StepValues): Problems {
  const found = new Map<string, string>();
  for (const field of step.fields) {
    const value = values[field.key] ?? field.initial;
    if (field.kind === "parameters") rowProblems(field.key, value as readonly Row[], step.key === "training", found);
    else if (typeof value === "string") {
      const problem = textProblem(field, value);
      if (problem) found.set(field.key, problem);
    }
  }
  return found;
}

function textProblem(field: Field, typed: string): string | null {
  if (field.optional && typed.trim() === "") return null;
  if (field.kind === "json") return jsonProblem(field.title, () => readJson(typed));
  if (field.kind === "integer" || field.kind === "number") return numberProblem(field, typed);
  if (typed.length < field.minLength) return `${field.title} is missing.`;
  if (field.maxLength !== null && typed.length > field.maxLength) return `${field.title} is longer than ${field.maxLength} characters.`;
  if (field.pattern !== null && !new RegExp(field.pattern, "u").test(typed)) return `${field.title} has the wrong form. ${field.help}`;
  return null;
}

function numberProblem(field: Field, typed: string): string | null {
  const number = readSeconds(typed, field.seconds);
  if (number === null || (field.kind === "integer" && !Number.isInteger(number))) {
    return field.seconds ? `${field.title} is a time: 600, or 10 min.` : `${field.title} is a ${field.kind === "integer" ? "whole number" : "number"}.`;
  }
  if (field.minimum !== null && number < field.minimum) return `${field.title} is at least ${field.minimum.toLocaleString("en")}.`;
  if (field.maximum !== null && number > field.maximum) return `${field.title} is at most ${field.maximum.toLocaleString("en")}.`;
  return null;
}

const IN_SECONDS: Readonly<Record<string, number>> = { s: 1, sec: 1, min: 60, m: 60, h: 3600, d: 86_400 };

/** A typed number; where seconds are wanted `10 min` and `1 h 30 min` are read too. null when it is none. */
export function readSeconds(typed: string, units: boolean): number | null {
  const text = typed.trim();
  if (/^-?\d+(?:\.\d+)?$/.test(text)) return Number(text);
  const parts = Array.from(text.matchAll(/(\d+(?:\.\d+)?)\s*([a-z]+)\s*/gy));
  const whole = parts.reduce((sum, [all]) => sum + all.length, 0) === text.length;
  if (!units || !parts.length || !whole || parts.some(([, , unit = ""]) => !(unit in IN_SECONDS))) return null;
  return parts.reduce((sum, [, amount, unit = ""]) => sum + Number(amount) * (IN_SECONDS[unit] ?? 0), 0);
}

function rowProblems(key: string, rows: readonly Row[], training: boolean, found: Map<string, string>): void {
  const first = new Map<string, string>();
  rows.forEach((row, index) => {
    const folded = training ? row.name.toUpperCase() : row.name;
    const earlier = first.get(folded);
    if (earlier === undefined) first.set(folded, row.name);
    const twice = earlier === undefined ? null : earlier === row.name ? `${row.name} is there already.` : `${row.name} and ${earlier} are the same name in capitals.`;
    const problem = parameterProblem(row.name, training) ?? twice;
    if (problem) found.set(`${key}.${index}.name`, problem);
    const value = "typed" in row ? jsonProblem(`The value of ${row.name || `parameter ${index + 1}`}`, () => readTyped(row.typed)) : null;
    if (value) found.set(`${key}.${index}.value`, value);
  });
}

function jsonProblem(what: string, read: () => unknown): string | null {
  try {
    read();
    return null;
  } catch (error) {
    return `${what} cannot be read: ${error instanceof Error ? error.message : String(error)}.`;
  }
}

/** The value of a row; JsonError when what was typed is none. */
export function valueOf(row: Row): Json {
  return "typed" in row ? readTyped(row.typed).value : readJson(row.json);
}

/** A row that has this value: as somebody would type it, else (a text that looks like a number) kept as JSON. */
export function rowOf(name: string, value: Json): Row {
  const typed = typeof value === "string" ? value : writeJson(value, 0, false);
  try {
    if (writeJson(readTyped(typed).value) === writeJson(value)) return { name, typed };
  } catch {
    // begins like JSON and is not: only the JSON view can say it
  }
  return { name, json: writeJson(value) };
}

/** What a row's field shows. */
export function shownValue(row: Row): string {
  if ("typed" in row) return row.typed;
  const value = readJson(row.json);
  return typeof value === "string" ? value : row.json;
}

/** The rows as one JSON object, an indented text: the other view of the same values, numbers as they were typed. A name that is
 * there twice, which an object cannot say, is an Error. */
export function rowsAsJson(rows: readonly Row[]): string {
  const names = rows.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) throw new Error(`JSON has each name once, and ${twice || "the empty name"} is there twice`);
  return writeJson(new Map(rows.map((row) => [row.name, asTyped(row)])), 2, false);
}

function asTyped(row: Row): Json {
  const value = valueOf(row);
  return value instanceof ExactNumber && "typed" in row ? new ExactNumber(row.typed.trim()) : value;
}

/** The rows of such a text, those unchanged kept as they were typed, numbers as the text spells them; JsonError with the place when
 * it is not an object. */
export function rowsFromJson(text: string, before: readonly Row[]): readonly Row[] {
  const value = readJson(text);
  if (!(value instanceof Map)) throw new JsonError("the parameters are an object in braces", 1, 1);
  const spelled = text.startsWith("\ufeff") ? text.slice(1) : text;
  const places = placesIn(spelled);
  const old = new Map(before.map((row) => [row.name, row]));
  return Array.from(value, ([name, item]) => {
    const [start, end] = places.get(`/${name.replace(/~/g, "~0").replace(/\//g, "~1")}`) ?? [0, 0];
    const spelling = spelled.slice(start, end);
    const was = old.get(name);
    if (was && sameValue(was, item) && (!(item instanceof ExactNumber) || shownValue(was).trim() === spelling)) return was;
    return item instanceof ExactNumber ? { name, typed: spelling } : rowOf(name, item);
  });
}

function sameValue(row: Row, value: Json): boolean {
  try {
    return writeJson(valueOf(row)) === writeJson(value);
  } catch {
    return false;
  }
}

/** Rows pasted as a block: a JSON object, or lines of `name: value` or `name = value`; null when it is neither. */
export function pastedRows(text: string): readonly Row[] | null {
  if (text.trim().startsWith("{")) {
    try {
      return rowsFromJson(text, []);
    } catch {
      return null;
    }
  }
  const lines = text.split(/\r?\n/).filter((line) => line.trim());
  const rows = lines.map((line) => /^\s*["']?([A-Za-z_]\w*)["']?\s*[:=]\s*(.*?)\s*,?\s*$/.exec(line));
  if (lines.length < 2 || rows.some((row) => row === null)) return null;
  return rows.map((row) => ({ name: row?.[1] ?? "", typed: row?.[2] ?? "" }));
}

/** The request that builds the workspace; the steps have no problems. */
export function requestOf(steps: readonly StepForm[], values: FormValues): JsonObject {
  return new Map(steps.map((step) => [step.key, new Map(step.fields.map((field) => [field.key, bodyOf(field, values[step.key]?.[field.key] ?? field.initial)]))]));
}

function bodyOf(field: Field, value: FieldValue): Json {
  if (typeof value === "boolean") return value;
  if (typeof value !== "string") {
    return value.map((row) => new Map<string, Json>([["name", row.name], "typed" in row ? ["typed", row.typed] : ["value", readJson(row.json)]]));
  }
  if (field.optional && value.trim() === "") return null;
  if (field.kind === "json") return readJson(value);
  if (field.kind === "integer" || field.kind === "number") return new ExactNumber(String(readSeconds(value, field.seconds) ?? value));
  return value;
}
