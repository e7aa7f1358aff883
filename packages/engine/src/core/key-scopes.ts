// Scopes of keys. docs/security.md lists the operations of each scope.

/** Scopes of App keys. A key that was created without scopes has all of these. */
export const APP_SCOPES = ["chat", "read", "secrets"] as const;
export type AppScope = (typeof APP_SCOPES)[number];

/** Scopes of the admin API: reading, or everything. */
export const ADMIN_SCOPES = ["admin:read", "admin:write"] as const;
export type AdminScope = (typeof ADMIN_SCOPES)[number];

/** Scope of keys that act for the user whom a request names. */
const ACT_AS = "act_as";

/** All scopes, in the order in which keys are listed. */
export const KEY_SCOPES = [...APP_SCOPES, ACT_AS, ...ADMIN_SCOPES] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];
