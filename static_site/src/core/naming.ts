/** The name of a workspace, from what a user types: the API's rule, character for character. */

const LONGEST = 63;
const BLANK = "[\\t\\n\\v\\f\\r \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const AT_THE_ENDS = new RegExp(`^${BLANK}+|${BLANK}+$`, "g");
const ANYWHERE = new RegExp(BLANK, "g");

/** The folder name these keystrokes give; null when no letter or digit is left. */
export function cleanName(typed: string): string | null {
  const folded = typed.normalize("NFKD").replace(AT_THE_ENDS, "").toLowerCase();
  const name = folded.replace(ANYWHERE, "-").replace(/[^a-z0-9_-]/g, "").slice(0, LONGEST);
  return /[a-z0-9]/.test(name) ? name : null;
}

/** `name` when it is free, else the first free of `name-2`, `name-3` …, cut so that 63 are not passed. */
export function freeName(name: string, taken: ReadonlySet<string>): string {
  let free = name;
  for (let n = 2; taken.has(free); n += 1) free = `${name.slice(0, LONGEST - String(n).length - 1)}-${n}`;
  return free;
}
