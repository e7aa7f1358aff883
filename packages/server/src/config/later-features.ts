// Settings that the interface foresees and this version does not have yet. They are told apart from typing errors, and they
// stop the start: a secret slot or a key that is silently not asked for would be worse than no service.

import { isJsonObject } from "../core/json.ts";
import { DEFAULT_APP } from "../core/session.ts";
import { formatPath, type ConfigProblem } from "./problem.ts";

const APP_SETTINGS: readonly string[] = ["secrets", "requireKey", "mcp"];

/** The file's content without those settings, and a problem for each of them. */
export function takeLaterFeatures(
  source: string,
  content: unknown,
): { readonly content: unknown; readonly problems: readonly ConfigProblem[] } {
  if (!isJsonObject(content) || !isJsonObject(content["apps"])) return { content, problems: [] };
  const problems: ConfigProblem[] = [];
  const note = (path: readonly string[], message: string): void => {
    problems.push({ source, place: formatPath(path), message });
  };

  const apps: Record<string, unknown> = {};
  for (const [name, section] of Object.entries(content["apps"])) {
    if (name !== DEFAULT_APP) {
      note(
        ["apps", name],
        `This version serves the App "${DEFAULT_APP}" alone. Take the App out of the file.`,
      );
    } else if (isJsonObject(section)) {
      const settings = Object.entries(section);
      for (const [key] of settings.filter(([key]) => APP_SETTINGS.includes(key))) {
        note(["apps", name, key], "This version does not have this setting yet. Take it out of the file.");
      }
      apps[name] = Object.fromEntries(settings.filter(([key]) => !APP_SETTINGS.includes(key)));
    } else {
      apps[name] = section;
    }
  }
  return { content: { ...content, apps }, problems };
}
