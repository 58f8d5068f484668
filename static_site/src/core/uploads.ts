/** Files into the bucket, part by part, by signed URLs. Five parts are under way at most, over all files together; a part is sent
 * again after a failure, signed anew after a refusal, and the API says from the store's own listing when a file is whole. */

import { Refused, Unreachable } from "./errors";

export type UploadState = "waiting" | "moving" | "paused" | "finishing" | "done" | "failed" | "cancelled";

export interface Source {
  readonly name: string;
  readonly size: number;
  readonly lastModified: number;
  slice(start: number, end: number): Blob;
}

export interface Upload {
  readonly id: string;
  readonly part_size: number;
  readonly parts: number;
}

/** The upload's doors: the API's five, and the PUT of one part. */
export interface UploadDoor {
  start(key: string, size: number, type: string): Promise<Upload>;
  stored(id: string): Promise<readonly { number: number; size: number }[]>;
  sign(id: string, numbers: readonly number[]): Promise<readonly { number: number; url: string }[]>;
  put(url: string, body: Blob, signal: AbortSignal, sent: (bytes: number) => void): Promise<void>;
  complete(id: string): Promise<void>;
  abort(id: string): Promise<void>;
}

/** What is remembered of an upload under way, so that a reload can go on. */
export interface SavedUpload {
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly size: number;
  readonly lastModified: number;
  readonly partSize: number;
  readonly parts: number;
  readonly savedAt: number;
}

export interface Memory {
  all(): Promise<readonly SavedUpload[]>;
  keep(upload: SavedUpload): Promise<void>;
  forget(id: string): Promise<void>;
}

export interface View {
  readonly number: number;
  readonly key: string;
  readonly name: string;
  readonly size: number;
  readonly sent: number;
  readonly state: UploadState;
  readonly problem: string;
}

export interface World {
  readonly now: () => number;
  /** Resolves after so many ms, and not before the browser is online. */
  readonly pause: (ms: number) => Promise<void>;
  readonly random: () => number;
}

const LANES = 5;
const TRIES = 6;
const SIGN_AT_ONCE = 20;

interface Item {
  number: number;
  key: string;
  source: Source;
  state: UploadState;
  problem: string;
  upload: Upload | null;
  /** Parts nobody has taken yet, and parts the store does not have whole. */
  todo: number[];
  missing: Set<number>;
  urls: Map<number, string>;
  partial: Map<number, number>;
  stored: number;
  stop: AbortController;
  settled: (state: UploadState) => void;
}

/** The part of a file's bytes that part `number` (from 1) holds. */
export function rangeOf(part: number, partSize: number, size: number): readonly [number, number] {
  const start = (part - 1) * partSize;
  return [start, Math.min(size, start + partSize)];
}

/** What differs between the file an upload was begun with and the one picked now; null when it is the same. */
export function differs(saved: SavedUpload, file: Source): string | null {
  if (file.size !== saved.size) return `The upload was begun with a file of ${saved.size.toLocaleString("en")} bytes; this one has ${file.size.toLocaleString("en")}.`;
  if (file.name !== saved.name) return `The upload was begun with ${saved.name}; this is ${file.name}.`;
  return file.lastModified === saved.lastModified ? null : `${file.name} was changed since the upload was begun.`;
}

export class Uploads {
  private readonly items: Item[] = [];
  private lanes = 0;
  private count = 0;
  private out = 0;

  constructor(
    private readonly door: UploadDoor,
    private readonly memory: Memory,
    private readonly world: World,
    private readonly changed: () => void = () => undefined,
  ) {}

  /** Send a file to a key; resolves with how it ended. `saved` goes on with an upload that was begun before. */
  add(key: string, source: Source, saved: SavedUpload | null = null): Promise<UploadState> {
    return new Promise((settled) => {
      this.items.push({
        number: (this.count += 1),
        key,
        source,
        state: "waiting",
        problem: "",
        upload: saved && { id: saved.id, part_size: saved.partSize, parts: saved.parts },
        todo: [],
        missing: new Set(),
        urls: new Map(),
        partial: new Map(),
        stored: 0,
        stop: new AbortController(),
        settled,
      });
      this.next();
    });
  }

