/** Signing in next to the page, in a window of its own, so that the page and all that was typed stay. */

import { mount, unmount } from "svelte";
import { SignedOut } from "./core/errors";
import SignInBeside from "./ui/SignInBeside.svelte";

interface Grant {
  readonly token: string;
  readonly expires: number;
}

const HASH = "#/sign-in-beside";
const CHANNEL = "tutti.session";
const OTHER = "That was somebody else's sign-in. This page belongs to the one who opened it: sign in as the same user, or reload the page.";

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

/** Ask for a sign-in in a dialog (a window may only be opened by a click), and wait for a token that fits. SignedOut when it is
 * closed. */
export function besideThisPage(fits: (token: string) => boolean): Promise<Grant> {
  return new Promise((granted, failed) => {
    const channel = new BroadcastChannel(CHANNEL);
    const end = () => {
      channel.close();
      void unmount(dialog);
    };
    const dialog = mount(SignInBeside, {
      target: document.body,
      props: {
        open: () => window.open(`${location.pathname}${HASH}`, "tutti-sign-in", "popup,width=480,height=640") !== null,
        onclose: () => {
          end();
          failed(new SignedOut());
        },
      },
    });
    channel.onmessage = ({ data }: MessageEvent<Grant>) => {
      if (!fits(data.token)) return dialog.tell(OTHER);
      end();
      granted(data);
    };
  });
}
