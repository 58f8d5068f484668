import { describe, expect, it } from "vitest";
import { Refused } from "../src/core/errors";
import { type Answer, follow, type LiveWorld } from "../src/core/live";

class Watch {
  readonly told: unknown[] = [];
  readonly waits: number[] = [];
  readonly asked: number[] = [];
  readonly stop = new AbortController();
  visible: () => Promise<void> = async () => undefined;

  async follow(...answers: (Answer | Error)[]): Promise<void> {
    const world: LiveWorld = { wait: async (ms) => void this.waits.push(ms), random: () => 0.5, visible: () => this.visible() };
    const ask = async (after: number) => {
      this.asked.push(after);
      const next = answers.shift();
      if (!next) {
        this.stop.abort();
        throw new Error("called off");
      }
      if (next instanceof Error) throw next;
      return next;
    };
    const listener = {
      heard: ({ seq }: Answer) => void this.told.push(seq),
      troubled: (seconds: number | null) => void this.told.push(`trouble ${seconds}`),
      ended: (lost: string | null) => void this.told.push(`ended ${lost}`),
    };
    await follow(ask, listener, world, this.stop.signal);
  }
}

describe("following", () => {
  it("asks for what is newer, at the server's pace, until the end", async () => {
    const watch = new Watch();
    await watch.follow({ seq: 3, next_in_ms: 2000 }, { seq: 5, more: true, next_in_ms: 3000 }, { seq: 9, next_in_ms: null });
    expect([watch.asked, watch.waits, watch.told]).toEqual([[0, 3, 5], [2000, 0], [3, 5, 9, "ended null"]]);
  });

  it("reads on to the end when the last answer was cut", async () => {
    const watch = new Watch();
    await watch.follow({ seq: 3, more: true, next_in_ms: null }, { seq: 4, next_in_ms: null });
    expect(watch.told).toEqual([3, 4, "ended null"]);
  });

  it("backs off to 30 s and says so, and says when it works again", async () => {
    const watch = new Watch();
    await watch.follow(...Array.from({ length: 7 }, () => new Error("gone")), { seq: 1, next_in_ms: null });
    expect(watch.waits).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
    expect(watch.told.slice(-3)).toEqual(["trouble null", 1, "ended null"]);
  });

  it("ends when the job is gone", async () => {
    const watch = new Watch();
    await watch.follow(new Refused(404, "job_not_found", "there is no such job"));
    expect(watch.told).toEqual(["ended there is no such job"]);
  });

  it("asks nothing while nobody looks", async () => {
    const watch = new Watch();
    watch.visible = async () => watch.stop.abort();
    await watch.follow({ seq: 1, next_in_ms: 10 });
    expect([watch.asked, watch.told]).toEqual([[], []]);
  });

  it("falls silent when it is called off", async () => {
    const watch = new Watch();
    await watch.follow({ seq: 1, next_in_ms: 10 });
    expect(watch.told).toEqual([1]);
  });
});
