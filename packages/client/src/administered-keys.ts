// Keys that open Apps, as an operator makes and ends them.

import type { AdminKey, IssuedAdminKey } from "./admin-wire.ts";
import type { Abortable, Transport } from "./transport.ts";

export type AdministeredKeys = ReturnType<typeof administeredKeys>;

export function administeredKeys(transport: Transport) {
  const path = (id: string): string => `/api/admin/keys/${encodeURIComponent(id)}`;
  return {
    /** All that were ever made, oldest first; those that open `app`, where it is given. */
    listKeys({ app, signal }: Abortable & { readonly app?: string } = {}): Promise<AdminKey[]> {
      return transport.body({ path: "/api/admin/keys", query: { app }, repeatable: true, signal });
    },

    /** Not tried again by itself: a key whose answer is lost would stay, known to nobody. */
    createKey(
      wanted: Abortable & {
        readonly apps: readonly string[];
        readonly name?: string;
        /** For ever when absent. */
        readonly expiresInSeconds?: number;
      },
    ): Promise<IssuedAdminKey> {
      const { apps, name, expiresInSeconds, signal } = wanted;
      const body = { apps, name, expires_in_seconds: expiresInSeconds };
      return transport.body({ method: "POST", path: "/api/admin/keys", body, signal });
    },

    /** The key opens nothing any more: everywhere within five seconds. */
    revokeKey(id: string, { signal }: Abortable = {}): Promise<AdminKey> {
      return transport.body({ method: "DELETE", path: path(id), repeatable: true, signal });
    },

    /** A key for the same Apps at once; the old one ends `overlapSeconds` later, a day when absent. Not tried again by itself. */
    rotateKey(
      id: string,
      options: Abortable & { readonly overlapSeconds?: number } = {},
    ): Promise<IssuedAdminKey> {
      const { overlapSeconds, signal } = options;
      const body = { overlap_seconds: overlapSeconds };
      return transport.body({ method: "POST", path: `${path(id)}/rotate`, body, signal });
    },
  };
}
