// Light, dark or system theme. In localStorage: it concerns the machine and is not sensitive.

import { useCallback, useState } from "react";

export type Theme = "system" | "light" | "dark";

const ENTRY = "colloquy.theme";

/** Applies the theme; before the first paint, so that nothing flashes. */
export function applyTheme(theme: Theme = chosenTheme()): void {
  const { dataset } = document.documentElement;
  if (theme === "system") delete dataset["theme"];
  else dataset["theme"] = theme;
}

/** Returns the theme in force and a function that changes it. */
export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(chosenTheme);
  const choose = useCallback((chosen: Theme) => {
    applyTheme(chosen);
    setTheme(chosen);
    try {
      window.localStorage.setItem(ENTRY, chosen);
    } catch {
      // Lasts as long as the page then.
    }
  }, []);
  return [theme, choose];
}

function chosenTheme(): Theme {
  try {
    const chosen = window.localStorage.getItem(ENTRY);
    return chosen === "light" || chosen === "dark" ? chosen : "system";
  } catch {
    return "system";
  }
}
