/** Three-way merge of configs: what the user changed by hand, over files generated anew after an earlier step changed. */

import { type Json, writeJson } from "./json";

export interface Merged {
  readonly value: Json;
  /** JSON pointers that both sides changed, to different values; the hand's value stands there. */
  readonly conflicts: readonly string[];
}

/** `mine` and `theirs` both came from `base`: every change of either is in the result. */
export function mergeJson(base: Json, mine: Json, theirs: Json): Merged {
  const conflicts: string[] = [];
  return { value: merged(base, mine, theirs, "", conflicts) ?? null, conflicts };
}

type Maybe = Json | undefined;

function merged(base: Maybe, mine: Maybe, theirs: Maybe, pointer: string, conflicts: string[]): Maybe {
  if (same(mine, theirs) || same(base, theirs)) return mine;
  if (same(base, mine)) return theirs;
  if (mine instanceof Map && theirs instanceof Map) {
    const old = base instanceof Map ? base : new Map<string, Json>();
    const keys = new Set([...theirs.keys(), ...mine.keys()]);
    const entries = Array.from(keys, (key) => [key, merged(old.get(key), mine.get(key), theirs.get(key), `${pointer}/${key}`, conflicts)] as const);
    return new Map(entries.flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const])));
  }
  if (Array.isArray(base) && Array.isArray(mine) && Array.isArray(theirs) && base.length === mine.length && base.length === theirs.length) {
    return base.map((_, index) => merged(base[index], mine[index], theirs[index], `${pointer}/${index}`, conflicts) ?? null);
  }
  conflicts.push(pointer);
  return mine;
}

function same(a: Maybe, b: Maybe): boolean {
  return a === b || (a !== undefined && b !== undefined && writeJson(a) === writeJson(b));
}
