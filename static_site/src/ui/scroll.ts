/** Where each step of the tab's history was scrolled to, so that Back and Forward show what was seen. */

const PATIENCE_MS = 4000;

export class Scrolls {
  private readonly seen = new Map<string, number>();
  private here = "";
  private stop: () => void = () => undefined;

  constructor() {
    history.scrollRestoration = "manual"; // the browser restores before the page is there
    this.arrive();
  }

  /** Another step of the history is shown: where it was left, null when it is new. */
  arrive(): number | null {
    if (this.here) this.seen.set(this.here, scrollY);
    const state: unknown = history.state;
    const known = typeof state === "string" ? state : null;
    this.here = known ?? crypto.randomUUID();
    if (known === null) history.replaceState(this.here, "");
    return known === null ? null : (this.seen.get(known) ?? 0);
  }

  /** Scroll there as soon as the page is long enough; given up when the user scrolls first. */
  to(top: number): void {
    this.stop();
    scrollTo(0, top);
    if (scrollY >= top - 1) return;
    const off = new AbortController();
    const watch = new ResizeObserver(() => {
      scrollTo(0, top);
      if (scrollY >= top - 1) this.stop();
    });
    const late = setTimeout(() => this.stop(), PATIENCE_MS);
    this.stop = () => {
      watch.disconnect();
      clearTimeout(late);
      off.abort();
    };
    for (const kind of ["wheel", "touchmove", "keydown", "pointerdown"]) addEventListener(kind, () => this.stop(), { signal: off.signal, passive: true });
    watch.observe(document.body);
  }
}
