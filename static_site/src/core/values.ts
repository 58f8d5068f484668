/** What a typed value means: the rule of the wizard's step 2, the same as the API's. */

import { type Json, JsonError, ExactNumber, exactNumber, readJson } from "./json";

export type ValueType = "integer" | "number" | "boolean" | "array" | "object" | "text";

export interface Typed {
  readonly type: ValueType;
  readonly value: Json;
}

const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;
const BLANKS_AT_THE_ENDS = /^[ \t\r\n]+|[ \t\r\n]+$/g;

/** The value of what was typed; JsonError when it begins like JSON and is not, or is a number out of range. */
export function readTyped(typed: string): Typed {
  const text = typed.replace(BLANKS_AT_THE_ENDS, "");
  if (text === "true" || text === "false") return { type: "boolean", value: text === "true" };
  if (NUMBER.test(text)) {
    const value = exactNumber(text);
    if (value === null) throw new JsonError(`${text} is out of range; the largest number is about 1.8e308`, 1, 1);
    return { type: value.isInteger ? "integer" : "number", value };
  }
  if (text.startsWith("[") || text.startsWith("{")) return { type: text.startsWith("[") ? "array" : "object", value: readJson(text) };
  return { type: "text", value: text };
}

/** What a value is, by its JSON. */
export function typeOf(value: Json): ValueType {
  if (value instanceof ExactNumber) return value.isInteger ? "integer" : "number";
  if (typeof value === "boolean") return "boolean";
  if (Array.isArray(value)) return "array";
  return value instanceof Map ? "object" : "text";
}

const ALMOST_NUMBERS: readonly (readonly [RegExp, (text: string) => string])[] = [
  [/^\+\d/, (text) => text.slice(1)],
  [/^-?\.\d+$/, (text) => text.replace(".", "0.")],
  [/^-?\d+\.$/, (text) => `${text}0`],
  [/^-?\d{1,3}(?:[_ ]\d{3})+$/, (text) => text.replace(/[_ ]/g, "")],
  [/^-?\d+,\d+$/, (text) => text.replace(",", ".")],
  [/^-?0\d+$/, (text) => text.replace(/^(-?)0+(?=\d)/, "$1")],
  [/^-?0x[0-9a-f]+$/i, (text) => String(Number(text.replace("-", ""))).replace(/^/, text.startsWith("-") ? "-" : "")],
  [/^(?:True|TRUE|False|FALSE)$/, (text) => text.toLowerCase()],
];

/** What somebody who typed this probably meant, when it will be text although it looks like a number or a boolean; else null. */
export function probablyMeant(typed: string): string | null {
  const text = typed.replace(BLANKS_AT_THE_ENDS, "").normalize("NFKC");
  for (const [looksLike, meant] of ALMOST_NUMBERS) if (looksLike.test(text)) return meant(text);
  return text !== typed.trim() && NUMBER.test(text) ? text : null;
}
