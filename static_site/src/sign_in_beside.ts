/** Signing in next to the page, in a window of its own, so that the page and all that was typed stay. */

import { SignedOut } from "./core/errors";

interface Grant {
  readonly token: string;
  readonly expires: number;
}

const HASH = "#/sign-in-beside";
const CHANNEL = "tutti.session";

/** True in the small window that only signs in. */
export function isBeside(hash: string): boolean {
  return hash === HASH;
}

/** Hand the token to the page that waits, and close. */
export function grantToOpener(grant: Grant): void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.postMessage(grant);
  channel.close();
  window.close();
}

/** Ask for a sign-in in a dialog (a window may only be opened by a click), and wait for its token. SignedOut when it is closed. */
export function besideThisPage(): Promise<Grant> {
  return new Promise((granted, failed) => {
    const channel = new BroadcastChannel(CHANNEL);
    const dialog = document.createElement("dialog");
    dialog.className = "beside";
    const title = document.createElement("h2");
    title.id = "beside-title";
    title.textContent = "Your session ended";
    const words = document.createElement("p");
    words.textContent = "This page and everything on it stay. Sign in again, and what you asked for goes on.";
    const button = document.createElement("button");
    button.className = "button go";
    button.textContent = "Sign in";
    const later = document.createElement("button");
    later.className = "button bare";
    later.textContent = "Not now";
    dialog.setAttribute("aria-labelledby", title.id);
    dialog.append(title, words, button, later);
    document.body.append(dialog);
    const end = () => {
      channel.close();
      dialog.remove();
    };
    channel.onmessage = (event: MessageEvent<Grant>) => {
      end();
      granted(event.data);
    };
    button.onclick = () => window.open(`${location.pathname}${HASH}`, "tutti-sign-in", "popup,width=480,height=640");
    later.onclick = () => dialog.close();
    dialog.onclose = () => {
      end();
      failed(new SignedOut());
    };
    dialog.showModal();
  });
}
