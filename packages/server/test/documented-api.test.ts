import { beforeAll, describe, expect, it } from "vitest";
import { startEdges } from "../src/http/testing/edge.ts";
import { DocumentedApi, type Traffic } from "./documented-api.ts";

const edges = await startEdges();
const edge = edges.testEdge();
const SESSION = edge.session;

let api: DocumentedApi;
/** A real exchange that each test modifies. */
let exchange: Traffic;

beforeAll(async () => {
  api = new DocumentedApi((await edge.app.inject("/openapi.json")).json());
  const headers = { "x-session-id": SESSION };
  const answer = await edge.app.inject({ url: "/api/state", headers });
  exchange = {
    method: "GET",
    target: "/api/state",
    sent: headers,
    body: null,
    status: answer.statusCode,
    headers: answer.headers,
    text: answer.body,
  };
});

function faults(changes: Partial<Traffic>): string[] {
  return api.faults({ ...exchange, ...changes });
}

/** Returns the faults of the snapshot with these fields replaced. */
function bodyFaults(fields: object): string[] {
  return faults({ text: JSON.stringify({ ...(JSON.parse(exchange.text!) as object), ...fields }) });
}

describe("the OpenAPI document", () => {
  it("covers a real answer", () => {
    expect(faults({})).toEqual([]);
  });

  it("covers no other status, header, media type or path", () => {
    expect(faults({ status: 418 })).toEqual(["the status 418"]);
    expect(faults({ headers: { ...exchange.headers, "x-secret": "1" } })).toEqual(["the header x-secret"]);
    const { etag: _, ...untagged } = exchange.headers;
    expect(faults({ headers: untagged })).toEqual(["an answer without the header etag"]);
    const html = { ...exchange.headers, "content-type": "text/html" };
    expect(faults({ headers: html })).toEqual(["a body of the type text/html"]);
    expect(faults({ target: "/api/nowhere" })).toEqual(["GET /api/nowhere"]);
  });

  it("covers no unknown field at any depth, and no missing one", () => {
    expect(bodyFaults({ secret: 1 })).toHaveLength(1);
    expect(bodyFaults({ title: undefined })).toHaveLength(1);
    expect(bodyFaults({ status: "resting" })).toHaveLength(1);
    const message = { sender: "user", content: "", id: SESSION, created_at: "2026-11-20T12:00:00.000Z" };
    expect(bodyFaults({ messages: [{ ...message, status: "complete" }] })).toEqual([]);
    expect(bodyFaults({ messages: [{ ...message, status: "complete", extra: 1 }] })).toHaveLength(1);
  });

  it("allows a session id in any case, but not the nil or the max UUID", () => {
    const withId = (id: string) => faults({ sent: { "x-session-id": id } });
    expect(withId(SESSION.toUpperCase())).toEqual([]);
    for (const id of ["00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-FFFFFFFFFFFF", "none"])
      expect(withId(id).join()).toContain("header parameter X-Session-Id");
    expect(faults({ sent: {} })).toEqual(["no header parameter X-Session-Id"]);
  });

  it("covers each event exactly, and no other type, field or code", () => {
    const notice = { type: "system_notice", session_id: SESSION, message: "m", level: "info" };
    expect(api.eventFaults({ ...notice, code: "resync" })).toEqual([]);
    expect(api.eventFaults({ ...notice, code: "unheard_of" })).not.toEqual([]);
    expect(api.eventFaults({ ...notice, code: "resync", extra: 1 })).not.toEqual([]);
    expect(api.eventFaults({ type: "unheard_of", session_id: SESSION })).not.toEqual([]);
    const update = { type: "tool_update", session_id: SESSION };
    expect(api.eventFaults(update)).toEqual([]);
    expect(api.eventFaults({ ...update, name: "calculator" })).not.toEqual([]);
    const tool = { call_id: "c", name: "calculator", status: "running", arguments: {}, progress: null };
    expect(api.eventFaults({ ...update, ...tool })).toEqual([]);
  });
});
