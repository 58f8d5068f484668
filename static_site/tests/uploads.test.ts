import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Refused, Unreachable } from "../src/core/errors";
import { differs, type Memory, Meter, rangeOf, type SavedUpload, type Source, type Upload, type UploadDoor, Uploads, type World } from "../src/core/uploads";

const PART = 8;

/** A store as the API shows it: parts arrive in any order, completion counts them. */
class Store implements UploadDoor {
  readonly objects = new Map<string, string>();
  readonly puts: number[] = [];
  readonly aborted: string[] = [];
  signed = 0;
  private readonly parts = new Map<string, Map<number, string>>();
  private readonly open = new Map<string, { key: string; size: number }>();

  /** `trouble` is asked before each PUT and may throw. */
  constructor(private readonly trouble: (part: number, attempt: number, signal: AbortSignal) => Promise<void> | void = () => undefined) {}

  async start(key: string, size: number): Promise<Upload> {
    const id = `u${this.open.size}`;
    this.open.set(id, { key, size });
    this.parts.set(id, new Map());
    return { id, part_size: PART, parts: Math.max(1, Math.ceil(size / PART)) };
  }

  async stored(id: string): Promise<readonly { number: number; size: number }[]> {
    return Array.from(this.partsOf(id), ([number, text]) => ({ number, size: text.length }));
  }

  async sign(id: string, numbers: readonly number[]): Promise<readonly { number: number; url: string }[]> {
    this.signed += 1;
    return numbers.map((number) => ({ number, url: `${id}/${number}` }));
  }

  async put(url: string, body: Blob, signal: AbortSignal, sent: (bytes: number) => void): Promise<void> {
    const [id = "", part = ""] = url.split("/");
    const number = Number(part);
    this.puts.push(number);
    await this.trouble(number, this.puts.filter((each) => each === number).length, signal);
    if (signal.aborted) throw new DOMException("called off", "AbortError");
    sent(body.size);
    this.partsOf(id).set(number, await body.text());
  }

  async complete(id: string): Promise<void> {
    const { key, size } = this.open.get(id) ?? { key: "", size: -1 };
    const whole = Array.from(this.partsOf(id))
      .sort(([a], [b]) => a - b)
      .map(([, text]) => text)
      .join("");
    if (whole.length !== size) throw new Refused(409, "upload_incomplete", "parts are missing");
    this.objects.set(key, whole);
  }

  async abort(id: string): Promise<void> {
    this.aborted.push(id);
  }

  has(id: string, part: number, text: string): void {
    this.partsOf(id).set(part, text);
  }

  private partsOf(id: string): Map<number, string> {
    const found = this.parts.get(id);
    if (!found) throw new Refused(404, "upload_not_found", "no such upload");
    return found;
  }
}

class Remembered implements Memory {
  readonly saved = new Map<string, SavedUpload>();
  async all(): Promise<readonly SavedUpload[]> {
    return Array.from(this.saved.values());
  }
  async keep(upload: SavedUpload): Promise<void> {
    this.saved.set(upload.id, upload);
  }
  async forget(id: string): Promise<void> {
    this.saved.delete(id);
  }
}

function file(size: number, name = "shard.zip", seed = 0): Source & { text: string } {
  const text = Array.from({ length: size }, (_, index) => String.fromCharCode(97 + ((index * 7 + seed) % 26))).join("");
  return { name, size, lastModified: 1, text, slice: (start, end) => new Blob([text.slice(start, end)]) };
}

const world: World = { now: () => 0, pause: async () => undefined, random: () => 0.5 };

function uploads(store: UploadDoor, memory: Memory = new Remembered()): Uploads {
  return new Uploads(store, memory, world);
}

async function until(holds: () => boolean): Promise<void> {
  for (let turn = 0; turn < 1000; turn += 1) {
    if (holds()) return;
    await new Promise((resolve) => setTimeout(resolve));
  }
  throw new Error("it never held");
}

