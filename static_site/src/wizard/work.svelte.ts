/** One wizard under way: what was typed, the step it is at, and its draft. */

import type { Draft, Edit } from "../core/drafts";
import { cleanName } from "../core/naming";
import { STEPS, type Step } from "../core/router";
import { type FieldValue, type FormValues, initialValues, type Problems, problemsOf, restored, type StepForm } from "../core/wizard";
import type { World } from "../ui/world.svelte";

const AUTOSAVE_MS = 400;

export class Work {
  values: FormValues = $state.raw({});
  workspace: string | null = $state(null);
  etag: string | null = $state(null);
  reached: Step = $state("name");
  /** Advanced was skipped, so that it is drawn as an open note. */
  skipped = $state(false);
  /** What could not be saved, in words. */
  trouble = $state("");
  readonly id: string;
  generated: Readonly<Record<string, string>> = {};
  /** Configs edited by hand and not yet in the bucket. */
  edits: Readonly<Record<string, Edit>> = {};
  private launchToken: string;
  private savedAt: number;
  private stored: boolean;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly world: World,
    readonly steps: readonly StepForm[],
    draft: Draft | null,
    workspace: string | null,
  ) {
    this.id = draft?.id ?? crypto.randomUUID();
    this.launchToken = draft?.launchToken ?? crypto.randomUUID();
    this.values = draft ? restored(steps, draft.values) : initialValues(steps);
    this.workspace = draft?.workspace ?? workspace;
    this.etag = draft?.etag ?? null;
    this.reached = draft?.step ?? (workspace ? "validate" : "name");
    this.generated = draft?.generated ?? {};
    this.skipped = draft?.skipped ?? false;
    this.edits = draft?.edits ?? {};
    this.stored = draft !== null;
    this.savedAt = draft?.savedAt ?? 0;
  }

  get title(): string {
    const typed = this.values["name"]?.["name"];
    return typeof typed === "string" ? typed : "";
  }

  get name(): string | null {
    return this.workspace ?? cleanName(this.title);
  }

  /** Whether this wizard wrote a workspace of the name that is typed now, so that building writes it again. */
  get isBuilt(): boolean {
    return this.etag !== null && this.workspace !== null && this.workspace === cleanName(this.title);
  }

  get token(): string {
    return this.launchToken;
  }

  /** The query by which a step's address names this work. */
  get query(): { draft?: string; workspace?: string } {
    if (this.stored) return { draft: this.id };
    return this.workspace ? { workspace: this.workspace } : {};
  }

  form(key: string): StepForm {
    return this.steps.find((step) => step.key === key) ?? { key, title: key, help: "", fields: [] };
  }

  problems(key: string): Problems {
    return problemsOf(this.form(key), this.values[key] ?? {});
  }

  set(step: string, field: string, value: FieldValue): void {
    this.values = { ...this.values, [step]: { ...this.values[step], [field]: value } };
    this.later();
  }

  replace(step: string, values: FormValues[string]): void {
    this.values = { ...this.values, [step]: values };
    this.later();
  }

  /** The wizard wrote the workspace in this state. */
  built(workspace: string, etag: string): void {
    this.workspace = workspace;
    this.etag = etag;
    this.later();
  }

  /** What the steps gave when the workspace was built. */
  remember(generated: Readonly<Record<string, string>>): void {
    this.generated = generated;
    this.later();
  }

  /** A config as edited by hand; null: what the bucket holds, or the steps give, is what stands. */
  edited(path: string, edit: Edit | null): void {
    const { [path]: _, ...others } = this.edits;
    this.edits = edit === null ? others : { ...others, [path]: edit };
    this.later();
  }

  /** Advanced was passed over, or looked at after all. */
  skip(skipped: boolean): void {
    if (this.skipped === skipped) return;
    this.skipped = skipped;
    this.later();
  }

  /** Save the draft, which has now reached this step; false when the browser refuses, and `trouble` says so. */
  save(step: Step): boolean {
    if (STEPS.indexOf(step) > STEPS.indexOf(this.reached)) this.reached = step;
    const saved = this.write();
    this.stored ||= saved;
    return saved;
  }

  /** Whether this is the work of that draft as it was last saved, here and not in another tab. */
  isOf(draft: Draft): boolean {
    return this.stored && draft.id === this.id && draft.savedAt === this.savedAt;
  }

  /** Save at once what was typed last, if there is a draft already. */
  flush(): void {
    if (this.timer !== undefined) this.write();
  }

  /** The draft as it is, for undoing its deletion. */
  draft(): Draft {
    return { id: this.id, title: this.title, step: this.reached, savedAt: Date.now(), values: this.values, workspace: this.workspace, etag: this.etag, generated: this.generated, skipped: this.skipped, edits: this.edits, launchToken: this.launchToken };
  }

  remove(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.stored = false;
    if (this.world.work === this) this.world.work = null;
    this.world.drafts.remove(this.id);
    this.world.touchDrafts();
  }

  /** A new launch, after one that ended. */
  renewToken(): void {
    this.launchToken = crypto.randomUUID();
  }

  private later(): void {
    if (!this.stored) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.write(), AUTOSAVE_MS);
  }

  private write(): boolean {
    clearTimeout(this.timer);
    this.timer = undefined;
    try {
      const draft = this.draft();
      this.world.drafts.save(draft);
      this.savedAt = draft.savedAt;
      this.trouble = "";
    } catch {
      this.trouble = "The browser could not save the draft: its storage is full or forbidden. What you typed stays on this page; delete old drafts or allow storage for this site, then go on.";
    }
    this.world.touchDrafts();
    return this.trouble === "";
  }
}
