import { ServiceError } from "../../core/errors.ts";
import { describe, expect, it } from "vitest";
import { SESSION, testEdge, WALLET } from "../testing/edge.ts";
import { expectProblem } from "../testing/expect-problem.ts";
import { itNeedsASessionId } from "../testing/session-header.ts";

const LIST = `/api/sessions?public_key=${WALLET}`;

async function edgeWithThreads(count: number) {
  const edge = testEdge();
  for (let index = 0; index < count; index += 1) {
    await edge.send("POST", "/api/sessions", {
      headers: { "x-session-id": `7f8d1f0e-8a54-4c4e-9d27-${String(index).padStart(12, "0")}` },
      payload: { public_key: WALLET },
    });
  }
  return edge;
}

describe("GET /api/sessions", () => {
  itNeedsASessionId({ method: "GET", url: LIST });

  it("returns an array of threads", async () => {
    const edge = await edgeWithThreads(2);
    const answer = await edge.send("GET", LIST);
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toHaveLength(2);
    expect(answer.json()[0]).toMatchObject({ title: "New Chat" });
    expect(answer.headers["link"]).toBeUndefined();
    expect(edge.services.conversations.last.threads).toEqual({
      publicKey: WALLET,
      access: { apps: ["default"], user: null },
      cursor: null,
    });
  });

  it("names the next page in Link until the last one", async () => {
    const edge = await edgeWithThreads(5);
    const seen: string[] = [];
    let url = `${LIST}&limit=2`;
    for (let page = 0; page < 3; page += 1) {
      const answer = await edge.send("GET", url);
      seen.push(...answer.json<{ session_id: string }[]>().map((thread) => thread.session_id));
      const link = /^<([^>]+)>; rel="next"$/.exec(String(answer.headers["link"]))?.[1];
      expect(link === undefined).toBe(page === 2);
      url = `/api/sessions${link}`;
    }
    expect(new Set(seen).size).toBe(5);
  });

  it("requires the wallet", async () => {
    const edge = testEdge();
    const detail = expectProblem(await edge.send("GET", "/api/sessions"), 400, "parameter_missing");
    expect(detail).toContain('"public_key"');
    expect(edge.services.conversations.sessions.size).toBe(0);
  });

  it.each([
    ["public_key=", "parameter_invalid"],
    ["public_key=a%20b", "parameter_invalid"],
    ["public_key=a&public_key=a", "parameter_repeated"],
    [`public_key=${"k".repeat(129)}`, "parameter_invalid"],
    ["public_key=a&limit=0", "parameter_invalid"],
    ["public_key=a&limit=201", "parameter_invalid"],
    ["public_key=a&limit=1.5", "parameter_invalid"],
    ["public_key=a&limit=0x10", "parameter_invalid"],
    ["public_key=a&limit=1&limit=2", "parameter_repeated"],
    ["public_key=%zz", "url_encoding_invalid"],
    ["public_key=%00", "text_invalid"],
  ])("rejects ?%s", async (query, code) => {
    const edge = testEdge();
    expectProblem(await edge.send("GET", `/api/sessions?${query}`), 400, code);
    expect(edge.services.conversations.sessions.size).toBe(0);
  });

  it("ignores unknown parameters", async () => {
    expect((await testEdge().send("GET", `${LIST}&colour=red&colour=blue`)).statusCode).toBe(200);
  });

  it("creates nothing if the list is refused", async () => {
    const edge = testEdge();
    edge.services.conversations.list = () =>
      Promise.reject(new ServiceError(403, "wallet_listing_off", "Send no list request to this server."));
    expectProblem(await edge.send("GET", LIST), 403, "wallet_listing_off");
    expect(edge.services.conversations.sessions.has(SESSION)).toBe(false);
  });
});
