import { mount } from "svelte";
import App from "./App.svelte";
import { Api } from "./core/api";
import { Drafts } from "./core/drafts";
import { Session } from "./core/session";
import { besideThisPage, grantToOpener, isBeside } from "./sign_in_beside";
import "./style/tokens.css";
import "./style/base.css";
import { UploadDesk } from "./ui/upload_desk.svelte";
import { World } from "./ui/world.svelte";

interface SignIn {
  readonly issuer: string;
  readonly authorize_url: string;
  readonly token_url: string;
  readonly client_id: string;
  readonly scope: string;
}

function show(title: string, text: string): void {
  const page = document.createElement("main");
  const [head, words, again] = [document.createElement("h1"), document.createElement("p"), document.createElement("a")];
  page.className = "blank";
  head.textContent = title;
  words.textContent = text;
  again.textContent = "Try again";
  again.href = "./";
  again.className = "button";
  page.append(head, words, again);
  document.body.replaceChildren(page);
}

async function json<T>(url: string): Promise<T> {
  const answer = await fetch(url, { cache: "no-cache" });
  if (!answer.ok) throw new Error(`${url} answered with status ${answer.status}.`);
  return (await answer.json()) as T;
}

async function start(): Promise<void> {
  const config = await json<{ api: string }>("./config.json");
  const place = await json<SignIn>(`${config.api}/sign-in`);
  const session = new Session(
    { authorizeUrl: place.authorize_url, tokenUrl: place.token_url, clientId: place.client_id, scope: place.scope, signOutUrl: null },
    {
      origin: location.origin,
      storage: sessionStorage,
      fetch: (url, init) => fetch(url, init),
      now: () => Date.now(),
      random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
      sha256: async (text) => new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))),
      go: (url) => location.assign(url),
    },
    besideThisPage,
  );
  const arrival = await session.arrive(location.search, location.hash);
  if (arrival.kind === "leaving") return;
  if (arrival.kind === "refused") return show("You are not signed in", `The sign-in service said: ${arrival.why}.`);
  if (isBeside(arrival.hash)) return grantToOpener(session.grant());
  history.replaceState(null, "", location.pathname + (arrival.hash || "#/"));
  const api = new Api(config.api, session, (url, init) => fetch(url, init));
  const world = new World(api, new Drafts(localStorage), new UploadDesk(api), () => signOut(place.issuer));
  mount(App, { target: document.getElementById("app") ?? document.body, props: { world } });
}

/** Only a form of this origin may end the session at the issuer. */
function signOut(issuer: string): void {
  const form = document.createElement("form");
  form.method = "post";
  form.action = `${issuer}/logout`;
  document.body.append(form);
  form.submit();
}

start().catch((error: unknown) => show("Tutti does not answer", error instanceof Error ? error.message : String(error)));
