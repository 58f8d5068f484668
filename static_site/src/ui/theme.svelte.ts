/** The theme: auto, light or dark, remembered in this browser. */

export type Theme = "auto" | "light" | "dark";

const KEY = "tutti.theme";

function stored(): Theme {
  const value = document.documentElement.dataset["theme"];
  return value === "light" || value === "dark" ? value : "auto";
}

class ThemeChoice {
  now: Theme = $state(stored());

  set(theme: Theme): void {
    this.show(theme);
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // not remembered, then
    }
  }

  /** Another tab changed this entry of the browser's storage. */
  follow(key: string | null): void {
    if (key !== KEY) return;
    const chosen = localStorage.getItem(KEY);
    this.show(chosen === "light" || chosen === "dark" ? chosen : "auto");
  }

  private show(theme: Theme): void {
    this.now = theme;
    if (theme === "auto") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
  }

  next(): void {
    this.set(this.now === "auto" ? "light" : this.now === "light" ? "dark" : "auto");
  }
}

export const theme = new ThemeChoice();
