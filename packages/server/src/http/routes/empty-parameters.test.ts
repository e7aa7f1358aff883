import { describe, expect, it } from "vitest";
import { createSession, startEdges, WALLET } from "../testing/edge.ts";

const edges = await startEdges();

describe("an empty optional parameter, and an empty App key", () => {
  it.each([
    ["GET", `/api/sessions?public_key=${WALLET}&limit=&cursor=`],
    ["GET", "/api/sessions/{id}/messages?after=&limit="],
    ["POST", "/api/chat?message=hi&app=&public_key=&user_state=&client_id="],
    ["GET", "/api/state?user_state=&client_id="],
    ["POST", "/api/control/model?rig=demo/assistant&baml=&app="],
    ["GET", "/api/control/models?app="],
    ["GET", "/api/control/apps"],
    ["GET", "/api/secrets?client_id=web-7&app="],
  ] as const)("counts as absent in %s %s", async (method, url) => {
    const edge = edges.testEdge();
    await createSession(edges, edge.session);
    const headers = { "service-app-key": "" };
    expect((await edge.send(method, url, { headers })).statusCode).toBe(200);
  });
});
