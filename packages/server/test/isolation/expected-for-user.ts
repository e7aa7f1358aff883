// Expected statuses for callers of an App with users, by the rules of contract section 4.

import type { KeyScope } from "@colloquy/engine/internal/core/key-scopes";
import type { ClassifiedOperation } from "./classified-operations.ts";
import { scopesOf, type UserApp, type UserCaller } from "./user-callers.ts";

/** Returns true if the caller acts as the owner of the conversation. */
export function isTheOwner(caller: UserCaller, app: UserApp): boolean {
  return (
    caller === "own token" || caller === "act_as the owner" || (caller === "wallet proved" && app === "club")
  );
}

/** Returns true if the App knows the caller as one of its users. */
function isUser(caller: UserCaller, app: UserApp): boolean {
  return (
    isTheOwner(caller, app) ||
    caller === "other user" ||
    caller === "approver" ||
    caller === "wallet proved" ||
    caller === "act_as another"
  );
}

const isInvalid = (caller: UserCaller) => caller === "expired token" || caller === "revoked token";

const hasToken = (caller: UserCaller) =>
  caller.includes("token") || caller === "other user" || caller === "approver" || caller === "wallet proved";

/** Returns the scope that a key needs for the operation (docs/security.md). */
function scopeFor(name: string): KeyScope {
  if (name.includes("/secrets")) return "secrets";
  return name.startsWith("GET ") ? "read" : "chat";
}

/** Returns the required status. */
export function expectedForUser(
  name: string,
  operation: ClassifiedOperation,
  caller: UserCaller,
  app: UserApp,
): number {
  if (operation.class === "public") return 200;
  if (operation.class === "admin") return expectedOfOperator(name, caller, app);
  if (name.startsWith("POST /api/auth/")) return expectedOfToken(name, caller, app);
  if (isInvalid(caller)) return 401;
  if (operation.hasNoSession === true) return expectedOfApprover(caller, app);
  const scopes = scopesOf(caller, app);
  if (name.includes("/users/me")) return isUser(caller, app) ? 200 : 401;
  // The request names no App, and its session is hidden, so the key does not matter.
  if (name === "GET /api/control/apps" && !isTheOwner(caller, app)) return 404;
  if (scopes !== null && !scopes.includes(scopeFor(name))) return 403;
  // Models are those of the Apps that the caller opens.
  if (name.startsWith("GET /v1/models")) return 200;
  const opensApp = scopes !== null || isUser(caller, app);
  if (operation.class === "app" && !opensApp) return 401;
  // The result of the tool has the error.
  if (name === "POST /mcp") return 200;
  // The request names the owner as its client.
  if (name.includes("/secrets")) return isTheOwner(caller, app) ? 200 : 403;
  if (name.includes("/sessions/{id}/claim")) return expectedOfClaim(caller, app);
  // A copy is bound to the wallet, which a key has not proved to hold.
  if (name.endsWith("/fork") && app === "club" && caller === "act_as the owner") return 403;
  // Lists have the caller's own conversations.
  return (name.endsWith("/sessions") && name.startsWith("GET ")) || isTheOwner(caller, app) ? 200 : 404;
}

/** Only user tokens can belong to approvers. Without a token, the session is missing. */
function expectedOfApprover(caller: UserCaller, app: UserApp): number {
  if (!hasToken(caller)) return 400;
  return caller === "approver" && app === "shop" ? 200 : 403;
}

/** Only users claim, and only where the App has `claimSessions`. */
function expectedOfClaim(caller: UserCaller, app: UserApp): number {
  if (!hasToken(caller) && !isUser(caller, app)) return 401;
  if (!isTheOwner(caller, app)) return 404;
  return app === "shop" ? 200 : 403;
}

function expectedOfOperator(name: string, caller: UserCaller, app: UserApp): number {
  const scopes = scopesOf(caller, app);
  if (scopes === null || hasToken(caller)) return 401;
  const reads = name.startsWith("GET ");
  if (!scopes.includes("admin:write") && !(reads && scopes.includes("admin:read"))) return 403;
  return name.includes("/keys/{id}") ? 404 : 200;
}

/** The expected status of operations on the token itself. */
function expectedOfToken(name: string, caller: UserCaller, app: UserApp): number {
  if (!hasToken(caller) || caller === "expired token") return 401;
  // Signing out twice is no error.
  if (name.endsWith("/revoke")) return 204;
  if (name.endsWith("/verify") || caller === "revoked token") return 401;
  const holdsWallet = app === "club" || caller.startsWith("wallet") || caller.endsWith("another App");
  return holdsWallet ? 200 : 403;
}
