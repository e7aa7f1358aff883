// Sessions of contract wallets that began before the ids of their owners had a chain.

import { SERVICE_ACTOR } from "../core/audit.ts";
import type { Store } from "../core/ports/driven/store.ts";
import type { AuditTrail } from "./audit-trail.ts";
import type { SessionRegistry } from "./session-registry.ts";

/** Sessions of one read, which are changed concurrently. */
const PORTION = 100;

interface InheritanceOptions {
  readonly store: Pick<Store, "sessions">;
  readonly registry: Pick<SessionRegistry, "execute">;
  readonly audit: Pick<AuditTrail, "subjectOf">;
}

/** Gives the sessions that `from` owns to `owner`, and fixes those that are bound to the wallet's address to the wallet. */
export async function inheritSessions(
  { store, registry, audit }: InheritanceOptions,
  from: string,
  { owner, walletId }: { readonly owner: string; readonly walletId: string },
): Promise<void> {
  const former = { owner: from, publicKey: null, app: null };
  for (let after = 0, isEnd = false; !isEnd; ) {
    const held = await store.sessions.heldBy(former, after, PORTION);
    if (held.length === 0) return;
    const subject = await audit.subjectOf(owner);
    const input = { from, owner, walletId, subject, by: SERVICE_ACTOR };
    await Promise.all(
      held.map(({ id }) =>
        registry.execute({
          kind: "transfer",
          target: { session: id, birth: null, load: false, access: null },
          input,
        }),
      ),
    );
    after = held.at(-1)?.key ?? after;
    isEnd = held.length < PORTION;
  }
}
