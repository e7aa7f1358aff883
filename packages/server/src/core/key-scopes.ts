// Scopes of App keys: what a key may be used for in the Apps that it opens. docs/security.md has the table of operations.

/** All scopes, in the order in which keys are listed. A key that was created without scopes has all of them. */
export const KEY_SCOPES = ["chat", "read", "secrets"] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];
