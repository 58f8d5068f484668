/** What every page is given: the API, the route, who is signed in, and the few ways to tell the user something. */

import { getContext, setContext } from "svelte";
import type { Api, Shapes } from "../core/api";
import type { Drafts } from "../core/drafts";
import { readHash, type Route } from "../core/router";
import type { Work } from "../wizard/work.svelte";
import type { UploadDesk } from "./upload_desk.svelte";

export interface Toast {
  readonly id: number;
  readonly text: string;
  readonly action: string;
  readonly act: () => void;
}

const TOAST_MS = 8000;

export class World {
  route: Route = $state.raw(readHash(location.hash));
  me: Shapes["Me"] | null = $state.raw(null);
  online = $state(true);
  /** Grows when drafts change, here or in another tab. */
  draftsVersion = $state(0);
  toasts: readonly Toast[] = $state.raw([]);
  spoken = $state("");
  /** The wizard that was open last, so that its steps share one state and Undo reaches over them. */
  work: Work | null = null;
  private count = 0;
  private readonly clocks = new Map<number, ReturnType<typeof setTimeout>>();
  private asking: Promise<Shapes["Me"]> | null = null;

  constructor(
    readonly api: Api,
    readonly drafts: Drafts,
    readonly desk: UploadDesk,
    readonly askSignOut: () => void,
  ) {}

  /** Who is signed in; asked once by all who want to know at the same time. */
  askMe(): Promise<Shapes["Me"]> {
    this.asking ??= this.api
      .get<Shapes["Me"]>("/me")
      .then((me) => (this.me = me))
      .finally(() => {
        this.asking = null;
      });
    return this.asking;
  }

  /** Tell a screen reader, politely. */
  say(text: string): void {
    this.spoken = "";
    setTimeout(() => {
      this.spoken = text;
    });
  }

  /** A note at the bottom for 8 s, with one action. */
  toast(text: string, action = "", act: () => void = () => undefined): void {
    const id = (this.count += 1);
    this.toasts = [...this.toasts, { id, text, action, act }];
    this.say(text);
    this.clocks.set(id, setTimeout(() => this.dismiss(id), TOAST_MS));
  }

  /** While somebody points at the notes or is in them they stay; afterwards each has its time anew. */
  holdToasts(held: boolean): void {
    for (const { id } of this.toasts) {
      clearTimeout(this.clocks.get(id));
      if (!held) this.clocks.set(id, setTimeout(() => this.dismiss(id), TOAST_MS));
    }
  }

  dismiss(id: number): void {
    clearTimeout(this.clocks.get(id));
    this.clocks.delete(id);
    this.toasts = this.toasts.filter((toast) => toast.id !== id);
  }

  touchDrafts(): void {
    this.draftsVersion += 1;
  }
}

const KEY = Symbol("world");

export function provideWorld(world: World): void {
  setContext(KEY, world);
}

export function useWorld(): World {
  return getContext<World>(KEY);
}

/** Go to an address; `replace` leaves no step behind in the history. */
export function go(hash: string, replace = false): void {
  if (replace) location.replace(hash);
  else location.hash = hash;
}
