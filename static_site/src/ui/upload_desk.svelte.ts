/** The uploads of this tab as the tray shows them, over the API's doors and this browser's memory. */

import { get, set, del, entries, createStore } from "idb-keyval";
import type { Api, Shapes } from "../core/api";
import { Refused } from "../core/errors";
import { differs, Meter, type Memory, type SavedUpload, type Upload, type UploadDoor, Uploads, type UploadState, type View } from "../core/uploads";

const KEPT_MS = 7 * 24 * 3600 * 1000; // as long as the bucket keeps half uploads

/** The API and the bucket as an upload meets them. */
function doors(api: Api): UploadDoor {
  return {
    start: (key, size, type) => api.post<Upload>("/uploads", { key, size, content_type: type }),
    stored: async (id) => (await api.get<Shapes["Parts"]>(`/uploads/${id}/parts`)).parts,
    sign: async (id, numbers) => (await api.post<Shapes["PartUrls"]>(`/uploads/${id}/sign`, { numbers })).urls,
    put: putPart,
    complete: (id) => api.post<void>(`/uploads/${id}/complete`),
    abort: (id) => api.call<void>("DELETE", `/uploads/${id}`),
  };
}

/** XMLHttpRequest, as fetch tells nothing of how much has gone out. */
function putPart(url: string, body: Blob, signal: AbortSignal, sent: (bytes: number) => void): Promise<void> {
  return new Promise((done, failed) => {
    if (signal.aborted) return failed(new DOMException("called off", "AbortError"));
    const request = new XMLHttpRequest();
    const off = () => request.abort();
    signal.addEventListener("abort", off, { once: true });
    request.upload.onprogress = (event) => sent(event.loaded);
    request.onloadend = () => {
      signal.removeEventListener("abort", off);
      if (request.status >= 200 && request.status < 300) done();
      else if (request.status === 404) failed(new Refused(404, "upload_not_found", "The bucket knows nothing of this upload any more."));
      else failed(new Error(request.status ? `The bucket answered with status ${request.status}.` : "The bucket cannot be reached from this page. If you are online, the bucket refuses this site: Profile & bucket has a test that says which rule is missing."));
    };
    request.open("PUT", url);
    request.send(body);
  });
}

/** Remembers uploads, and holds a lock for each that this tab sends, so that no other tab takes it for left behind. */
class BrowserMemory implements Memory {
  private readonly held = new Map<string, () => void>();
  private readonly store = createStore("tutti-uploads", "uploads");
  async all(): Promise<readonly SavedUpload[]> {
    const found = await entries<string, SavedUpload>(this.store);
    return found.map(([, upload]) => upload).filter(({ savedAt }) => Date.now() - savedAt < KEPT_MS);
  }
  async keep(upload: SavedUpload): Promise<void> {
    if (!this.held.has(upload.id)) await this.hold(upload.id);
    await set(upload.id, { ...upload, savedAt: (await get<SavedUpload>(upload.id, this.store))?.savedAt ?? upload.savedAt }, this.store);
  }
  private async hold(id: string): Promise<void> {
    let let_go: () => void = () => undefined;
    const until = new Promise<void>((done) => (let_go = done));
    const got = await new Promise<boolean>((answer) => {
      void navigator.locks.request(lockOf(id), { ifAvailable: true }, (lock) => (answer(lock !== null), lock ? until : undefined));
    });
    if (!got) throw new Error("Another tab is sending this upload.");
    this.held.set(id, let_go);
  }
  async forget(id: string): Promise<void> {
    this.held.get(id)?.();
    this.held.delete(id);
    await del(id, this.store);
  }
}

export class UploadDesk {
  views: readonly View[] = $state.raw([]);
  /** Begun in another visit; each waits for its file. */
  unfinished: readonly SavedUpload[] = $state.raw([]);
  speed = $state(0);
  left: number | null = $state(null);
  /** Grows with each file that arrived, so that listings know. */
  arrived = $state(0);
  private readonly memory = new BrowserMemory();
  private readonly meter = new Meter(() => performance.now());
  private readonly uploads: Uploads;
  private frame = 0;
  private clock: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly api: Api) {
    this.uploads = new Uploads(
      doors(api),
      this.memory,
      {
        now: () => Date.now(),
        random: Math.random,
        pause: async (ms) => {
          await new Promise((resolve) => setTimeout(resolve, ms));
          if (!navigator.onLine) await new Promise((resolve) => addEventListener("online", resolve, { once: true }));
        },
      },
      () => this.draw(),
    );
    addEventListener("beforeunload", (event) => {
      if (this.moving) event.preventDefault();
    });
  }

  get moving(): boolean {
    return this.views.some(({ state }) => state === "moving" || state === "finishing" || state === "waiting");
  }

  /** Look for uploads that an earlier visit left behind; those another tab is sending are that tab's. */
  async recall(): Promise<void> {
    const open = new Set(this.views.map(({ key }) => key));
    const held = new Set((await navigator.locks.query()).held?.map(({ name }) => name));
    this.unfinished = (await this.memory.all().catch(() => [])).filter(({ id, key }) => !open.has(key) && !held.has(lockOf(id)));
  }

  /** Bytes of all files on the list, and how many of them the bucket has. */
  get total(): { readonly sent: number; readonly size: number } {
    return { sent: this.views.reduce((sum, { sent }) => sum + sent, 0), size: this.views.reduce((sum, { size }) => sum + size, 0) };
  }

  async add(key: string, file: File): Promise<UploadState> {
    return this.followed(this.uploads.add(key, file));
  }

  /** Go on with an upload of an earlier visit; what differs is told when it is another file. */
  resumeWith(saved: SavedUpload, file: File): string | null {
    const why = differs(saved, file);
    if (why) return why;
    this.unfinished = this.unfinished.filter(({ id }) => id !== saved.id);
    void this.followed(this.uploads.add(saved.key, file, saved));
    return null;
  }

  async drop(saved: SavedUpload): Promise<void> {
    this.unfinished = this.unfinished.filter(({ id }) => id !== saved.id);
    await this.api.call("DELETE", `/uploads/${saved.id}`).catch(() => undefined); // gone already, or the bucket's rule takes it
    await this.memory.forget(saved.id);
  }

  first = (number: number): void => this.uploads.first(number);
  pause = (number: number): void => this.uploads.pause(number);
  resume = (number: number): void => this.uploads.resume(number);
  cancel = (number: number): Promise<void> => this.uploads.cancel(number);
  dismiss = (number: number): void => this.uploads.dismiss(number);

  private async followed(ended: Promise<UploadState>): Promise<UploadState> {
    const state = await ended;
    if (state === "done") this.arrived += 1;
    return state;
  }

  private draw(): void {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.views = this.uploads.views();
      const all = this.views.filter(({ state }) => state !== "paused" && state !== "failed");
      this.measure();
      this.left = this.meter.left(all.reduce((sum, view) => sum + view.size - view.sent, 0));
    });
  }

  /** Also while nothing is heard: a line that stalls has no speed. */
  private measure(): void {
    this.meter.note(this.uploads.sent);
    this.speed = this.meter.speed;
    clearTimeout(this.clock);
    if (this.moving) this.clock = setTimeout(() => this.draw(), 1000);
  }
}

const lockOf = (id: string) => `tutti-upload-${id}`;
