/** Drafts live in this browser: one entry each, every field of steps 1 to 4 and the step that was reached. */

import { isStep, type Step } from "./router";

/** A config's text as edited, and the generated text that the edit began from. */
export interface Edit {
  readonly text: string;
  readonly base: string;
}

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
  /** Configs edited by hand and not yet in the bucket, by path. */
  readonly edits?: Readonly<Record<string, Edit>>;
  /** Advanced was skipped: the files are as the steps gave them. */
  readonly skipped?: boolean;
  /** Makes the launch idempotent: the same draft launches one job. */
  readonly launchToken: string;
}

type Store = Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">;

/** An entry that is there and cannot be opened, and why. */
export interface Unreadable {
  readonly id: string;
  readonly why: string;
}

/** What came of a file of drafts: how many were taken, and how many stayed because the one here is newer. */
export interface Imported {
  readonly taken: number;
  readonly kept: number;
}

const PREFIX = "tutti.draft.";
/** Grows when a saved draft cannot be read by the sites before. */
const FORMAT = 1;
const NEWER = "It was saved by a newer version of the console. Reload this page to get that version; the draft stays as it is.";
const DAMAGED = "It is damaged, or from a version too old to be read. Export keeps it as it is; Delete removes it.";

export class Drafts {
  constructor(private readonly store: Store) {}

  /** All drafts, the newest first; an entry that cannot be read is left alone and named by `unreadable`. */
  list(): readonly Draft[] {
    const found = this.ids().flatMap((id) => this.get(id) ?? []);
    return found.sort((a, b) => b.savedAt - a.savedAt);
  }

  /** The entries that cannot be opened, each with why. */
  unreadable(): readonly Unreadable[] {
    return this.ids()
      .filter((id) => this.get(id) === null)
      .map((id) => ({ id, why: isNewer(this.store.getItem(PREFIX + id)) ? NEWER : DAMAGED }));
  }

  get(id: string): Draft | null {
    const draft = readDraft(this.store.getItem(PREFIX + id));
    return draft && { ...draft, id }; // the entry's name counts, so that no two are the same draft
  }

  /** Save it; a full or forbidden storage throws, and the caller says so. */
  save(draft: Draft): void {
    this.store.setItem(PREFIX + draft.id, writeDraft(draft));
  }

  remove(id: string): void {
    this.store.removeItem(PREFIX + id);
  }

  /** All drafts as one file's text, with the entries that cannot be read as they are. */
  exported(): string {
    const unreadable = this.unreadable().map(({ id }) => ({ id, text: this.store.getItem(PREFIX + id) }));
    return JSON.stringify({ format: FORMAT, drafts: this.list(), ...(unreadable.length ? { unreadable } : {}) }, null, 1);
  }

  /** Take drafts from such a text, but none over one that was saved later here. A text that is none: an Error that says so. */
  import(text: string): Imported {
    const drafts = readExport(text);
    const taken = drafts.filter((draft) => draft.savedAt >= (this.get(draft.id)?.savedAt ?? 0));
    for (const draft of taken) this.save(draft);
    return { taken: taken.length, kept: drafts.length - taken.length };
  }

  /** Whether a storage event of another tab is about drafts. */
  concerns(key: string | null): boolean {
    return key === null || key.startsWith(PREFIX);
  }

  private ids(): readonly string[] {
    const keys = Array.from({ length: this.store.length }, (_, index) => this.store.key(index) ?? "");
    return keys.filter((key) => key.startsWith(PREFIX)).map((key) => key.slice(PREFIX.length));
  }
}

export function writeDraft(draft: Draft): string {
  return JSON.stringify({ format: FORMAT, ...draft });
}

function readDraft(text: string | null): Draft | null {
  return text === null || isNewer(text) ? null : checked(parsed(text));
}

function isNewer(text: string | null): boolean {
  const format = (parsed(text ?? "") as { format?: unknown } | null)?.format;
  return typeof format === "number" && format > FORMAT;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
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
    ...(it.skipped === true ? { skipped: true } : {}),
    ...(it.edits ? { edits: editsOf(it.edits) } : {}),
    launchToken: it.launchToken,
  };
}

function textsOf(value: unknown): Readonly<Record<string, string>> {
  const entries = typeof value === "object" && value !== null ? Object.entries(value) : [];
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}

function editsOf(value: unknown): Readonly<Record<string, Edit>> {
  const isEdit = (edit: unknown): edit is Edit => typeof (edit as Edit | null)?.text === "string" && typeof (edit as Edit).base === "string";
  return Object.fromEntries(Object.entries(value as object).filter((entry): entry is [string, Edit] => isEdit(entry[1])));
}
