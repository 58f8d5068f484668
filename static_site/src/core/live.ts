/** Following a job: one poll after another at the server's pace, none while nobody looks, none after the end. */

import { Refused } from "./errors";

export interface Answer {
  readonly seq: number;
  readonly more?: boolean;
  readonly next_in_ms: number | null;
}

export interface LiveWorld {
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly random: () => number;
  /** Resolves at once when the page is seen, else when it is again. */
  readonly visible: () => Promise<void>;
}

export interface Listener<A> {
  heard(answer: A): void;
  /** Asking failed; it goes on after `seconds`. null: it works again. */
  troubled(seconds: number | null): void;
  /** The job is over, or gone (`lost` says why): nothing more will come. */
  ended(lost: string | null): void;
}

const LONGEST_WAIT_MS = 30_000;

/** Ask for what is newer than `after` until the job is over; aborting `signal` ends it in silence. */
export async function follow<A extends Answer>(
  ask: (after: number, signal: AbortSignal) => Promise<A>,
  listener: Listener<A>,
  world: LiveWorld,
  signal: AbortSignal,
  after = 0,
): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    await world.visible();
    if (signal.aborted) return;
    let pause: number;
    try {
      const answer = await ask(after, signal);
      if (failures) listener.troubled(null);
      failures = 0;
      after = answer.seq;
      listener.heard(answer);
      if (answer.next_in_ms === null && !answer.more) return listener.ended(null);
      pause = answer.more ? 0 : jittered(answer.next_in_ms ?? 0, world);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Refused && error.status === 404) return listener.ended(error.message);
      failures += 1;
      pause = Math.min(LONGEST_WAIT_MS, 1000 * 2 ** (failures - 1));
      listener.troubled(Math.round(pause / 1000));
    }
    await world.wait(pause, signal);
  }
}

function jittered(ms: number, world: LiveWorld): number {
  return ms * (0.9 + 0.2 * world.random());
}
