import { describe, expect, it } from "vitest";
import { Api } from "../src/core/api";
import { needsBucket, problemOf, Refused, SignedOut, Unreachable } from "../src/core/errors";
import { readJson } from "../src/core/json";
import { type Browser, Session, subjectOf } from "../src/core/session";

const place = { authorizeUrl: "http://i/authorize", tokenUrl: "http://i/token", clientId: "console", scope: "openid" };
const HERE = { ...place, authorizeUrl: "http://here/auth/authorize" };

/** A token whose own words say whose it is. */
function tokenOf(subject: unknown): string {
  return `head.${btoa(JSON.stringify({ sub: subject })).replace(/=+$/, "")}.signature`;
}

class Visit {
  readonly entries = new Map<string, string>();
  readonly went: URL[] = [];
  readonly forms: URLSearchParams[] = [];
  now = 1000;
  answer: () => Response | Promise<Response> = () => Response.json({ access_token: "T", expires_in: 3600 });
  /** The address that a silent request at the issuer of the same origin ends at. */
  silent: (state: string) => string = () => "http://here/?error=login_required";
  beside: (fits: (token: string) => boolean) => Promise<{ token: string; expires: number }> = async () => ({ token: "fresh", expires: 10 ** 9 });

  session(at: typeof place = place): Session {
    const browser: Browser = {
      origin: "http://here",
      storage: {
        getItem: (key) => this.entries.get(key) ?? null,
        setItem: (key, value) => void this.entries.set(key, value),
        removeItem: (key) => void this.entries.delete(key),
      },
      fetch: async (url, init) => {
        if (init === undefined) return { url: this.silent(new URL(String(url)).searchParams.get("state") ?? "") } as Response;
        this.forms.push(init.body as URLSearchParams);
        return this.answer();
      },
      now: () => this.now,
      random: (bytes) => new Uint8Array(bytes).fill(7),
      sha256: async (text) => new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))),
      go: (url) => void this.went.push(new URL(url)),
    };
    return new Session(at, browser, (fits) => this.beside(fits));
  }

  /** A visit that comes back from the issuer with this answer. */
  async back(answer: Record<string, string>, hash = "#/jobs", at: typeof place = place) {
    await this.session(at).arrive("", hash);
    const state = this.went.at(-1)?.searchParams.get("state") ?? "";
    const session = this.session(at);
    return { session, arrival: await session.arrive(`?${new URLSearchParams({ state, ...answer }).toString()}`, "") };
  }
}

