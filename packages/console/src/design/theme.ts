// Light, dark, or as the system says. Kept in localStorage: it is about the machine and gives nothing away.

import { useCallback, useState } from "react";

export type Theme = "system" | "light" | "dark";

const ENTRY = "colloquy.theme";

/** Puts on what was chosen; before the first picture, so that nothing flashes. */
export function applyTheme(theme: Theme = chosenTheme()): void {
  const { dataset } = document.documentElement;
  if (theme === "system") delete dataset["theme"];
  else dataset["theme"] = theme;
}

/** The theme in force, and what chooses another one. */
export function useTheme(): readonly [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(chosenTheme);
  const choose = useCallback((chosen: Theme) => {
    applyTheme(chosen);
    setTheme(chosen);
    try {
      window.localStorage.setItem(ENTRY, chosen);
    } catch {
      // Then it lasts as long as the page.
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