  views(): readonly View[] {
    return this.items.map((item) => {
      const moving = Array.from(item.partial.values()).reduce((sum, bytes) => sum + bytes, 0);
      return { number: item.number, key: item.key, name: item.source.name, size: item.source.size, sent: item.stored + moving, state: item.state, problem: item.problem };
    });
  }

  /** Bytes that went out from here since the start, those of parts under way too. */
  get sent(): number {
    return this.out + this.items.reduce((sum, { partial }) => sum + Array.from(partial.values()).reduce((all, bytes) => all + bytes, 0), 0);
  }

  /** Send this file's parts before those of all others. */
  first(number: number): void {
    const item = this.find(number, ["waiting", "moving", "paused", "failed"]);
    if (!item) return;
    this.items.splice(this.items.indexOf(item), 1);
    this.items.unshift(item);
    this.changed();
  }

  /** Stop sending; what the store has stays there. */
  pause(number: number): void {
    const item = this.find(number, ["waiting", "moving"]);
    if (item) this.halt(item, "paused");
  }

  /** Go on after a pause, or try again after a failure. */
  resume(number: number): void {
    const item = this.find(number, ["paused", "failed"]);
    if (!item) return;
    item.stop = new AbortController();
    item.problem = "";
    this.turn(item, "waiting");
    this.next();
  }

  /** Drop the upload and what the store has of it. */
  async cancel(number: number): Promise<void> {
    const item = this.find(number, ["waiting", "moving", "paused", "failed"]);
    if (!item) return;
    this.halt(item, "cancelled");
    if (item.upload) await this.drop(item.upload.id);
    this.leave(item);
  }

  /** Take an ended one off the list. */
  dismiss(number: number): void {
    const item = this.find(number, ["done", "failed", "cancelled"]);
    if (item) this.leave(item);
  }

  private async drop(id: string): Promise<void> {
    await this.door.abort(id).catch(() => undefined); // the bucket's rule removes half uploads in any case
    await this.memory.forget(id);
  }

  private leave(item: Item): void {
    this.items.splice(this.items.indexOf(item), 1);
    this.changed();
  }

  private find(number: number, states: readonly UploadState[]): Item | undefined {
    return this.items.find((item) => item.number === number && states.includes(item.state));
  }

  private halt(item: Item, state: UploadState): void {
    item.stop.abort();
    item.partial.clear();
    this.turn(item, state);
    this.next();
  }

  private turn(item: Item, state: UploadState, problem = ""): void {
    item.state = state;
    item.problem = problem;
    if (state === "done" || state === "failed" || state === "cancelled") item.settled(state);
    this.changed();
  }

  /** Give free lanes to the first file that has parts left. */
  private next(): void {
    for (const item of this.items.filter(({ state }) => state === "waiting")) void this.open(item);
    while (this.lanes < LANES) {
      const item = this.items.find(({ state, todo }) => state === "moving" && todo.length > 0);
      if (!item) return;
      void this.lane(item);
    }
  }

  private async open(item: Item): Promise<void> {
    this.turn(item, "moving");
    const stop = item.stop;
    try {
      const known = item.upload !== null;
      item.upload ??= await this.patiently(stop.signal, () => this.door.start(item.key, item.source.size, typeOf(item.source.name)));
      await this.memory.keep(savedOf(item, item.upload, this.world.now()));
      const have = known ? await this.stored(item, item.upload) : new Set<number>();
      if (stop.signal.aborted) return;
      item.todo = Array.from({ length: item.upload.parts }, (_, index) => index + 1).filter((part) => !have.has(part));
      item.missing = new Set(item.todo);
      if (!item.missing.size) await this.finish(item);
      this.next();
    } catch (error) {
      if (!stop.signal.aborted) this.fail(item, error);
    }
  }

  /** The parts the store has whole; one of another size is sent again. */
  private async stored(item: Item, upload: Upload): Promise<Set<number>> {
    const have = new Set<number>();
    item.stored = 0;
    for (const { number, size } of await this.patiently(item.stop.signal, () => this.door.stored(upload.id))) {
      const [start, end] = rangeOf(number, upload.part_size, item.source.size);
      if (size !== end - start) continue;
      have.add(number);
      item.stored += size;
    }
    return have;
  }

