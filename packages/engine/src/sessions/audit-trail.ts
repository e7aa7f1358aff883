// Reads and writes the audit trail for the routes.

import { createHmac, randomBytes } from "node:crypto";
import type { AuditPage } from "@colloquy/protocol";
import { type AuditEntry, type AuditRecord, logAudit } from "../core/audit.ts";
import { InvalidRequest } from "../core/errors.ts";
import type { AuditQuery, AuditStore } from "../core/ports/driven/store.ts";
import type { Logger } from "../core/ports/driven/logger.ts";

const SALT_BYTES = 32;

export type AuditListQuery = Omit<AuditQuery, "after"> & { readonly cursor: string | null };

interface AuditTrailOptions {
  readonly store: AuditStore;
  readonly logger: Logger;
}

export type AuditTrail = ReturnType<typeof createAuditTrail>;

export function createAuditTrail({ store, logger }: AuditTrailOptions) {
  return {
    /** Returns the pseudonym of a user in the trail. */
    async subjectOf(owner: string): Promise<string> {
      const salt = await store.saltOf(owner, randomBytes(SALT_BYTES).toString("base64url"));
      return createHmac("sha256", Buffer.from(salt, "base64url")).update(owner).digest("base64url");
    },
    /**
     * Stores and logs an operation without a transaction of its own. Never rejects: while the store rejects
     * writes, only logs it.
     */
    async note(entry: AuditEntry): Promise<void> {
      logAudit(logger, [entry]);
      try {
        await store.add(entry);
      } catch (err) {
        logger.error({ err, action: entry.action }, "could not store an audit entry; only the log has it");
      }
    },
    /** Newest first. @throws InvalidRequest for a cursor that is not of an earlier page */
    async list({ cursor, ...query }: AuditListQuery): Promise<AuditPage> {
      const after = cursor === null ? null : parseCursor(cursor);
      const records = await store.list({ ...query, after, limit: query.limit + 1 });
      const entries = records.slice(0, query.limit);
      const last = records.length > query.limit ? entries.at(-1) : undefined;
      return { entries: entries.map(toWire), next_cursor: last === undefined ? null : formatCursor(last) };
    },
  };
}

function toWire({ id, at, action, actor, app, target, details }: AuditRecord): AuditPage["entries"][number] {
  const { requestId, ...who } = actor;
  return {
    id,
    at: new Date(at).toISOString(),
    action,
    actor: who,
    app,
    target,
    details,
    request_id: requestId,
  };
}

function formatCursor({ at, id }: AuditRecord): string {
  return `${at.toString(36)}.${id}`;
}

function parseCursor(cursor: string): Pick<AuditRecord, "at" | "id"> {
  const [, at = "", id = ""] = /^([0-9a-z]{1,10})\.([0-9a-z-]{45})$/.exec(cursor) ?? [];
  if (id === "")
    throw new InvalidRequest("invalid_cursor", "`cursor` must be `next_cursor` of an earlier page.");
  return { at: Number.parseInt(at, 36), id };
}
