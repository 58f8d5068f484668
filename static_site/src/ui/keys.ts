/** Keyboard shortcuts: single keys and two-key sequences, silent while somebody types. */

type Actions = Readonly<Record<string, () => void>>;

const SEQUENCE_MS = 900;

/** Whether single-key shortcuts are on; remembered in this browser where it allows that. */
export const shortcutsOn = {
  get: (): boolean => {
    try {
      return localStorage.getItem("tutti.shortcuts") !== "off";
    } catch {
      return true;
    }
  },
  set: (on: boolean): void => {
    try {
      localStorage.setItem("tutti.shortcuts", on ? "on" : "off");
    } catch {
      // not remembered, then
    }
  },
};

/** A handler of keydown for these shortcuts: `Mod+k`, `?`, `g j`. */
export function keysOf(actions: Actions): (event: KeyboardEvent) => void {
  let first = "";
  let at = 0;
  return (event) => {
    const combined = (event.metaKey || event.ctrlKey) && !event.altKey ? `Mod+${event.key.toLowerCase()}` : "";
    if (combined) {
      const action = actions[combined];
      if (action) {
        event.preventDefault();
        action();
      }
      return;
    }
    if (event.altKey || isTyping(event.target) || !shortcutsOn.get()) return;
    const sequence = event.timeStamp - at < SEQUENCE_MS ? `${first} ${event.key}` : event.key;
    const action = actions[sequence] ?? actions[event.key];
    first = event.key;
    at = event.timeStamp;
    if (!action) return;
    event.preventDefault();
    first = "";
    action();
  };
}

function isTyping(target: EventTarget | null): boolean {
  const node = target instanceof Element ? target : null;
  return Boolean(node?.closest("input, textarea, select, [contenteditable], dialog, .editor"));
}
