/** Drafts live in this browser: one entry each, every field of steps 1 to 4 and the step that was reached. */

import { isStep, type Step } from "./router";

export interface Draft {
  readonly id: string;
  /** As typed; the folder's name follows from it. */
  readonly title: string;
  readonly step: Step;
  readonly savedAt: number;
  /** The values of steps 1 to 4; read them with `restored`, as a later site may know other fields. */
  readonly values: unknown;
  /** The workspace built from this draft, once there is one, and the state it was built in. */
  readonly workspace: string | null;
  readonly etag: string | null;
  /** What was generated when the workspace was last built, by path: what hand edits are told apart from. */
  readonly generated: Readonly<Record<string, string>>;
  /** Makes the launch idempotent: the same draft launches one job. */
  readonly launchToken: string;
}

type Store = Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">;

const PREFIX = "tutti.draft.";
const FORMAT = 1;

export class Drafts {
  constructor(private readonly store: Store) {}

  /** All drafts, the newest first; an entry that cannot be read is left alone and not listed. */
  list(): readonly Draft[] {
    const keys = Array.from({ length: this.store.length }, (_, index) => this.store.key(index) ?? "");
    const found = keys.filter((key) => key.startsWith(PREFIX)).flatMap((key) => readDraft(this.store.getItem(key)) ?? []);
    return found.sort((a, b) => b.savedAt - a.savedAt);
  }

  get(id: string): Draft | null {
    return readDraft(this.store.getItem(PREFIX + id));
  }

  /** Save it; a full or forbidden storage throws, and the caller says so. */
  save(draft: Draft): void {
    this.store.setItem(PREFIX + draft.id, writeDraft(draft));
  }

  remove(id: string): void {
    this.store.removeItem(PREFIX + id);
  }

  /** All drafts as one file's text. */
  exported(): string {
    return JSON.stringify({ format: FORMAT, drafts: this.list() }, null, 1);
  }

  /** Take drafts from such a text; how many there were. A text that is none: an Error that says so. */
  import(text: string): number {
    const drafts = readExport(text);
    for (const draft of drafts) this.save(draft);
    return drafts.length;
  }

  /** Whether a storage event of another tab is about drafts. */
  concerns(key: string | null): boolean {
    return key === null || key.startsWith(PREFIX);
  }
}

export function writeDraft(draft: Draft): string {
  return JSON.stringify({ format: FORMAT, ...draft });
}

function readDraft(text: string | null): Draft | null {
  try {
    return text === null ? null : checked(JSON.parse(text));
  } catch {
    return null;
  }
}

function readExport(text: string): readonly Draft[] {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    throw new Error("This file is not JSON, so it holds no drafts.");
  }
  const list = (found as { drafts?: unknown } | null)?.drafts;
  const drafts = Array.isArray(list) ? list.flatMap((each) => checked(each) ?? []) : [];
  if (!drafts.length) throw new Error("This file holds no drafts of Tutti.");
  return drafts;
}

function checked(value: unknown): Draft | null {
  const it = value as Partial<Draft> | null;
  if (typeof it !== "object" || it === null || typeof it.id !== "string" || typeof it.launchToken !== "string") return null;
  if (typeof it.step !== "string" || !isStep(it.step)) return null;
  return {
    id: it.id,
    title: typeof it.title === "string" ? it.title : "",
    step: it.step,
    savedAt: typeof it.savedAt === "number" ? it.savedAt : 0,
    values: it.values ?? {},
    workspace: typeof it.workspace === "string" ? it.workspace : null,
    etag: typeof it.etag === "string" ? it.etag : null,
    generated: textsOf(it.generated),
    launchToken: it.launchToken,
  };
}

function textsOf(value: unknown): Readonly<Record<string, string>> {
  const entries = typeof value === "object" && value !== null ? Object.entries(value) : [];
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}
