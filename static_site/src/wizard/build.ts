/** Building a workspace from the wizard's values: what would be written, writing it, writing it again. */

import type { Shapes } from "../core/api";
import { Refused } from "../core/errors";
import { requestOf } from "../core/wizard";
import type { World } from "../ui/world.svelte";
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

/** Write the workspace, or write it again when this wizard wrote it before; files edited by hand are kept. */
export async function buildWorkspace(world: World, work: Work, overwrite = false): Promise<Shapes["Built"]> {
  const exact = requestOf(work.steps, work.values);
  const built =
    work.workspace !== null && work.etag !== null
      ? await world.api.call<Shapes["Built"]>("PUT", `/workspaces/${encodeURIComponent(work.workspace)}`, { exact, ifMatch: await currentEtag(world, work), query: { overwrite: overwrite ? "true" : null } })
      : await world.api.call<Shapes["Built"]>("POST", "/workspaces", { exact });
  work.built(built.name, built.etag);
  return built;
}

/** Edits of configs by another hand change the state; they are kept, so building over them is safe. */
async function currentEtag(world: World, work: Work): Promise<string> {
  try {
    return (await world.api.get<Shapes["Built"]>(`/workspaces/${encodeURIComponent(work.workspace ?? "")}/built`)).etag;
  } catch (error) {
    if (error instanceof Refused && error.status === 404) throw new Refused(404, error.code, `The workspace ${work.workspace ?? ""} is gone from your bucket.`, "Change the name in step 1 to build it anew.");
    throw error;
  }
}
