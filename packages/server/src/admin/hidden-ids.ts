// What operators who may only read get in place of session ids: a session's id opens it, so that a reader could decide,
// delete and write. Every UUID is replaced wherever it occurs, also in titles, texts and tools' results, except the ids of
// messages, actions and calls. Wallet addresses are
// left out, because in the App `default` everybody can list the ids of a wallet's threads.

import type { AdminSession, AdminSessionDetail, AdminSessionPage, AuditPage } from "@colloquy/protocol";
import type { Reader } from "../core/ports/driving/admin-service.ts";
import type { RecordPage } from "../core/ports/driving/services.ts";
import type { ExportLine } from "../core/ports/driving/user-data-service.ts";
import { isJsonObject } from "../core/json.ts";
import type { SessionHandles } from "../core/session-handles.ts";

export function createHiding(handles: SessionHandles) {
  const session = (seen: AdminSession): AdminSession => ({
    ...handles.hide(seen, NONE),
    public_key: null,
  });
  return {
    page: (page: AdminSessionPage, { seesIds }: Reader): AdminSessionPage =>
      seesIds ? page : { ...page, sessions: page.sessions.map(session) },
    detail: (detail: AdminSessionDetail, { seesIds }: Reader): AdminSessionDetail =>
      seesIds ? detail : { ...handles.hide(detail, ownIds(detail)), session: session(detail.session) },
    messages: (page: RecordPage, { seesIds }: Reader): RecordPage =>
      seesIds
        ? page
        : {
            ...page,
            read: async (after) => {
              const records = await page.read(after);
              return handles.hide(records, ownIds(records));
            },
          },
    audit: (page: AuditPage, { seesIds }: Reader): AuditPage =>
      seesIds
        ? page
        : {
            ...page,
            entries: page.entries.map(({ target, details, ...entry }) => ({
              ...entry,
              target: target === null ? null : handles.mask(target),
              details: JSON.parse(handles.mask(JSON.stringify(details))) as typeof details,
            })),
          },
    export: (lines: AsyncIterable<ExportLine>, { seesIds }: Reader): AsyncIterable<ExportLine> =>
      seesIds ? lines : hiddenLines(lines, handles),
  };
}

async function* hiddenLines(
  lines: AsyncIterable<ExportLine>,
  handles: SessionHandles,
): AsyncGenerator<ExportLine> {
  for await (const line of lines) {
    const hidden = handles.hide(line, ownIds(line));
    yield hidden.kind === "session"
      ? { ...hidden, session: { ...hidden.session, public_key: null } }
      : hidden;
  }
}

const NONE: ReadonlySet<string> = new Set();
/** Fields of a record that hold records with ids of their own. */
const PARTS = ["message", "action", "pending_actions", "tool_calls", "tool_results"];

/** Returns the ids of a record's messages, actions and calls, which open nothing. */
function ownIds(record: unknown): ReadonlySet<string> {
  const found = new Set<string>();
  collectIds(record, found);
  return found;
}

function collectIds(record: unknown, found: Set<string>): void {
  if (Array.isArray(record)) for (const one of record) collectIds(one, found);
  if (!isJsonObject(record)) return;
  // A client may have given a message the session's id.
  for (const id of [record["id"], record["call_id"]])
    if (typeof id === "string" && id !== record["session_id"]) found.add(id);
  for (const part of PARTS) collectIds(record[part], found);
}
