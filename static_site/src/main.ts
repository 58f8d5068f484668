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

function show(title: string, text: string, todo = ""): void {
  const page = document.createElement("main");
  const [head, again] = [document.createElement("h1"), document.createElement("button")];
  const lines = [text, todo].filter(Boolean).map((line) => Object.assign(document.createElement("p"), { textContent: line }));
  page.className = "blank";
  page.setAttribute("role", "alert");
  document.title = `${title} · Tutti`;
  head.textContent = title;
  again.textContent = "Try again";
  again.className = "button go";
  again.onclick = () => (location.search ? location.replace(location.pathname + location.hash) : location.reload());
  page.append(head, ...lines, again);
  document.body.replaceChildren(page);
}

/** Tells the other tabs that their token is of no use any more. */
const SIGNED_OUT = "tutti.signed-out";

async function json<T>(url: string): Promise<T> {
  const answer = await fetch(url, { cache: "no-cache" }).catch(() => {
    throw new Error(`No answer came from ${new URL(url, location.href).href}.`);
  });
  if (!answer.ok) throw new Error(`${url} answered with status ${answer.status}.`);
  return (await answer.json()) as T;
}

async function start(): Promise<void> {
  const config = await json<{ api: string }>("./config.json");
  const place = await json<SignIn>(`${config.api}/sign-in`);
  const session = new Session(
    { authorizeUrl: place.authorize_url, tokenUrl: place.token_url, clientId: place.client_id, scope: place.scope },
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
  if (isBeside(arrival.hash)) {
    grantToOpener(session.grant());
    return show("You are signed in", "Close this window; the page beside it goes on.");
  }
  history.replaceState(null, "", location.pathname + (arrival.hash || "#/"));
  const api = new Api(config.api, session, (url, init) => fetch(url, init));
  const out = new BroadcastChannel(SIGNED_OUT);
  out.onmessage = () => session.forget();
  const world = new World(api, new Drafts(localStorage), new UploadDesk(api), () => {
    out.postMessage("");
    signOut(place);
  });
  mount(App, { target: document.getElementById("app") ?? document.body, props: { world } });
}

/** The laptop's issuer ends the session only for a form of its own origin; Cognito's page does it by its address. */
function signOut(place: SignIn): void {
  if (!place.issuer.startsWith(`${location.origin}/`)) {
    const query = new URLSearchParams({ client_id: place.client_id, logout_uri: `${location.origin}/` });
    location.assign(`${new URL(place.authorize_url).origin}/logout?${query.toString()}`);
    return;
  }
  const form = document.createElement("form");
  form.method = "post";
  form.action = `${place.issuer}/logout`;
  document.body.append(form);
  form.submit();
}

start().catch((error: unknown) =>
  show("Tutti does not answer", error instanceof Error ? error.message : String(error), "Check that it runs (on your own machine: make up) and that this browser reaches it. Drafts are kept."),
);
