/** The theme: auto, light or dark, remembered in this browser. */

export type Theme = "auto" | "light" | "dark";

function stored(): Theme {
  const value = document.documentElement.dataset["theme"];
  return value === "light" || value === "dark" ? value : "auto";
}

class ThemeChoice {
  now: Theme = $state(stored());

  set(theme: Theme): void {
    this.now = theme;
    if (theme === "auto") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
    try {
      localStorage.setItem("tutti.theme", theme);
    } catch {
      // not remembered, then
    }
  }

  next(): void {
    this.set(this.now === "auto" ? "light" : this.now === "light" ? "dark" : "auto");
  }
}

export const theme = new ThemeChoice();
