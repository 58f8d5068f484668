/** What every page is given: the API, the route, who is signed in, and the few ways to tell the user something. */

import { getContext, setContext } from "svelte";
import type { Api, Shapes } from "../core/api";
import type { Drafts } from "../core/drafts";
import { readHash, type Route } from "../core/router";
import type { UploadDesk } from "./upload_desk.svelte";

export interface Toast {
  readonly id: number;
  readonly text: string;
  readonly action: string;
  readonly act: () => void;
}

export class World {
  route: Route = $state.raw(readHash(location.hash));
  me: Shapes["Me"] | null = $state.raw(null);
  online = $state(navigator.onLine);
  /** Grows when drafts change, here or in another tab. */
  draftsVersion = $state(0);
  toasts: readonly Toast[] = $state.raw([]);
  spoken = $state("");
  private count = 0;

  constructor(
    readonly api: Api,
    readonly drafts: Drafts,
    readonly desk: UploadDesk,
    readonly askSignOut: () => void,
  ) {}

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
    setTimeout(() => this.dismiss(id), 8000);
  }

  dismiss(id: number): void {
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
