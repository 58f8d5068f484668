/** The bucket as the Files page shows it: what a folder of a job is for, which names miss theirs, and how a file can be looked at. */

/** The folders of a job, and what each is for. */
export const PURPOSES: Readonly<Record<string, string>> = {
  scripts: "your code",
  configs: "the three configs",
  requirements: "pip packages",
  shards: "one zip per worker",
  model: "a checkpoint to start from",
  files_out: "written by jobs: logs, metrics, your files",
  model_out: "written by jobs: trained models",
};

const NAMES: readonly string[] = Object.keys(PURPOSES);
const OTHERS: Readonly<Record<string, string>> = { data: "shards", dataset: "shards", datasets: "shards", code: "scripts", src: "scripts", checkpoint: "model", checkpoints: "model", weights: "model", results: "files_out", output: "files_out", outputs: "files_out" };

export interface FolderNote {
  readonly purpose: string;
  /** The name a job reads, when this one looks like it and is not. */
  readonly meant: string;
}

/** What there is to say of a folder `name` in `prefix`; only the folders directly in `jobs/<name>/` have a meaning. */
export function noteOn(prefix: string, name: string): FolderNote {
  if (!isWorkspace(prefix)) return { purpose: "", meant: "" };
  return { purpose: Object.hasOwn(PURPOSES, name) ? (PURPOSES[name] ?? "") : "", meant: meantBy(name) };
}

/** Whether a prefix is a job's folder. */
export function isWorkspace(prefix: string): boolean {
  return /^jobs\/[^/]+\/$/.test(prefix);
}

function meantBy(name: string): string {
  if (NAMES.includes(name)) return "";
  const plain = name.toLowerCase().replace(/[\s-]+/g, "_");
  const near = NAMES.find((each) => plain === each || (Math.min(plain.length, each.length) > 3 && distance(plain, each) <= 2));
  return near ?? (Object.hasOwn(OTHERS, plain) ? (OTHERS[plain] ?? "") : "");
}

/** How many letters must be put, taken or changed to make one of the other. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (const [line, letter] of Array.from(one).entries()) {
    const next = [line + 1];
    for (let at = 1; at <= other.length; at += 1) {
      next.push(Math.min((next[at - 1] as number) + 1, (row[at] as number) + 1, (row[at - 1] as number) + (letter === other[at - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[other.length] as number;
}

/** The last part of a key or prefix. */
export function nameIn(key: string): string {
  return key.replace(/\/$/, "").split("/").at(-1) ?? key;
}

/** The folder above a prefix; the root is above itself. */
export function above(prefix: string): string {
  return prefix.replace(/[^/]+\/$/, "");
}

/** What is wrong with a name for a file or folder; empty when nothing is. */
export function nameProblem(name: string): string {
  if (name.trim() === "") return "Type a name.";
  if (name.includes("/")) return "A name has no slash: make the folder first, then what is in it.";
  if (name === "." || name === "..") return "This name means a folder already.";
  return /[\p{C}]/u.test(name) ? "The name has a character that cannot be printed." : "";
}

/** Whether a running job guards a key or the whole of a folder. */
export function isGuarded(key: string, guarded: readonly string[]): boolean {
  return guarded.some((folder) => key.startsWith(folder));
}

export type Look = "text" | "json" | "table" | "image" | "zip" | "none";

const LOOKS: readonly (readonly [RegExp, Look, number])[] = [
  [/\.json$/i, "json", Infinity],
  [/\.[ct]sv$/i, "table", Infinity],
  [/\.(py|txt|md|ndjson|jsonl|log|ya?ml|toml|cfg|ini|sh|xml|html?)$/i, "text", Infinity],
  [/\.(png|jpe?g|gif|webp|svg)$/i, "image", 2e7],
  [/\.zip$/i, "zip", Infinity],
];

/** How a file can be looked at without downloading all of it. */
export function lookOf(key: string, size: number): Look {
  return LOOKS.find(([ending, , most]) => ending.test(key) && size <= most)?.[1] ?? "none";
}

/** The first bytes as text; a character cut at the end is left out. */
export function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes, { stream: true });
}

/** The whole rows of a CSV's head, by RFC 4180; `cut`: the text goes on, so its last row may not be whole. */
export function tableOf(text: string, cut: boolean, most = 50): readonly (readonly string[])[] {
  const separator = separatorOf(text);
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = "";
  let quoted = false;
  const endRow = () => {
    rows.push([...row, cell]);
    row = [];
    cell = "";
  };
  for (let at = 0; at < text.length && rows.length < most; at += 1) {
    const letter = text.charAt(at);
    if (quoted) {
      if (letter !== '"') cell += letter;
      else if (text.charAt(at + 1) === '"') cell += text.charAt((at += 1));
      else quoted = false;
    } else if (letter === '"' && cell === "") quoted = true;
    else if (letter === separator) {
      row.push(cell);
      cell = "";
    } else if (letter === "\n") endRow();
    else if (letter !== "\r") cell += letter;
  }
  if (!cut && rows.length < most && (cell || row.length)) endRow();
  return rows;
}

function separatorOf(text: string): string {
  const first = text.split("\n", 1)[0] ?? "";
  const counted = [",", "\t", ";"].map((each) => [first.split(each).length, each] as const);
  return counted.reduce((best, each) => (each[0] > best[0] ? each : best))[1];
}

/** A word as a POSIX shell reads it back. */
export function shellWord(text: string): string {
  return /^[\w./:=-]+$/.test(text) && !text.startsWith("-") ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** The lines that fetch a folder: of the command line of Tutti, and of AWS's. No secret is in them. */
export function fetchLines(site: string, prefix: string, bucket: string, endpoint: string | null): { readonly tutti: string; readonly aws: string } {
  const to = shellWord(prefix ? nameIn(prefix) : bucket);
  const from = shellWord(`s3://${bucket}/${prefix}`);
  return {
    tutti: [`tutti login ${shellWord(site)}`, `tutti fetch ${prefix ? `${shellWord(prefix)} ` : ""}--out ${to}`].join("\n"),
    aws: `aws s3 cp --recursive ${endpoint ? `--endpoint-url ${shellWord(endpoint)} ` : ""}${from} ${to}`,
  };
}
