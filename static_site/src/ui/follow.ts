/** Following a job from a page, as the browser lets it: silent while nobody looks. */

import type { Shapes } from "../core/api";
import { follow, type Listener } from "../core/live";
import type { World } from "./world.svelte";

export type Live = Shapes["LiveView"];

const browser = {
  random: Math.random,
  wait: (ms: number, signal: AbortSignal) =>
    new Promise<void>((done) => {
      const timer = setTimeout(done, ms);
      signal.addEventListener("abort", () => (clearTimeout(timer), done()), { once: true });
      document.addEventListener("visibilitychange", () => document.hidden || done(), { once: true });
    }),
  visible: () =>
    document.hidden
      ? new Promise<void>((seen) => {
          const look = () => {
            if (document.hidden) return;
            document.removeEventListener("visibilitychange", look);
            seen();
          };
          document.addEventListener("visibilitychange", look);
        })
      : Promise.resolve(),
};

/** Tell the listener everything from the first change on, until the job is over. */
export function followJob(world: World, id: string, listener: Listener<Live>, signal: AbortSignal): Promise<void> {
  return follow((after, off) => world.api.get<Live>(`/jobs/${encodeURIComponent(id)}/live`, { after }, off), listener, browser, signal);
}
