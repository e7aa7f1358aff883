// COLLOQUY_DATABASE_URL and COLLOQUY_NATS_URL, which replace the sections `backend` and `transport` of the
// configuration file.

import type { Hidden } from "@colloquy/engine/internal/core/hidden";
import type { ConfigProblem } from "@colloquy/engine/internal/config/problem";

/** Values of the variables; `null` if not set. */
export interface StorageVariables {
  readonly COLLOQUY_DATABASE_URL: Hidden<string> | null;
  readonly COLLOQUY_NATS_URL: Hidden<string> | null;
}

const SECTIONS = [
  { variable: "COLLOQUY_DATABASE_URL", section: "backend", kind: "postgresql" },
  { variable: "COLLOQUY_NATS_URL", section: "transport", kind: "nats" },
] as const;

/** Adds the sections that the variables replace to the unvalidated content of a file. */
export function withVariables(written: unknown, values: StorageVariables) {
  const sections: Record<string, unknown> = {};
  const variables: Record<string, string> = {};
  const conflicts: ConfigProblem[] = [];
  for (const { variable, section, kind } of SECTIONS) {
    const url = values[variable];
    if (url === null) continue;
    if (Object.hasOwn(Object(written) as object, section)) {
      const message = `is set, and the configuration file has the section ${section}. Remove one of them.`;
      conflicts.push({ source: "environment", location: variable, message });
    }
    sections[section] = { kind, url: url.reveal() };
    variables[`${section}.url`] = variable;
  }
  const isRecord = typeof written === "object" && written !== null && !Array.isArray(written);
  const isChanged = isRecord && Object.keys(sections).length > 0;
  return { content: isChanged ? { ...written, ...sections } : written, variables, conflicts };
}
