import { describe, expect, it } from "vitest";
import { expectProblem, newSession, newWallet, send, thread } from "./client.ts";
import { useService } from "./server.ts";

const url = useService();

async function created(wallet: string): Promise<string> {
  const session = newSession();
  await send(url(), "POST", "/api/sessions", { session, json: { public_key: wallet } });
  return session;
}
const list = (wallet: string, query = "") =>
  send(url(), "GET", `/api/sessions?public_key=${wallet}${query}`, { session: newSession() });

describe("an archived thread", () => {
  it("has is_archived until it is taken out of the archive, also when repeated", async () => {
    const session = await created(newWallet());
    const before = await thread(url(), session);
    expect(before).not.toHaveProperty("is_archived");
    for (const [action, after] of [
      ["archive", { ...before, is_archived: true }],
      ["archive", { ...before, is_archived: true }],
      ["unarchive", before],
      ["unarchive", before],
    ] as const) {
      const answer = await send(url(), "POST", `/api/sessions/${session}/${action}`);
      expect([answer.status, answer.json()]).toEqual([200, after]);
      expect(await thread(url(), session)).toEqual(after);
    }
  });

  it("is archived by PATCH, atomically with the title", async () => {
    const session = await created(newWallet());
    const patch = (json: object) => send(url(), "PATCH", `/api/sessions/${session}`, { json });
    expect((await patch({ title: "Tea", is_archived: true })).json()).toMatchObject({
      title: "Tea",
      is_archived: true,
    });
    expectProblem(
      await patch({ is_archived: false, metadata: { a: "x".repeat(4_096) } }),
      400,
      "metadata_too_large",
    );
    expect(await thread(url(), session)).toMatchObject({ is_archived: true });
    expect((await patch({ is_archived: false })).json()).not.toHaveProperty("is_archived");
    expectProblem(await patch({ is_archived: "no" }), 400, "parameter_invalid");
  });

  it("is in every list, except those of the others, in pages too", async () => {
    const wallet = newWallet();
    const [first, second, third] = [await created(wallet), await created(wallet), await created(wallet)];
    for (const session of [first, third]) await send(url(), "POST", `/api/sessions/${session}/archive`);
    const ids = async (query: string) =>
      ((await list(wallet, query)).json() as { session_id: string }[]).map(({ session_id: id }) => id);
    expect((await ids("")).toSorted()).toEqual([first, second, third].toSorted());
    expect(await ids("&archived=false")).toEqual([second]);
    expect((await ids("&archived=true")).toSorted()).toEqual([first, third].toSorted());
    const page = await list(wallet, "&archived=true&limit=1");
    const next = /<([^>]+)>/.exec(String(page.headers["link"]))?.[1] ?? "";
    expect(next).toContain("archived=true");
    const rest = await send(url(), "GET", `/api/sessions${next}`, { session: newSession() });
    expect(rest.json()).toHaveLength(1);
    expectProblem(await list(wallet, "&archived=1"), 400, "parameter_invalid");
  });
});
