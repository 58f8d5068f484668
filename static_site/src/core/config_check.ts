/** What an editor says of a config: where it is no JSON, and where it is not what NVFLARE expects. */

import { type Schema, Validator } from "@cfworker/json-schema";
import { JsonError, placesIn, plain, readJson, withoutComments } from "./json";

export interface Mark {
  readonly from: number;
  readonly to: number;
  readonly line: number;
  readonly level: "error" | "warning";
  readonly message: string;
}

/** Every mistake with its place. A text that is no JSON has one; unknown keys are warnings, the rest errors. */
export function checkConfig(text: string, schema: Schema): readonly Mark[] {
  const bare = withoutComments(text);
  try {
    const value = readJson(bare);
    const places = placesIn(bare);
    const { errors } = new Validator(schema, "2020-12", false).validate(plain(value));
    const leaves = errors.filter(({ instanceLocation }, _, all) => !all.some((other) => other.instanceLocation.startsWith(`${instanceLocation}/`)));
    const marks = leaves.flatMap(({ instanceLocation, keyword, error }) => {
      if (keyword === "properties" || keyword === "items" || keyword === "$ref") return [];
      const pointer = instanceLocation.replace(/^#/, "");
      const [from, to] = places.get(pointer) ?? [0, 0];
      const unknown = keyword === "additionalProperties" || keyword === "unevaluatedProperties" || keyword === "false";
      return [{ from, to, line: lineOf(bare, from), level: unknown ? ("warning" as const) : ("error" as const), message: said(pointer, keyword, error) }];
    });
    return distinct(marks);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const from = offsetOf(bare, error.line, error.column);
    return [{ from, to: Math.min(from + 1, text.length), line: error.line, level: "error", message: error.problem }];
  }
}

function said(pointer: string, keyword: string, error: string): string {
  const key = pointer.replace(/^\//, "").replace(/\//g, ".") || "the file";
  return keyword === "additionalProperties" || keyword === "false" ? `${key} is not a key that NVFLARE knows here` : `${key}: ${error.replace(/^Instance type "(\w+)" is invalid\. Expected "([^"]+)"\.$/, "it must be $2, not $1").replace(/^Instance /, "it ")}`;
}

function distinct(marks: readonly Mark[]): readonly Mark[] {
  return marks.filter((mark, index) => marks.findIndex(({ from, message }) => from === mark.from && message === mark.message) === index);
}

function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}

function offsetOf(text: string, line: number, column: number): number {
  const lines = text.split("\n").slice(0, line - 1);
  return Math.min(text.length, lines.reduce((sum, each) => sum + each.length + 1, 0) + column - 1);
}
