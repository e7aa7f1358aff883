import { OtherApp } from "../core/errors.ts";
import { countsAs } from "../core/session.ts";
import type { SessionRegistry } from "./session-registry.ts";

/** Returns the error for a session of another App. Invalidates the session if memory says otherwise, so that a retry sees its App. */
export function otherApp(
  registry: Pick<SessionRegistry, "resident" | "invalidate">,
  sessionId: string,
  apps: readonly string[] | undefined,
): OtherApp {
  const session = registry.resident(sessionId);
  if (session !== null && countsAs(session, apps)) registry.invalidate(sessionId);
  return new OtherApp();
}
