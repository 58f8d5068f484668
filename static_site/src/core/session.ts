/** Signing in by OpenID Connect's code flow with PKCE. The token lives in memory only; what must survive the redirect (route,
 * verifier, state) lies in sessionStorage until the answer is back. */

import { SignedOut, Unreachable } from "./errors";

export interface Place {
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly scope: string;
}

/** What of the browser a session needs; tests give a small one of their own. */
export interface Browser {
  readonly origin: string;
  readonly storage: Pick<Storage, "getItem" | "setItem" | "removeItem">;
  readonly fetch: typeof fetch;
  readonly now: () => number;
  readonly random: (bytes: number) => Uint8Array;
  readonly sha256: (text: string) => Promise<Uint8Array>;
  readonly go: (url: string) => void;
}

interface Grant {
  readonly token: string;
  readonly expires: number;
}

interface Pending {
  readonly verifier: string;
  readonly state: string;
  readonly hash: string;
}

const PENDING = "tutti.sign-in";
const EARLY_MS = 30_000;

/** How a page load ended up: signed in (and where to go on), or on the way to the issuer. */
export type Arrival = { readonly kind: "signed-in"; readonly hash: string } | { readonly kind: "leaving" } | { readonly kind: "refused"; readonly why: string };

export class Session {
  private token: string | null = null;
  private expires = 0;
  private waiting: Promise<string> | null = null;
  /** Who this page was loaded for: a token of somebody else is no renewal. */
  private subject: string | null = null;

  /** `beside` signs in next to the page (a second window) and resolves to a token that `fits`. */
  constructor(
    private readonly place: Place,
    private readonly browser: Browser,
    private readonly beside: (fits: (token: string) => boolean) => Promise<Grant>,
  ) {}

  /** What to do with the address the page was loaded with: redeem an answer, ask silently, or show the issuer's page. */
  async arrive(search: string, hash: string): Promise<Arrival> {
    const answer = new URLSearchParams(search);
    const pending = this.takePending();
    if (pending && answer.get("state") === pending.state) {
      const code = answer.get("code");
      if (code) {
        this.keep(await this.redeem(code, pending.verifier));
        return { kind: "signed-in", hash: pending.hash };
      }
      const why = answer.get("error") ?? "";
      if (why !== "login_required" && why !== "interaction_required") {
        return { kind: "refused", why: answer.get("error_description") ?? (why || "the issuer gave no reason") };
      }
      await this.leave(pending.hash, false);
      return { kind: "leaving" };
    }
    await this.leave(hash, true);
    return { kind: "leaving" };
  }

  /** A token that lives for another half minute at least; renewed when it does not. */
  async bearer(): Promise<string> {
    if (this.token !== null && this.browser.now() < this.expires - EARLY_MS) return this.token;
    return this.renew();
  }

  /** Forget the token that was refused, and get another: silently if the issuer still knows the user, else beside the page.
   * SignedOut when the user closes that window. */
  renew(): Promise<string> {
    this.token = null;
    this.waiting ??= this.renewed()
      .then((grant) => this.keep(grant))
      .finally(() => {
        this.waiting = null;
      });
    return this.waiting;
  }

  /** The user signed out, here or in another tab. */
  forget(): void {
    this.token = null;
  }

  /** The token and its end, for the window that asked this one to sign in beside it. */
  grant(): Grant {
    if (this.token === null) throw new SignedOut();
    return { token: this.token, expires: this.expires };
  }

  private async renewed(): Promise<Grant> {
    const silent = await this.silently().catch(() => null);
    return silent && this.fits(silent.token) ? silent : this.beside((token) => this.fits(token));
  }

  private fits(token: string): boolean {
    return subjectOf(token) === this.subject;
  }

  /** Ask the issuer without leaving the page. Only an issuer of this origin can answer; null from any other, or when it does not
   * know the user any more. */
  private async silently(): Promise<Grant | null> {
    if (!this.place.authorizeUrl.startsWith(`${this.browser.origin}/`)) return null;
    const verifier = base64url(this.browser.random(48));
    const state = base64url(this.browser.random(16));
    const answer = await this.browser.fetch(await this.address(verifier, state, true));
    const told = new URL(answer.url).searchParams;
    const code = told.get("state") === state ? told.get("code") : null;
    return code === null ? null : this.redeem(code, verifier);
  }

  /** Go to the issuer's page; the answer comes back to this origin, and the page goes on at `hash`. */
  async leave(hash: string, silent: boolean): Promise<void> {
    const verifier = base64url(this.browser.random(48));
    const state = base64url(this.browser.random(16));
    this.browser.storage.setItem(PENDING, JSON.stringify({ verifier, state, hash } satisfies Pending));
    this.browser.go(await this.address(verifier, state, silent));
  }

  private async address(verifier: string, state: string, silent: boolean): Promise<string> {
    const query = new URLSearchParams({
      response_type: "code",
      client_id: this.place.clientId,
      redirect_uri: `${this.browser.origin}/`,
      code_challenge: base64url(await this.browser.sha256(verifier)),
      code_challenge_method: "S256",
      state,
      scope: this.place.scope,
    });
    if (silent) query.set("prompt", "none");
    return `${this.place.authorizeUrl}?${query.toString()}`;
  }

  private async redeem(code: string, verifier: string): Promise<Grant> {
    const form = { grant_type: "authorization_code", code, code_verifier: verifier, client_id: this.place.clientId, redirect_uri: `${this.browser.origin}/` };
    const answer = await this.browser.fetch(this.place.tokenUrl, { method: "POST", body: new URLSearchParams(form) }).catch(() => {
      throw new Unreachable("The sign-in service does not answer.");
    });
    const told = (await answer.json().catch(() => ({}))) as { access_token?: string; expires_in?: number; error_description?: string };
    if (!answer.ok || !told.access_token) throw new Error(`Signing in failed: ${told.error_description ?? `status ${answer.status}`}.`);
    return { token: told.access_token, expires: this.browser.now() + (told.expires_in ?? 0) * 1000 };
  }

  private keep({ token, expires }: Grant): string {
    this.token = token;
    this.expires = expires;
    this.subject ??= subjectOf(token);
    return token;
  }

  private takePending(): Pending | null {
    const stored = this.browser.storage.getItem(PENDING);
    this.browser.storage.removeItem(PENDING);
    try {
      return stored === null ? null : (JSON.parse(stored) as Pending);
    } catch {
      return null;
    }
  }
}

/** Bytes as base64url without padding. */
export function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

/** Whose a token is, by its own words; "" when it has none. Only the API checks whether they are true. */
export function subjectOf(token: string): string {
  try {
    const claims = JSON.parse(atob((token.split(".")[1] ?? "").replace(/-/g, "+").replace(/_/g, "/"))) as { sub?: unknown };
    return typeof claims.sub === "string" ? claims.sub : "";
  } catch {
    return "";
  }
}
