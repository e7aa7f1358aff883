// Operations on App keys, for operators.

import type { AdminKey, IssuedAdminKey, KeyScope } from "./admin-wire.ts";
import type { Abortable, Transport } from "./transport.ts";

export type AdminKeys = ReturnType<typeof adminKeys>;

export function adminKeys(transport: Transport) {
  const path = (id: string): string => `/api/admin/keys/${encodeURIComponent(id)}`;
  return {
    /** Lists all keys ever created, oldest first; with `app`, those that open it. */
    listKeys({ app, signal }: Abortable & { readonly app?: string | undefined } = {}): Promise<AdminKey[]> {
      return transport.body({ path: "/api/admin/keys", query: { app }, repeatable: true, signal });
    },

    /** Creates a key. Never retries: after a lost response, a retry would create a second key. */
    createKey(
      wanted: Abortable & {
        /** Apps that the key opens; empty for an operator's key, which has only admin scopes. */
        readonly apps: readonly string[];
        /** Scopes of the key; all App scopes when absent. */
        readonly scopes?: readonly KeyScope[] | undefined;
        readonly name?: string | undefined;
        /** The key never expires when absent. */
        readonly expiresInSeconds?: number | undefined;
      },
    ): Promise<IssuedAdminKey> {
      const { apps, scopes, name, expiresInSeconds, signal } = wanted;
      const body = { apps, scopes, name, expires_in_seconds: expiresInSeconds };
      return transport.body({ method: "POST", path: "/api/admin/keys", body, signal });
    },

    /** Revokes the key, on all nodes within five seconds. */
    revokeKey(id: string, { signal }: Abortable = {}): Promise<AdminKey> {
      return transport.body({ method: "DELETE", path: path(id), repeatable: true, signal });
    },

    /**
     * Creates a key for the same Apps at once; the old one expires after `overlapSeconds` (a day when
     * absent). Not retried.
     */
    rotateKey(
      id: string,
      options: Abortable & { readonly overlapSeconds?: number | undefined } = {},
    ): Promise<IssuedAdminKey> {
      const { overlapSeconds, signal } = options;
      const body = { overlap_seconds: overlapSeconds };
      return transport.body({ method: "POST", path: `${path(id)}/rotate`, body, signal });
    },
  };
}
