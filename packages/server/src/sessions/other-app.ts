import { OtherApp } from "../core/errors.ts";
import { countsAs } from "../core/session.ts";
import type { SessionRegistry } from "./session-registry.ts";

/** The refusal of what was asked under `apps`. Whoever looks again must not be told the same by a memory that is behind. */
export function otherApp(
  registry: Pick<SessionRegistry, "resident" | "invalidate">,
  sessionId: string,
  apps: readonly string[] | undefined,
): OtherApp {
  const session = registry.resident(sessionId);
  if (session !== null && countsAs(session, apps)) registry.invalidate(sessionId);
  return new OtherApp();
}
