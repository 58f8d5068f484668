/** Whether a newer build of the console is there; looked for when somebody moves on to another page, never by reloading. */

import { entryOf } from "../core/version";

const EVERY_MS = 10_000;

class Newer {
  there = $state(false);
  private lookedAt = -EVERY_MS;

  async look(): Promise<void> {
    const now = performance.now();
    if (this.there || now - this.lookedAt < EVERY_MS) return;
    this.lookedAt = now;
    const own = document.querySelector<HTMLScriptElement>('script[type="module"]')?.getAttribute("src") ?? null;
    try {
      const answer = await fetch("./index.html", { cache: "no-cache" });
      const entry = answer.ok ? entryOf(await answer.text()) : null;
      this.there = entry !== null && entry !== own;
    } catch {
      // no answer now: the next page looks again
    }
  }
}

export const newer = new Newer();
