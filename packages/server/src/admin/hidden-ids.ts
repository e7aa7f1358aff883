// What operators who may only read get in place of session ids: a session's id opens it, so that a reader could decide,
// delete and write. The id is replaced wherever it occurs, also in titles, texts and tools' results. Wallet addresses are
// left out, because in the App `default` everybody can list the ids of a wallet's threads.

import type { AdminSession, AdminSessionDetail, AdminSessionPage, AuditPage } from "@colloquy/protocol";
import type { Reader } from "../core/ports/driving/admin-service.ts";
import type { RecordPage } from "../core/ports/driving/services.ts";
import type { ExportLine } from "../core/ports/driving/user-data-service.ts";
import type { SessionHandles } from "../core/session-handles.ts";

export function createHiding(handles: SessionHandles) {
  const session = (seen: AdminSession): AdminSession => ({
    ...handles.hide(seen, seen.session_id),
    public_key: null,
  });
  return {
    page: (page: AdminSessionPage, { seesIds }: Reader): AdminSessionPage =>
      seesIds ? page : { ...page, sessions: page.sessions.map(session) },
    detail: (detail: AdminSessionDetail, { seesIds }: Reader): AdminSessionDetail =>
      seesIds
        ? detail
        : { ...handles.hide(detail, detail.session.session_id), session: session(detail.session) },
    messages: (page: RecordPage, id: string, { seesIds }: Reader): RecordPage =>
      seesIds
        ? page
        : {
            ...page,
            read: async (after) => handles.hide(await page.read(after), id),
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
    const id = sessionOf(line);
    const hidden = id === null ? line : handles.hide(line, id);
    yield hidden.kind === "session"
      ? { ...hidden, session: { ...hidden.session, public_key: null } }
      : hidden;
  }
}

function sessionOf(line: ExportLine): string | null {
  switch (line.kind) {
    case "session":
      return line.session.session_id;
    case "message":
      return line.message.session_id;
    case "action":
      return line.session_id;
    case "secret":
    case "done":
      return null;
  }
}
