// Thread metadata. `npm run test:nodes` also runs this file against three nodes.

import { describe, expect, it } from "vitest";
import { expectProblem, newSession, newWallet, send, thread } from "./client.ts";
import { useService } from "./server.ts";

const url = useService();
const MERGE_PATCH = { "Content-Type": "application/merge-patch+json" };

async function created(json: object = {}): Promise<string> {
  const session = newSession();
  const answer = await send(url(), "POST", "/api/sessions", { session, json });
  expect(answer.status).toBe(200);
  return session;
}
const patch = (session: string, json: unknown, call: object = {}) =>
  send(url(), "PATCH", `/api/sessions/${session}`, { json, ...call });

describe("metadata of a thread", () => {
  it("is set at creation without null members, and not changed by a repeated creation", async () => {
    const session = await created({ metadata: { project: "bridge", gone: null, nested: { gone: null } } });
    const metadata = { project: "bridge", nested: {} };
    expect(await thread(url(), session)).toMatchObject({ metadata });
    const again = await send(url(), "POST", "/api/sessions", { session, json: { metadata: { other: 1 } } });
    expect(again.json()).toMatchObject({ metadata });
    expect(await thread(url(), await created())).toMatchObject({ metadata: {} });
  });

  it.each([["application/json"], ["application/merge-patch+json"]])(
    "is merged by PATCH with %s",
    async (type) => {
      const session = await created({ metadata: { a: "1", b: { c: "2", d: "3" } } });
      const before = await thread(url(), session);
      const headers = { "Content-Type": type };
      const answer = await patch(session, { metadata: { a: null, b: { c: [null] }, e: 4 } }, { headers });
      expect(answer.json()).toEqual({ ...before, metadata: { b: { c: [null], d: "3" }, e: 4 } });
      expect(await thread(url(), session)).toEqual(answer.json());
      expect((await patch(session, { metadata: null })).json()).toMatchObject({ metadata: {} });
      expect(await thread(url(), session)).toMatchObject({ metadata: {} });
    },
  );

  it("changes atomically with the title", async () => {
    const session = await created();
    const both = await patch(session, { title: "Bridging", metadata: { a: "1" } }, { headers: MERGE_PATCH });
    expect(both.json()).toMatchObject({ title: "Bridging", metadata: { a: "1" } });
    const tooLarge = { title: "Other", metadata: { b: "x".repeat(4_096) } };
    expectProblem(await patch(session, tooLarge), 400, "metadata_too_large");
    expect(await thread(url(), session)).toMatchObject({ title: "Bridging", metadata: { a: "1" } });
  });

  it.each([
    ["text", { metadata: "a" }, "parameter_invalid"],
    ["a list", { metadata: ["a"] }, "parameter_invalid"],
    ["nothing to change", {}, "parameter_missing"],
    ["a title that is null", { title: null, metadata: {} }, "parameter_invalid"],
  ])("rejects %s", async (_what, json, code) => {
    expectProblem(await patch(await created(), json), 400, code);
  });

  it("creates no thread if the metadata is too large", async () => {
    const session = newSession();
    const json = { metadata: { a: "x".repeat(4_096) } };
    expectProblem(await send(url(), "POST", "/api/sessions", { session, json }), 400, "metadata_too_large");
    expectProblem(await send(url(), "GET", `/api/sessions/${session}`), 404);
  });

  it("filters thread lists, including paged ones", async () => {
    const wallet = newWallet();
    const bridge: string[] = [];
    for (const project of ["bridge", "swap", "bridge", "bridge"]) {
      const id = await created({ public_key: wallet, metadata: { project, "a&b": "c d", n: 1 } });
      if (project === "bridge") bridge.unshift(id);
    }
    await created({ public_key: wallet });
    const list = async (query: string) => {
      const path = `/api/sessions?public_key=${wallet}&${query}`;
      const answer = await send(url(), "GET", path, { session: newSession() });
      expect(answer.status).toBe(200);
      const ids = (answer.json() as { session_id: string }[]).map(({ session_id }) => session_id);
      return { ids, next: /<([^>]*)>/.exec(String(answer.headers["link"] ?? ""))?.[1] };
    };
    expect((await list("metadata.project=bridge")).ids).toEqual(bridge);
    expect((await list("metadata.project=bridge&metadata.a%26b=c+d")).ids).toEqual(bridge);
    expect((await list("metadata.project=bridge&metadata.a%26b=other")).ids).toEqual([]);
    expect((await list("metadata.n=1")).ids).toEqual([]);
    expect((await list("metadata.project=")).ids).toHaveLength(5);
    const first = await list("metadata.project=bridge&metadata.a%26b=c+d&limit=2");
    expect(first.ids).toEqual(bridge.slice(0, 2));
    const query = new URL(first.next ?? "", `${url()}/api/`).searchParams;
    query.delete("public_key");
    expect(await list(query.toString())).toEqual({ ids: bridge.slice(2), next: undefined });
  });

  it.each([
    ["a name twice", "metadata.a=1&metadata.a=2", "parameter_repeated"],
    [
      "more than 8 names",
      Array.from("abcdefghi", (name) => `metadata.${name}=1`).join("&"),
      "parameter_invalid",
    ],
  ])("rejects a filter with %s", async (_what, query, code) => {
    const path = `/api/sessions?public_key=${newWallet()}&${query}`;
    expectProblem(await send(url(), "GET", path, { session: newSession() }), 400, code);
  });

  it("is copied by a fork and then independent", async () => {
    const origin = await created({ metadata: { project: "bridge" } });
    const copy = newSession();
    const forked = await send(url(), "POST", `/api/sessions/${origin}/fork`, { json: { session_id: copy } });
    expect(forked.json()).toMatchObject({ session_id: copy, metadata: { project: "bridge" } });
    await patch(copy, { metadata: { project: "swap" } });
    expect(await thread(url(), origin)).toMatchObject({ metadata: { project: "bridge" } });
  });
});