  private async lane(item: Item): Promise<void> {
    const part = item.todo.shift();
    const upload = item.upload;
    if (part === undefined || !upload) return;
    this.lanes += 1;
    const { signal } = item.stop;
    try {
      await this.send(item, upload, part, signal);
      if (signal.aborted) return; // going on asks the store anew which parts it has
      item.missing.delete(part);
      if (!item.missing.size) await this.finish(item);
    } catch (error) {
      if (!signal.aborted) this.fail(item, error);
    } finally {
      this.lanes -= 1;
      this.next();
    }
  }

  private async send(item: Item, upload: Upload, part: number, signal: AbortSignal): Promise<void> {
    const [start, end] = rangeOf(part, upload.part_size, item.source.size);
    for (let tries = 1; !signal.aborted; tries += 1) {
      try {
        const url = item.urls.get(part) ?? (await this.signed(item, upload, part));
        if (signal.aborted) return;
        await this.door.put(url, item.source.slice(start, end), signal, (bytes) => {
          item.partial.set(part, bytes);
          this.changed();
        });
        this.out += end - start;
        if (signal.aborted) return; // whoever goes on asks the store, which counts this part
        item.partial.delete(part);
        item.urls.delete(part);
        item.stored += end - start;
        this.changed();
        return;
      } catch (error) {
        if (signal.aborted) return; // what is under way by now is another lane's
        item.partial.delete(part);
        item.urls.delete(part); // expired, or not: a new one costs little
        if (tries === TRIES || (error instanceof Refused && error.status === 404)) throw error;
        await this.world.pause(2 ** tries * 250 * (0.5 + this.world.random()));
      }
    }
  }

  private async signed(item: Item, upload: Upload, part: number): Promise<string> {
    const wanted = [part, ...item.todo.filter((each) => !item.urls.has(each)).slice(0, SIGN_AT_ONCE - 1)];
    for (const { number, url } of await this.door.sign(upload.id, wanted)) item.urls.set(number, url);
    const url = item.urls.get(part);
    if (url === undefined) throw new Error(`The API signed no URL for part ${part}.`);
    return url;
  }

  private async finish(item: Item): Promise<void> {
    const upload = item.upload;
    if (!upload || item.state !== "moving") return;
    this.turn(item, "finishing");
    await this.patiently(item.stop.signal, () => this.door.complete(upload.id));
    await this.memory.forget(upload.id);
    this.turn(item, "done");
  }

  /** Ask the API until it answers: a line that breaks for a moment ends no upload. A refusal is an answer. */
  private async patiently<T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await ask();
      } catch (error) {
        if (!(error instanceof Unreachable) || tries === TRIES || signal.aborted) throw error;
        await this.world.pause(2 ** tries * 250 * (0.5 + this.world.random()));
      }
    }
  }

  private fail(item: Item, error: unknown): void {
    item.stop.abort();
    item.partial.clear();
    this.turn(item, "failed", error instanceof Error ? error.message : String(error));
  }
}

function savedOf(item: Item, upload: Upload, now: number): SavedUpload {
  const { name, size, lastModified } = item.source;
  return { id: upload.id, key: item.key, name, size, lastModified, partSize: upload.part_size, parts: upload.parts, savedAt: now };
}

const TYPES: Readonly<Record<string, string>> = { json: "application/json", py: "text/x-python", txt: "text/plain; charset=utf-8", zip: "application/zip" };

function typeOf(name: string): string {
  return TYPES[name.split(".").at(-1)?.toLowerCase() ?? ""] ?? "application/octet-stream";
}

/** Speed over the last seconds and the time left at that speed. */
export class Meter {
  private readonly seen: [number, number][] = [];
  constructor(
    private readonly now: () => number,
    private readonly windowMs = 5000,
  ) {}

  /** Note how many bytes have gone out in all. */
  note(total: number): void {
    const now = this.now();
    this.seen.push([now, total]);
    while (this.seen.length > 2 && now - (this.seen[0]?.[0] ?? now) > this.windowMs) this.seen.shift();
  }

  /** Bytes a second; 0 before there are two notes, and while nothing moves. */
  get speed(): number {
    const [first, last] = [this.seen[0], this.seen.at(-1)];
    if (!first || !last || last[0] === first[0]) return 0;
    return Math.max(0, (last[1] - first[1]) / ((last[0] - first[0]) / 1000));
  }

  /** Seconds until so many bytes have gone out; null while nothing moves. */
  left(bytes: number): number | null {
    return this.speed > 0 ? bytes / this.speed : null;
  }
}
