/** One wizard under way: what was typed, the step it is at, and its draft. */

import type { Draft } from "../core/drafts";
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
  /** What could not be saved, in words. */
  trouble = $state("");
  readonly id: string;
  generated: Readonly<Record<string, string>> = {};
  private launchToken: string;
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
    this.stored = draft !== null;
  }

  get title(): string {
    const typed = this.values["name"]?.["name"];
    return typeof typed === "string" ? typed : "";
  }

  get name(): string | null {
    return this.workspace ?? cleanName(this.title);
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

  /** Save the draft at this step, as Continue does. */
  save(step: Step): void {
    if (STEPS.indexOf(step) > STEPS.indexOf(this.reached)) this.reached = step;
    this.stored = true;
    this.write(step);
  }

  /** Save at once what was typed last, if there is a draft already. */
  flush(): void {
    if (this.timer !== undefined) this.write();
  }

  /** The draft as it is, for undoing its deletion. */
  draft(step: Step = this.at): Draft {
    return { id: this.id, title: this.title, step, savedAt: Date.now(), values: this.values, workspace: this.workspace, etag: this.etag, generated: this.generated, launchToken: this.launchToken };
  }

  remove(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.stored = false;
    this.world.drafts.remove(this.id);
    this.world.touchDrafts();
  }

  /** A new launch, after one that ended. */
  renewToken(): void {
    this.launchToken = crypto.randomUUID();
  }

  private at: Step = "name";

  private later(): void {
    if (!this.stored) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.write(), AUTOSAVE_MS);
  }

  private write(step: Step = this.at): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.at = step;
    try {
      this.world.drafts.save(this.draft(step));
      this.trouble = "";
    } catch {
      this.trouble = "The browser could not save the draft: its storage is full or forbidden. What you typed stays on this page.";
    }
    this.world.touchDrafts();
  }
}
