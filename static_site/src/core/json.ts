/** JSON that keeps what was written: integers of any size stay exact, `3.0` stays `3.0`, members keep their order. */

/** A number by its one spelling: an integer's digits, or a float as Python's `repr` writes it. */
export class ExactNumber {
  constructor(readonly text: string) {}
  get isInteger(): boolean {
    return /^-?\d+$/.test(this.text);
  }
}

export type Json = null | boolean | string | ExactNumber | Json[] | JsonObject;
/** A Map, since plain objects move keys such as "1" to the front. */
export type JsonObject = Map<string, Json>;

/** A text that is not JSON: what is wrong, and where (both from 1). */
export class JsonError extends Error {
  constructor(
    readonly problem: string,
    readonly line: number,
    readonly column: number,
  ) {
    super(`${problem} (line ${line}, column ${column})`);
    this.name = "JsonError";
  }
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const WORD = /[A-Za-z_$][\w$]*/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const MOST_DIGITS = 4300; // Python refuses to read more
const DEEPEST = 900; // Python's reader gives up not far above

/** The value of a strict JSON text; NaN, trailing commas, a key twice and numbers out of range are JsonErrors. */
export function readJson(text: string): Json {
  return new Reader(text.startsWith("\ufeff") ? text.slice(1) : text).whole();
}

/** Where each value of a JSON text stands: its JSON pointer → the offsets of its first character and behind its last. */
export function placesIn(text: string): ReadonlyMap<string, readonly [number, number]> {
  const reader = new Reader(text);
  reader.whole();
  return reader.places;
}

/** The text with its `//` and block comments blanked outside strings, so that every position stays. */
export function withoutComments(text: string): string {
  const commentOrString = /"(?:\\.|[^"\\\n])*"?|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g;
  return text.replace(commentOrString, (found) => (found.startsWith('"') ? found : found.replace(/[^\n]/g, " ")));
}

/** The spelling of an exact number; null when it is out of the range of doubles. */
export function exactNumber(text: string): ExactNumber | null {
  if (/^-?\d+$/.test(text)) return new ExactNumber(BigInt(text).toString());
  const value = Number(text);
  return Number.isFinite(value) ? new ExactNumber(pythonFloat(value)) : null;
}

