/** Building a workspace from the wizard's values: what would be written, writing it, writing it again. */

import type { Shapes } from "../core/api";
import { Refused } from "../core/errors";
import { href } from "../core/router";
import { requestOf } from "../core/wizard";
import { go, type World } from "../ui/world.svelte";
import type { Work } from "./work.svelte";

export interface FileText {
  readonly path: string;
  readonly text: string;
}

/** The files these values give, without writing any. */
export async function previewOf(world: World, work: Work): Promise<readonly FileText[]> {
  const request = requestOf(work.steps, work.values);
  return (await world.api.call<{ files: FileText[] }>("POST", "/wizard/preview", { exact: request })).files;
}

export interface Building {
  /** Write hand-edited files anew too; without it they are kept, and named when the steps would change them. */
  readonly overwrite?: boolean;
  /** The state the generated files were seen in; another one by now is refused. */
  readonly seen?: string | null;
}

/** Write the workspace, or write it again when this wizard wrote it before. */
export async function buildWorkspace(world: World, work: Work, { overwrite = false, seen = null }: Building = {}): Promise<Shapes["Built"]> {
  const exact = requestOf(work.steps, work.values);
  const files = await previewOf(world, work);
  const built = isBuilt(work)
    ? await world.api.call<Shapes["Built"]>("PUT", `/workspaces/${encodeURIComponent(work.workspace ?? "")}`, { exact, ifMatch: seen ?? (await builtNow(world, work)).etag, query: { overwrite: overwrite ? "true" : null } })
    : await world.api.call<Shapes["Built"]>("POST", "/workspaces", { exact });
  const kept = new Set(overwrite ? [] : built.files.filter(({ edited }) => edited).map(({ path }) => path));
  const stale = files.filter(({ path, text }) => kept.has(path) && text !== work.generated[path]);
  work.built(built.name, built.etag);
  work.remember({ ...work.generated, ...Object.fromEntries(files.filter(({ path }) => !kept.has(path)).map(({ path, text }) => [path, text])) });
  if (stale.length) world.toast(`Edited by hand, so kept as it is: ${stale.map(({ path }) => path).join(", ")}. What you changed in the steps is not in there.`, "Review", () => go(href({ page: "wizard", step: "advanced" }, work.query)));
  return built;
}

/** Whether this wizard wrote its workspace before, under the name that it has now. */
export function isBuilt(work: Work): boolean {
  return work.isBuilt;
}

/** The generated files as the bucket holds them. */
export async function builtNow(world: World, work: Work): Promise<Shapes["Built"]> {
  try {
    return await world.api.get<Shapes["Built"]>(`/workspaces/${encodeURIComponent(work.workspace ?? "")}/built`);
  } catch (error) {
    if (error instanceof Refused && error.status === 404) throw new Refused(404, error.code, `The workspace ${work.workspace ?? ""} is gone from your bucket.`, "Change the name in step 1 to build it anew.");
    throw error;
  }
}
