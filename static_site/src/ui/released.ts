/** Act once no mouse button or finger is down: what grows on the page when a field is left would else move the button away between
 * its press and its release, and the click would be lost. */
export function onceReleased(act: () => void): void {
  if (document.querySelector("button:active, a:active, label:active, input:active, summary:active") === null) return act();
  const stop = new AbortController();
  const released = () => {
    stop.abort();
    setTimeout(act);
  };
  for (const kind of ["pointerup", "pointercancel"]) addEventListener(kind, released, { capture: true, signal: stop.signal });
}
