import { OtherApp } from "../core/errors.ts";
import { countsAs } from "../core/session.ts";
import type { Registry } from "./registry.ts";

/** The refusal of what was asked under `apps`. Whoever looks again must not be told the same by a memory that is behind. */
export function otherApp(
  registry: Pick<Registry, "resident" | "reload">,
  sessionId: string,
  apps: readonly string[] | undefined,
): OtherApp {
  const session = registry.resident(sessionId);
  if (session !== null && countsAs(session, apps)) registry.reload(sessionId);
  return new OtherApp();
}
