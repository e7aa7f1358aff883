// The audit trail: who changed keys, owners, secrets, decisions and the configuration, and which
// conversations operators read. Entries never contain text of a conversation.

import type { ActorKind, AuditAction } from "@colloquy/protocol";
import type { JsonObject } from "./json.ts";
import type { Logger } from "./ports/driven/logger.ts";

export type { ActorKind, AuditAction };

export interface Actor {
  readonly kind: ActorKind;
  /**
   * Id of the key, subject of the operator's token, or pseudonym of the user (`AuditStore.subjectOf`); `null`
   * for others.
   */
  readonly id: string | null;
  /** Name of the key, the operator or the account of the machine; `null` if it has none. */
  readonly name: string | null;
  /** Network address; `null` if there is none. */
  readonly address: string | null;
  readonly requestId: string | null;
}

export interface AuditEntry {
  readonly action: AuditAction;
  readonly actor: Actor;
  readonly app: string | null;
  /** Id of the session or key; `null` for none. */
  readonly target: string | null;
  readonly details: JsonObject;
}

/** A stored entry. */
export interface AuditRecord extends AuditEntry {
  readonly id: string;
  /** Milliseconds since the Unix epoch, on the store's clock. */
  readonly at: number;
}

/** Actions that are stored once a minute for each actor, address and target. */
const ONCE_A_MINUTE: ReadonlySet<AuditAction> = new Set(["login_failed", "session_read"]);
const MINUTE_MS = 60_000;

/**
 * Returns the deduplication key of an entry: the store keeps one entry per key. `null` for entries that are
 * always stored.
 */
export function repetitionKey({ action, actor, target }: AuditEntry, at: number): string | null {
  if (!ONCE_A_MINUTE.has(action)) return null;
  return JSON.stringify([action, actor.kind, actor.id, actor.address, target, Math.floor(at / MINUTE_MS)]);
}

export const SERVICE_ACTOR: Actor = {
  kind: "service",
  id: null,
  name: null,
  address: null,
  requestId: null,
};

/** Actions for which other code writes a log line. */
const LOGGED_OTHERWISE: ReadonlySet<AuditAction> = new Set(["config_reloaded", "login_failed"]);

/** Logs entries, without their details. */
export function logAudit(logger: Pick<Logger, "info">, entries: readonly AuditEntry[]): void {
  for (const { action, actor, app, target } of entries) {
    if (LOGGED_OTHERWISE.has(action)) continue;
    const { kind, id, name, address, requestId } = actor;
    const who = { actor_kind: kind, actor_id: id, actor_name: name, address, request_id: requestId };
    const known = Object.entries({ action, app, target, ...who }).filter(([, value]) => value !== null);
    logger.info(Object.fromEntries(known), "audit");
  }
}
