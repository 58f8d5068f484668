/** Three-way merge of configs: what the user changed by hand, over files generated anew after an earlier step changed. */

import { type Json, readJson, withoutComments, writeJson } from "./json";

type Maybe = Json | undefined;

/** A place that both sides changed, to different values; undefined: that side has nothing there. */
export interface Conflict {
  readonly path: readonly string[];
  readonly mine: Maybe;
  readonly theirs: Maybe;
}

export interface Merged {
  readonly value: Json;
  /** At each of them the hand's value stands. */
  readonly conflicts: readonly Conflict[];
}

/** `mine` and `theirs` both came from `base`: every change of either is in the result. */
export function mergeJson(base: Json, mine: Json, theirs: Json): Merged {
  const conflicts: Conflict[] = [];
  return { value: merged(base, mine, theirs, [], conflicts) ?? null, conflicts };
}

function merged(base: Maybe, mine: Maybe, theirs: Maybe, path: readonly string[], conflicts: Conflict[]): Maybe {
  if (same(mine, theirs) || same(base, theirs)) return mine;
  if (same(base, mine)) return theirs;
  if (mine instanceof Map && theirs instanceof Map) {
    const old = base instanceof Map ? base : new Map<string, Json>();
    const keys = new Set([...theirs.keys(), ...mine.keys()]);
    const entries = Array.from(keys, (key) => [key, merged(old.get(key), mine.get(key), theirs.get(key), [...path, key], conflicts)] as const);
    return new Map(entries.flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const])));
  }
  if (Array.isArray(base) && Array.isArray(mine) && Array.isArray(theirs) && base.length === mine.length && base.length === theirs.length) {
    return base.map((_, index) => merged(base[index], mine[index], theirs[index], [...path, String(index)], conflicts) ?? null);
  }
  conflicts.push({ path, mine, theirs });
  return mine;
}

function same(a: Maybe, b: Maybe): boolean {
  return a === b || (a !== undefined && b !== undefined && writeJson(a) === writeJson(b));
}

/** The value with another one at this path; undefined takes it out. A path that leads nowhere changes nothing. */
export function withValue(whole: Json, path: readonly string[], value: Maybe): Json {
  const [key, ...rest] = path;
  if (key === undefined) return value ?? null;
  if (Array.isArray(whole)) return whole.map((item, index) => (String(index) === key ? withValue(item, rest, value) : item));
  if (!(whole instanceof Map)) return whole;
  const copy = new Map(whole);
  const inside = copy.get(key);
  if (rest.length === 0 && value === undefined) copy.delete(key);
  else if (rest.length === 0) copy.set(key, value as Json);
  else if (inside !== undefined) copy.set(key, withValue(inside, rest, value));
  return copy;
}

/** A config as an editor opens it. */
export interface Opened {
  readonly text: string;
  readonly conflicts: readonly Conflict[];
  /** Set when the two could not be merged, and the hand's text stands as it was: why. */
  readonly unmerged: string;
}

/** The text to edit, of what the steps give now, what the user's edit began from (null: unknown), and the edit. */
export function reopened(generated: string, base: string | null, mine: string): Opened {
  const plain = { conflicts: [], unmerged: "" };
  if (base === mine) return { text: generated, ...plain };
  if (base === null || base === generated || mine === generated) return { text: mine, ...plain };
  if (withoutComments(mine) !== mine) return { text: mine, conflicts: [], unmerged: "it has comments, which a merge would lose" };
  try {
    const { value, conflicts } = mergeJson(readJson(base), readJson(mine), readJson(generated));
    return { text: configText(value), conflicts, unmerged: "" };
  } catch {
    return { text: mine, conflicts: [], unmerged: "it is not JSON" };
  }
}

/** The text with one conflict decided for what the steps give. */
export function decided(text: string, { path, theirs }: Conflict): string {
  return configText(withValue(readJson(text), path, theirs));
}

/** A config as the generator writes it. */
export function configText(value: Json): string {
  return `${writeJson(value, 2)}\n`;
}

/** What `num_classes` is for the workers and for the server's model, when they say different things. */
export function classesOf(client: string, server: string): readonly [string, string] | null {
  const [a, b] = [numClasses(client), numClasses(server)];
  return a !== null && b !== null && a !== b ? [a, b] : null;
}

function numClasses(text: string): string | null {
  try {
    return found(readJson(withoutComments(text)));
  } catch {
    return null; // the editor says what is wrong with it
  }
}

function found(value: Json): string | null {
  if (Array.isArray(value)) return value.map(found).find((each) => each !== null) ?? null;
  if (!(value instanceof Map)) return null;
  const own = value.get("num_classes");
  return own === undefined ? found(Array.from(value.values())) : writeJson(own);
}