/** A float as Python's `repr` spells it: always a point or an exponent, exponents below -4 and from 16 on. */
export function pythonFloat(value: number): string {
  if (value === 0) return Object.is(value, -0) ? "-0.0" : "0.0";
  const match = /^(-?)(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(value.toExponential());
  const [, sign = "", first = "", rest = "", power = "0"] = match ?? [];
  const exponent = Number(power);
  const digits = first + rest;
  if (exponent < -4 || exponent >= 16) {
    const size = String(Math.abs(exponent)).padStart(2, "0");
    return `${sign}${first}${rest && "."}${rest}e${exponent < 0 ? "-" : "+"}${size}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  return `${sign}${whole}.${digits.slice(exponent + 1) || "0"}`;
}

/** One line, as Python writes it: ASCII, `", "` and `": "`. With `indent`, as the config files are written. */
export function writeJson(value: Json, indent = 0, ascii = true): string {
  return write(value, indent, "\n", ascii);
}

function write(value: Json, indent: number, margin: string, ascii: boolean): string {
  if (value === null || typeof value === "boolean") return String(value);
  if (value instanceof ExactNumber) return value.text;
  if (typeof value === "string") return quoted(value, ascii);
  const inner = margin + " ".repeat(indent);
  const items = Array.isArray(value)
    ? value.map((item) => write(item, indent, inner, ascii))
    : Array.from(value, ([key, item]) => `${quoted(key, ascii)}: ${write(item, indent, inner, ascii)}`);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (!items.length) return open + close;
  return indent ? `${open}${inner}${items.join(`,${inner}`)}${margin}${close}` : `${open}${items.join(", ")}${close}`;
}

function quoted(text: string, ascii: boolean): string {
  const plain = JSON.stringify(text);
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return ascii ? plain.replace(/[\u007f-\uffff]/g, escaped) : plain;
}

/** The same value for code that wants plain JavaScript; integers beyond 2^53 lose digits, so never write it back. */
export function plain(value: Json): unknown {
  if (value instanceof ExactNumber) return Number(value.text);
  if (Array.isArray(value)) return value.map(plain);
  return value instanceof Map ? Object.fromEntries(Array.from(value, ([key, item]) => [key, plain(item)])) : value;
}

/** An exact value of plain JavaScript data; undefined members are left out. */
export function exact(value: unknown): Json {
  if (typeof value === "number") return new ExactNumber(Number.isInteger(value) ? String(BigInt(value)) : pythonFloat(value));
  if (Array.isArray(value)) return value.map(exact);
  if (value instanceof Map || value instanceof ExactNumber) return value as Json;
  if (typeof value === "object" && value !== null) {
    return new Map(Object.entries(value).flatMap(([key, item]) => (item === undefined ? [] : [[key, exact(item)] as const])));
  }
  return value as null | boolean | string;
}

class Reader {
  readonly places = new Map<string, readonly [number, number]>();
  private at = 0;
  constructor(private readonly text: string) {}

  whole(): Json {
    const value = this.value(0, "");
    this.blanks();
    if (this.at < this.text.length) this.fail("something follows the value");
    return value;
  }

  private value(depth: number, pointer: string): Json {
    this.blanks();
    if (depth > DEEPEST) this.fail("it is nested too deeply");
    const start = this.at;
    const value = this.any(depth, pointer);
    this.places.set(pointer, [start, this.at]);
    return value;
  }

  private any(depth: number, pointer: string): Json {
    const next = this.text[this.at];
    if (next === "{") return this.object(depth, pointer);
    if (next === "[") return this.array(depth, pointer);
    if (next === '"') return this.string();
    return this.number() ?? this.word();
  }

  private object(depth: number, pointer: string): JsonObject {
    const found: JsonObject = new Map();
    this.items("}", () => {
      const start = this.at;
      if (this.text[start] !== '"') this.fail("a key in double quotes is missing");
      const key = this.string();
      if (found.has(key)) this.fail(`the key ${key} is given twice`, start);
      this.blanks();
      if (this.text[this.at] !== ":") this.fail("a colon is missing after the key");
      this.at += 1;
      found.set(key, this.value(depth + 1, `${pointer}/${key.replace(/~/g, "~0").replace(/\//g, "~1")}`));
    });
    return found;
  }

  private array(depth: number, pointer: string): Json[] {
    const found: Json[] = [];
    this.items("]", () => found.push(this.value(depth + 1, `${pointer}/${found.length}`)));
    return found;
  }

  private items(close: string, one: () => void): void {
    this.at += 1;
    this.blanks();
    while (this.text[this.at] !== close) {
      one();
      this.blanks();
      if (this.text[this.at] === close) break;
      const comma = this.at;
      if (this.text[comma] !== ",") this.fail(`a comma or ${close} is missing`);
      this.at += 1;
      this.blanks();
      if (this.text[this.at] === close) this.fail(`a comma before ${close} is not JSON`, comma);
    }
    this.at += 1;
  }

  private string(): string {
    const raw = this.match(STRING);
    if (raw === null) this.fail("the text in quotes never ends, or holds a character that must be escaped");
    return JSON.parse(raw) as string;
  }

  private number(): ExactNumber | null {
    const start = this.at;
    const raw = this.match(NUMBER);
    if (raw === null) return null;
    if (/[\w.]/.test(this.text[this.at] ?? "")) this.fail("this is not a number of JSON", start);
    if (/^-?\d+$/.test(raw) && raw.length > MOST_DIGITS) this.fail("the number has more than 4,300 digits", start);
    return exactNumber(raw) ?? this.fail(`${raw} is out of range`, start);
  }

  private word(): Json {
    const start = this.at;
    const word = this.match(WORD);
    if (word === "true" || word === "false") return word === "true";
    if (word === "null") return null;
    return this.fail(word ? `${word} is not JSON` : "a value is missing", start);
  }

  private match(pattern: RegExp): string | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0] ?? null;
    this.at += found?.length ?? 0;
    return found;
  }

  private blanks(): void {
    while (/[ \t\r\n]/.test(this.text[this.at] ?? "")) this.at += 1;
  }

  private fail(problem: string, at = this.at): never {
    const before = this.text.slice(0, at).split("\n");
    throw new JsonError(problem, before.length, (before.at(-1)?.length ?? 0) + 1);
  }
}