describe("a session", () => {
  it("asks the issuer silently first, with a challenge and no secret", async () => {
    const visit = new Visit();
    expect(await visit.session().arrive("", "#/jobs")).toEqual({ kind: "leaving" });
    const query = Object.fromEntries(visit.went[0]?.searchParams ?? []);
    expect(query).toMatchObject({ response_type: "code", client_id: "console", redirect_uri: "http://here/", prompt: "none", code_challenge_method: "S256" });
    expect(query["code_challenge"]).toMatch(/^[A-Za-z0-9_-]{43}$/);
  });

  it("redeems the answer and goes on where it was", async () => {
    const visit = new Visit();
    const { session, arrival } = await visit.back({ code: "c" });
    expect([arrival, await session.bearer()]).toEqual([{ kind: "signed-in", hash: "#/jobs" }, "T"]);
    expect(visit.forms[0]?.get("code_verifier")).toMatch(/^[A-Za-z0-9_-]{64}$/);
  });

  it("leaves nothing in the browser's storage afterwards", async () => {
    const visit = new Visit();
    await visit.back({ code: "c" });
    expect(visit.entries.size).toBe(0);
  });

  it("shows the issuer's page when it is not known there", async () => {
    const visit = new Visit();
    expect((await visit.back({ error: "login_required" })).arrival).toEqual({ kind: "leaving" });
    expect(visit.went.at(-1)?.searchParams.has("prompt")).toBe(false);
  });

  it.each([
    [{ error: "access_denied", error_description: "not today" }, "not today"],
    [{ error: "access_denied" }, "access_denied"],
    [{}, "the issuer gave no reason"],
  ])("says why it was refused: %j", async (answer, why) => {
    expect((await new Visit().back(answer)).arrival).toEqual({ kind: "refused", why });
  });

  it("does not take an answer to another request", async () => {
    const visit = new Visit();
    await visit.session().arrive("", "#/");
    expect(await visit.session().arrive("?state=forged&code=c", "")).toEqual({ kind: "leaving" });
    expect(visit.forms).toEqual([]);
  });

  it("asks anew when what it stored cannot be read", async () => {
    const visit = new Visit();
    visit.entries.set("tutti.sign-in", "{");
    expect(await visit.session().arrive("?state=x&code=c", "")).toEqual({ kind: "leaving" });
  });

  it.each([
    [() => Response.json({ error_description: "the code is used" }, { status: 400 }), /the code is used/],
    [() => new Response("<html>", { status: 502 }), /status 502/],
    [() => Promise.reject(new TypeError("no route")), /does not answer/],
  ])("%# says why signing in failed", async (answer, why) => {
    const visit = new Visit();
    visit.answer = answer;
    await expect(visit.back({ code: "c" })).rejects.toThrow(why);
  });

  it("signs in beside the page shortly before its token ends, once for all who wait", async () => {
    const visit = new Visit();
    const { session } = await visit.back({ code: "c" });
    visit.now += 3_590_000;
    let asked = 0;
    visit.beside = async () => ({ token: `fresh ${(asked += 1)}`, expires: 10 ** 9 });
    expect(await Promise.all([session.bearer(), session.bearer()])).toEqual(["fresh 1", "fresh 1"]);
  });

  it("can try again after the window beside was closed", async () => {
    const visit = new Visit();
    const { session } = await visit.back({ code: "c" });
    visit.beside = () => Promise.reject(new SignedOut());
    await expect(session.renew()).rejects.toThrow(SignedOut);
    visit.beside = async () => ({ token: "again", expires: 10 ** 9 });
    expect(await session.bearer()).toBe("again");
  });

  it("is renewed without a word while an issuer of this origin still knows the user", async () => {
    const visit = new Visit();
    const { session } = await visit.back({ code: "c" }, "#/", HERE);
    visit.silent = (state) => `http://here/?code=again&state=${state}`;
    visit.answer = () => Response.json({ access_token: "silent", expires_in: 3600 });
    visit.beside = () => Promise.reject(new Error("asked the user"));
    expect([await session.renew(), visit.forms.at(-1)?.get("code")]).toEqual(["silent", "again"]);
  });

  it.each([
    ["does not know the user any more", () => "http://here/?error=login_required"],
    ["answers another request", () => "http://here/?code=again&state=other"],
    ["answers without a code", (state: string) => `http://here/?state=${state}`],
    [
      "cannot be reached",
      () => {
        throw new TypeError("no route");
      },
    ],
  ])("is renewed beside the page when the issuer %s", async (_, silent) => {
    const visit = new Visit();
    const { session } = await visit.back({ code: "c" }, "#/", HERE);
    visit.silent = silent;
    expect(await session.renew()).toBe("fresh");
  });

  it("takes no token of somebody else, silently or beside the page", async () => {
    const visit = new Visit();
    visit.answer = () => Response.json({ access_token: tokenOf("ada"), expires_in: 3600 });
    const { session } = await visit.back({ code: "c" }, "#/", HERE);
    visit.silent = (state) => `http://here/?code=again&state=${state}`;
    visit.answer = () => Response.json({ access_token: tokenOf("bob"), expires_in: 3600 });
    visit.beside = async (fits) => ({ token: [tokenOf("bob"), tokenOf("ada")].find(fits) ?? "", expires: 10 ** 9 });
    expect(await session.renew()).toBe(tokenOf("ada"));
  });

  it("asks again after the user signed out in another tab", async () => {
    const { session } = await new Visit().back({ code: "c" });
    session.forget();
    expect(await session.bearer()).toBe("fresh");
  });

  it.each([["a.b.c", ""], ["opaque", ""], [tokenOf(7), ""], [tokenOf("ada"), "ada"]])("reads whose the token %s is", (token, subject) => {
    expect(subjectOf(token)).toBe(subject);
  });

  it("gives its token to the window it stands beside, if it has one", async () => {
    const visit = new Visit();
    const { session } = await visit.back({ code: "c" });
    expect(session.grant()).toEqual({ token: "T", expires: 3_601_000 });
    expect(() => new Visit().session().grant()).toThrow(SignedOut);
  });
});

