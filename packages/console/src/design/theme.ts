// The light, dark or system theme. Stored per browser, for all services and keys: it is not sensitive.

import { useCallback, useState } from "react";

export type Theme = "system" | "light" | "dark";

const STORAGE_KEY = "colloquy.theme";

/** Applies the theme. Call it before the first paint, so that the page does not flash. */
export function applyTheme(theme: Theme = storedTheme()): void {
  const { dataset } = document.documentElement;
  if (theme === "system") delete dataset["theme"];
  else dataset["theme"] = theme;
}

/** Returns the chosen theme and a function that changes and stores it. */
export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(storedTheme);
  const choose = useCallback((chosen: Theme) => {
    applyTheme(chosen);
    setTheme(chosen);
    try {
      window.localStorage.setItem(STORAGE_KEY, chosen);
    } catch {
      // Storage is refused: the choice lasts until the page is closed.
    }
  }, []);
  return [theme, choose];
}

function storedTheme(): Theme {
  try {
    const chosen = window.localStorage.getItem(STORAGE_KEY);
    return chosen === "light" || chosen === "dark" ? chosen : "system";
  } catch {
    return "system";
  }
}