describe("an upload", () => {
  it.each([0, 1, 8, 9, 100])("of %d bytes arrives whole", async (size) => {
    const store = new Store();
    const source = file(size);
    expect(await uploads(store).add("k", source)).toBe("done");
    expect(store.objects.get("k")).toBe(source.text);
  });

  it("arrives whole whatever fails on the way, and no part is sent more often than it failed", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 120 }), fc.array(fc.tuple(fc.integer({ min: 1, max: 16 }), fc.integer({ min: 1, max: 4 })), { maxLength: 20 }), async (size, failures) => {
        const times = new Map(failures);
        const store = new Store((part, attempt) => {
          if (attempt <= (times.get(part) ?? 0)) throw new Error("the line broke");
        });
        const source = file(size);
        expect(await uploads(store).add("k", source)).toBe("done");
        expect(store.objects.get("k")).toBe(source.text);
        const parts = Math.max(1, Math.ceil(size / PART));
        const allowed = parts + Array.from(times).reduce((sum, [part, n]) => sum + (part <= parts ? n : 0), 0);
        expect(store.puts.length).toBe(allowed);
      }),
    );
  });

  it("signs a part anew after it was refused", async () => {
    const store = new Store((_, attempt) => {
      if (attempt === 1) throw new Error("403");
    });
    await uploads(store).add("k", file(8));
    expect(store.signed).toBe(2);
  });

  it("signs many parts at once", async () => {
    const store = new Store();
    await uploads(store).add("k", file(PART * 20));
    expect(store.signed).toBeLessThanOrEqual(5);
  });

  it("fails with its reason when a part fails again and again, and goes on when asked", async () => {
    let broken = true;
    const store = new Store(() => {
      if (broken) throw new Error("the bucket refuses this site");
    });
    const all = uploads(store);
    expect(await all.add("k", file(20))).toBe("failed");
    expect(all.views()[0]?.problem).toBe("the bucket refuses this site");
    broken = false;
    all.resume(1);
    await until(() => all.views()[0]?.state === "done");
    expect(store.objects.get("k")?.length).toBe(20);
  });

  it("stops at once when the store knows nothing of it", async () => {
    const store = new Store(() => {
      throw new Refused(404, "upload_not_found", "the upload was dropped");
    });
    await uploads(store).add("k", file(8));
    expect(store.puts).toHaveLength(1);
  });

  it("fails when the API refuses to begin", async () => {
    const store = new Store();
    store.start = async () => {
      throw new Refused(422, "invalid_request", "the key has a control character");
    };
    const all = uploads(store);
    expect(await all.add("k", file(8))).toBe("failed");
    expect(all.views()[0]?.problem).toBe("the key has a control character");
  });

  it("fails when the API signs nothing", async () => {
    const store = new Store();
    store.sign = async () => [];
    expect(await uploads(store).add("k", file(8))).toBe("failed");
  });

  it("outlives an API that does not answer for a moment", async () => {
    const store = new Store();
    const [start, complete] = [store.start.bind(store), store.complete.bind(store)];
    let [starts, ends] = [0, 0];
    store.start = async (key, size) => {
      if ((starts += 1) < 3) throw new Unreachable();
      return start(key, size);
    };
    store.complete = async (id) => {
      if ((ends += 1) < 3) throw new Unreachable();
      return complete(id);
    };
    expect([await uploads(store).add("k", file(8)), starts, ends]).toEqual(["done", 3, 3]);
  });

  it("fails when the API never answers", async () => {
    const store = new Store();
    store.start = async () => {
      throw new Unreachable();
    };
    expect(await uploads(store).add("k", file(8))).toBe("failed");
  });

  it("goes before the others when asked", async () => {
    const store = new Store((_, __, signal) => new Promise<void>((go, stop) => (signal.addEventListener("abort", () => stop(new Error("called off"))), setTimeout(go, 2))));
    const all = uploads(store);
    const [big, small] = [all.add("big", file(PART * 60)), all.add("small", file(8))];
    await until(() => all.views().every(({ state }) => state === "moving"));
    all.first(2);
    all.first(99);
    expect([await Promise.race([big.then(() => "big"), small.then(() => "small")]), all.views()[0]?.key]).toEqual(["small", "small"]);
    await big;
  });

  it("sends nothing for a pause that came while its part was being signed", async () => {
    const store = new Store();
    const sign = store.sign.bind(store);
    let let_go: (() => void) | null = null;
    store.sign = async (id, numbers) => {
      if (!let_go) await new Promise<void>((go) => (let_go = go));
      return sign(id, numbers);
    };
    const all = uploads(store);
    const ended = all.add("k", file(8));
    await until(() => let_go !== null);
    all.pause(1);
    all.resume(1);
    (let_go as (() => void) | null)?.();
    expect([await ended, store.puts, all.views()[0]?.sent]).toEqual(["done", [1], 8]);
  });

  it("counts what went out from here, not what was there before", async () => {
    const store = new Store();
    const source = file(PART * 2);
    const begun = await store.start("k", source.size);
    store.has(begun.id, 1, source.text.slice(0, PART));
    const all = uploads(store);
    await all.add("k", source, { id: begun.id, key: "k", name: source.name, size: source.size, lastModified: 1, partSize: PART, parts: 2, savedAt: 0 });
    expect([all.sent, all.views()[0]?.sent]).toEqual([PART, PART * 2]);
  });

  it("keeps what is stored over a pause", async () => {
    let hold: (() => void) | null = null;
    const store = new Store((part) => (part === 3 ? new Promise<void>((go) => (hold = go)) : undefined));
    const all = uploads(store);
    const ended = all.add("k", file(PART * 3));
    await until(() => hold !== null && all.views()[0]?.sent === PART * 2);
    all.pause(1);
    expect(all.views()[0]).toMatchObject({ state: "paused", sent: PART * 2 });
    (hold as (() => void) | null)?.();
    hold = null;
    all.resume(1);
    await until(() => hold !== null);
    (hold as (() => void) | null)?.();
    expect(await ended).toBe("done");
    expect(store.puts.filter((part) => part !== 3)).toEqual([1, 2]);
  });

  it("goes on after a reload with what the store has", async () => {
    const store = new Store();
    const source = file(PART * 4);
    const begun = await store.start("k", source.size);
    store.has(begun.id, 1, source.text.slice(0, PART));
    store.has(begun.id, 2, "cut");
    const saved = { id: begun.id, key: "k", name: source.name, size: source.size, lastModified: 1, partSize: PART, parts: 4, savedAt: 0 };
    expect(await uploads(store).add("k", source, saved)).toBe("done");
    expect([store.puts.sort(), store.objects.get("k")]).toEqual([[2, 3, 4], source.text]);
  });

  it("is complete at once when every part was stored before", async () => {
    const store = new Store();
    const begun = await store.start("k", 2);
    store.has(begun.id, 1, "ab");
    const saved = { id: begun.id, key: "k", name: "x.zip", size: 2, lastModified: 1, partSize: PART, parts: 1, savedAt: 0 };
    expect(await uploads(store).add("k", file(2, "x.zip"), saved)).toBe("done");
    expect(store.puts).toEqual([]);
  });

  it("is remembered while it is under way, and forgotten at its end", async () => {
    const memory = new Remembered();
    let during = 0;
    const store = new Store(() => {
      during = memory.saved.size;
    });
    await uploads(store, memory).add("k", file(8));
    expect([during, memory.saved.size]).toEqual([1, 0]);
  });

  it("is dropped from the store when it is cancelled", async () => {
    const memory = new Remembered();
    const store = new Store((_, __, signal) => new Promise<void>((__, stop) => signal.addEventListener("abort", () => stop(new Error("called off")))));
    const all = uploads(store, memory);
    const ended = all.add("k", file(100));
    await until(() => store.puts.length === 5);
    await all.cancel(1);
    expect([await ended, store.aborted, memory.saved.size, all.views()]).toEqual(["cancelled", ["u0"], 0, []]);
  });

  it("lets another file pass while it is paused", async () => {
    const store = new Store((_, __, signal) => new Promise<void>((go, stop) => (signal.addEventListener("abort", () => stop(new Error("called off"))), setTimeout(go, 5))));
    const all = uploads(store);
    void all.add("big", file(PART * 50));
    const small = all.add("small", file(8));
    all.pause(1);
    expect(await small).toBe("done");
    expect(store.objects.has("big")).toBe(false);
  });

  it("fails when the store does not have every part, and can be dismissed", async () => {
    const store = new Store();
    store.complete = async () => {
      throw new Refused(409, "upload_incomplete", "part 1 is missing");
    };
    const all = uploads(store);
    expect(await all.add("k", file(8))).toBe("failed");
    expect(all.views()[0]?.problem).toBe("part 1 is missing");
    all.dismiss(1);
    expect(all.views()).toEqual([]);
  });

  it("is gone from the list though the store could not be told", async () => {
    const store = new Store((_, __, signal) => new Promise<void>((__, stop) => signal.addEventListener("abort", () => stop(new Error("called off")))));
    store.abort = () => Promise.reject(new Error("away"));
    const all = uploads(store);
    void all.add("k", file(100, "notes"));
    await until(() => store.puts.length === 5);
    await all.cancel(1);
    expect(all.views()).toEqual([]);
  });

  it("can be paused and cancelled before it began", async () => {
    const store = new Store();
    let begin: (() => void) | null = null;
    const start = store.start.bind(store);
    store.start = (key, size) => new Promise((made) => (begin = () => void start(key, size).then(made)));
    const all = uploads(store);
    const ended = all.add("k", file(8));
    all.pause(1);
    (begin as (() => void) | null)?.();
    await all.cancel(1);
    expect([await ended, store.puts]).toEqual(["cancelled", []]);
  });

  it("says what was thrown when it was no error", async () => {
    const store = new Store();
    store.start = () => Promise.reject("a word");
    const all = uploads(store);
    await all.add("k", file(8));
    expect(all.views()[0]?.problem).toBe("a word");
  });

  it("can be dismissed once it is over, and not before", async () => {
    const store = new Store();
    const all = uploads(store);
    await all.add("k", file(1));
    all.pause(1);
    all.resume(1);
    await all.cancel(1);
    expect(all.views()[0]?.state).toBe("done");
    all.dismiss(1);
    expect(all.views()).toEqual([]);
  });

  it("never has more than five parts under way", async () => {
    let under = 0;
    let most = 0;
    const store = new Store(async () => {
      most = Math.max(most, (under += 1));
      await new Promise((resolve) => setTimeout(resolve));
      under -= 1;
    });
    const all = uploads(store);
    await Promise.all(["a", "b", "c"].map((key) => all.add(key, file(100))));
    expect(most).toBe(5);
  });
});

describe("a file picked to go on with", () => {
  const saved = { id: "u", key: "k", name: "a.zip", size: 3, lastModified: 1, partSize: PART, parts: 1, savedAt: 0 };
  it.each([
    [file(3, "a.zip"), null],
    [file(4, "a.zip"), "bytes"],
    [file(3, "b.zip"), "begun with a.zip"],
    [{ ...file(3, "a.zip"), lastModified: 2 }, "was changed"],
  ])("%# says what differs", (picked, why) => {
    const told = differs(saved, picked);
    expect(why === null ? told : told?.includes(why)).toBe(why === null ? null : true);
  });
});

describe("the meter", () => {
  it("knows the speed of the last seconds and the time left", () => {
    let now = 0;
    const meter = new Meter(() => now);
    expect([meter.speed, meter.left(10)]).toEqual([0, null]);
    for (const [at, bytes] of [[0, 0], [1000, 1000], [7000, 7000], [8000, 13_000]] as const) {
      now = at;
      meter.note(bytes);
    }
    expect([meter.speed, meter.left(12_000)]).toEqual([6000, 2]);
  });
});

it("the last part is what is left", () => expect([rangeOf(1, 8, 20), rangeOf(3, 8, 20)]).toEqual([[0, 8], [16, 20]]));