describe("the API", () => {
  const asked: { url: string; init: RequestInit }[] = [];
  function api(...answers: (Response | Error)[]): Api {
    asked.length = 0;
    const send = async (url: RequestInfo | URL, init: RequestInit = {}) => {
      asked.push({ url: String(url), init });
      const next = answers.shift();
      if (!next || next instanceof Error) throw next ?? new Error("asked once too often");
      return next;
    };
    return new Api("/api", { bearer: async () => "old", renew: async () => "new" }, send as typeof fetch);
  }
  const header = (name: string, at = 0) => (asked[at]?.init.headers as Headers).get(name);

  it("sends the token in a header and the query in the address", async () => {
    expect(await api(Response.json({ a: 1 })).get("/jobs", { cursor: "x y", state: null })).toEqual({ a: 1 });
    expect([asked[0]?.url, header("Authorization")]).toEqual(["/api/jobs?cursor=x+y", "Bearer old"]);
  });

  it("renews a refused token once and repeats the request", async () => {
    await api(new Response("", { status: 401 }), Response.json({})).post("/jobs", { workspace: "w" });
    expect([header("Authorization", 1), asked[1]?.init.body]).toEqual(["Bearer new", '{"workspace":"w"}']);
  });

  it("sends exact numbers as they were written", async () => {
    await api(Response.json({})).call("PUT", "/workspaces/x", { exact: readJson('{"a": 3.0}'), ifMatch: "e" });
    expect([asked[0]?.init.body, header("If-Match")]).toEqual(['{"a": 3.0}', "e"]);
  });

  it("gives a text as it was written", async () => {
    expect(await api(new Response('{"a": 1.0}')).text("/schema/wizard.json")).toBe('{"a": 1.0}');
  });

  it("says the status alone when a refusal has neither hint nor fields", async () => {
    const answer = Response.json({ error: { code: "c", message: "m" } }, { status: 400 });
    expect(await api(answer).get("/x").catch((reason: unknown) => reason)).toMatchObject({ hint: "", fields: {}, requestId: "" });
  });

  it("answers nothing where there is nothing", async () => {
    expect(await api(new Response(null, { status: 204 })).call("DELETE", "/x")).toBeUndefined();
  });

  it("tells the API's own reason", async () => {
    const refusal = { error: { code: "name_taken", message: "taken", hint: "use x-2", fields: { suggestion: "x-2" }, request_id: "r1" } };
    const error = await api(Response.json(refusal, { status: 409 })).get("/x").catch((reason: unknown) => reason);
    expect(error).toMatchObject({ status: 409, code: "name_taken", fields: { suggestion: "x-2" } });
    expect(problemOf(error)).toEqual({ what: "taken.", todo: "Use x-2.", requestId: "r1" });
  });

  it("tells the status of an answer it does not understand", async () => {
    const answer = new Response("<html>", { status: 502, headers: { "X-Request-Id": "r2" } });
    expect(problemOf(await api(answer).get("/x").catch((reason: unknown) => reason))).toMatchObject({ what: "The API answered with status 502.", requestId: "r2" });
  });

  it("says when nothing answers, and lets a call be called off", async () => {
    await expect(api(new TypeError("failed to fetch")).get("/x")).rejects.toThrow(Unreachable);
    await expect(api(new DOMException("off", "AbortError")).get("/x", {}, new AbortController().signal)).rejects.toThrow("off");
  });
});

describe("a problem", () => {
  it.each([
    ["you have no bucket yet", "You have no bucket yet."],
    ["model_def.py is missing", "model_def.py is missing."],
    ["What now?", "What now?"],
    ["", ""],
  ])("of %j is told as a sentence", (message, what) => {
    expect(problemOf(new Refused(409, "c", message)).what).toBe(what);
  });

  it("is of a missing bucket by its code alone", () => {
    expect([new Refused(409, "no_bucket", "m"), new Refused(409, "name_taken", "m"), new Error("no_bucket")].map(needsBucket)).toEqual([true, false, false]);
  });

  it.each([new Refused(500, "c", "m"), new Unreachable(), new SignedOut(), new Error("odd"), "thrown text"])("of %s has words", (thrown) => {
    expect(problemOf(thrown).what).not.toBe("");
  });
});
