/** The API as typed calls. A refused token is renewed once and the request repeated, so that nothing a user did is lost. */

import type { components } from "./api_types";
import { Refused, Unreachable } from "./errors";
import { type Json, writeJson } from "./json";

export type Shapes = components["schemas"];

export interface Bearer {
  bearer(): Promise<string>;
  renew(): Promise<string>;
}

export interface Ask {
  readonly query?: Readonly<Record<string, string | number | null | undefined>>;
  readonly body?: unknown;
  /** A body whose numbers must arrive as they were written. */
  readonly exact?: Json;
  readonly ifMatch?: string;
  readonly signal?: AbortSignal;
}

export class Api {
  constructor(
    private readonly base: string,
    private readonly session: Bearer,
    private readonly send: typeof fetch,
  ) {}

  /** The answer's body; Refused with the API's reason, Unreachable when none came, AbortError when it was called off. */
  async call<T>(method: string, path: string, ask: Ask = {}): Promise<T> {
    const text = await this.answered(method, path, ask);
    return (text === "" ? undefined : JSON.parse(text)) as T;
  }

  /** The answer's body as it was written. */
  text(path: string): Promise<string> {
    return this.answered("GET", path, {});
  }

  private async answered(method: string, path: string, ask: Ask): Promise<string> {
    const first = await this.once(method, path, ask, await this.session.bearer());
    const answer = first.status === 401 ? await this.once(method, path, ask, await this.session.renew()) : first;
    const text = await answer.text();
    if (!answer.ok) throw refusalOf(answer, text);
    return text;
  }

  private async once(method: string, path: string, ask: Ask, token: string): Promise<Response> {
    const headers = new Headers({ Authorization: `Bearer ${token}` });
    const body = ask.exact !== undefined ? writeJson(ask.exact) : ask.body !== undefined ? JSON.stringify(ask.body) : null;
    if (body !== null) headers.set("Content-Type", "application/json");
    if (ask.ifMatch !== undefined) headers.set("If-Match", ask.ifMatch);
    try {
      return await this.send(this.base + path + searchOf(ask.query), { method, headers, body, signal: ask.signal ?? null });
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") throw error;
      throw new Unreachable();
    }
  }

  get<T>(path: string, query: Ask["query"] = {}, signal?: AbortSignal): Promise<T> {
    return this.call<T>("GET", path, signal ? { query, signal } : { query });
  }

  post<T>(path: string, body: unknown = {}): Promise<T> {
    return this.call<T>("POST", path, { body });
  }
}

function searchOf(query: Ask["query"] = {}): string {
  const kept = Object.entries(query).flatMap(([key, value]) => (value === null || value === undefined ? [] : [[key, String(value)]]));
  return kept.length ? `?${new URLSearchParams(kept).toString()}` : "";
}

function refusalOf(answer: Response, text: string): Refused {
  const id = answer.headers.get("X-Request-Id") ?? "";
  try {
    const { error } = JSON.parse(text) as Shapes["ErrorAnswer"];
    return new Refused(answer.status, error.code, error.message, error.hint ?? "", error.fields ?? {}, error.request_id || id);
  } catch {
    return new Refused(answer.status, "not_understood", `The API answered with status ${answer.status}.`, "", {}, id);
  }
}
