// The access of an event stream whose key and token are known.

import type { KeyGrant } from "@colloquy/engine/internal/core/ports/driving/credentials";
import type { StreamAccess } from "@colloquy/engine/internal/core/ports/driving/services";
import { AppRules } from "../access/app-rules.ts";
import { Caller } from "../access/caller.ts";
import type { RequestUser } from "../access/credentials.ts";

/** An App as `AppCatalog` returns it; by default one that needs its key for everything. */
interface StreamParts {
  readonly app?: object;
  readonly grant?: KeyGrant | null;
  readonly user?: RequestUser | null;
  /** `Colloquy-Owner`. */
  readonly owner?: string | null;
}

/** Returns the access after the first check. The key is sent if there is a grant, the token if there is a user. */
export async function streamOf({
  app = { requireKey: "all", users: null },
  grant = null,
  user = null,
  owner = null,
}: StreamParts): Promise<StreamAccess> {
  const caller = new Caller(
    {
      keys: { check: () => Promise.resolve(grant) },
      users: { areUsed: true, check: () => user, ownerOf: () => "alice" } as never,
      rules: new AppRules({ names: () => [], get: () => app } as never),
      conversations: { appOf: () => "default" },
    },
    { session: "header", app: "session", scope: "read", streams: true },
    { key: grant === null ? null : "key", token: user === null ? null : "token", owner },
  );
  const stream = caller.streamAccess();
  await stream.refresh?.();
  return stream;
}
