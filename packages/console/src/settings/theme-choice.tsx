import type { ReactNode } from "react";
import { useTheme, type Theme } from "../design/theme.ts";
import styles from "./settings.module.css";

const THEMES: readonly { readonly theme: Theme; readonly name: string }[] = [
  { theme: "system", name: "System" },
  { theme: "light", name: "Light" },
  { theme: "dark", name: "Dark" },
];

/** Takes effect at once. */
export function ThemeChoice(): ReactNode {
  const [chosen, choose] = useTheme();
  return (
    <fieldset className={styles["themes"]}>
      <legend>Appearance</legend>
      <div>
        {THEMES.map(({ theme, name }) => (
          <label key={theme}>
            <input type="radio" name="theme" checked={chosen === theme} onChange={() => choose(theme)} />
            {name}
          </label>
        ))}
      </div>
    </fieldset>
  );
}
