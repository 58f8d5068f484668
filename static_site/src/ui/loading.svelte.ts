/** Something a page asks the API for: its value, its error, and asking again. */

export class Loading<T> {
  value: T | null = $state.raw(null);
  error: unknown = $state.raw(null);
  busy = $state(false);
  /** True once it has taken longer than people notice. */
  slow = $state(false);
  private turn = 0;

  constructor(private readonly ask: (signal: AbortSignal) => Promise<T>) {}

  /** Ask now; an older answer that comes later is dropped. */
  async load(): Promise<T | null> {
    const turn = (this.turn += 1);
    const slow = setTimeout(() => (this.slow = true), 200);
    this.busy = true;
    try {
      const value = await this.ask(new AbortController().signal);
      if (turn !== this.turn) return null;
      this.value = value;
      this.error = null;
      return value;
    } catch (error) {
      if (turn === this.turn) this.error = error;
      return null;
    } finally {
      clearTimeout(slow);
      if (turn === this.turn) {
        this.busy = false;
        this.slow = false;
      }
    }
  }
}
