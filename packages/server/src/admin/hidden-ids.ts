// What operators who may only read get in place of session ids: a session's id opens it, so that a reader could decide,
// delete and write. Every UUID is replaced wherever it occurs, also in titles, texts and tools' results, except the ids of
// messages, actions, calls and files. Wallet addresses are
// left out, because in the App `default` everybody can list the ids of a wallet's threads.

import type {
  AdminFeedbackPage,
  AdminSession,
  AdminSessionDetail,
  AdminSessionPage,
  AuditPage,
} from "@colloquy/protocol";
import type { Reader } from "@colloquy/engine/internal/core/ports/driving/admin-service";
import type { RecordPage } from "@colloquy/engine/internal/core/ports/driving/services";
import type { ExportLine } from "@colloquy/engine/internal/core/ports/driving/user-data-service";
import { isJsonObject } from "@colloquy/engine/internal/core/json";
import type { SessionHandles } from "@colloquy/engine/internal/core/session-handles";

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
    feedback: (page: AdminFeedbackPage, { seesIds }: Reader): AdminFeedbackPage =>
      seesIds
        ? page
        : {
            ...page,
            feedback: page.feedback.map((entry) => handles.hide(entry, new Set([entry.message_id]))),
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
/** Fields that contain nested records with ids. */
const PARTS = ["message", "action", "pending_actions", "tool_calls", "tool_results", "attachments"];

/** Returns the ids of messages, actions, calls and files, which grant no access. */
function ownIds(record: unknown): ReadonlySet<string> {
  const found = new Set<string>();
  collectIds(record, found);
  return found;
}

function collectIds(record: unknown, found: Set<string>): void {
  if (Array.isArray(record)) for (const one of record) collectIds(one, found);
  if (!isJsonObject(record)) return;
  // A client may have used the session id as a message id.
  for (const id of [record["id"], record["call_id"]])
    if (typeof id === "string" && id !== record["session_id"]) found.add(id);
  for (const part of PARTS) collectIds(record[part], found);
}
