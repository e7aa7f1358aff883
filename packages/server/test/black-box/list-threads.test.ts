import { Thread } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { chat, expectProblem, newSession, newWallet, send, whenIdle, thread } from "./client.ts";
import { useService } from "./server.ts";

const url = useService();
const Threads = z.array(Thread.strict());

async function threadsOf(wallet: string, query = ""): Promise<Thread[]> {
  const answer = await send(url(), "GET", `/api/sessions?public_key=${wallet}${query}`, {
    session: newSession(),
  });
  expect(answer.status).toBe(200);
  return answer.as(Threads);
}

async function bound(wallet: string): Promise<string> {
  const session = newSession();
  await send(url(), "POST", "/api/sessions", { session, json: { public_key: wallet } });
  return session;
}

describe("GET /api/sessions", () => {
  it("returns the wallet's threads, most recently active first", async () => {
    const wallet = newWallet();
    const sessions = [await bound(wallet), await bound(wallet), await bound(wallet)];
    const [oldest = ""] = sessions;
    await chat(url(), oldest, "hello");
    await whenIdle(url(), oldest);
    const listed = await threadsOf(wallet);
    expect(listed[0]).toEqual(await thread(url(), oldest));
    expect(new Set(listed.map(({ session_id }) => session_id))).toEqual(new Set(sessions));
    for (const item of listed) expect(item).toMatchObject({ title: expect.any(String), app: "default" });
  });

  it("includes sessions bound by a chat, and compares 0x addresses without case", async () => {
    const wallet = newWallet();
    const session = newSession();
    const query = new URLSearchParams({
      message: "hello",
      public_key: wallet.toUpperCase().replace("0X", "0x"),
    });
    await send(url(), "POST", `/api/chat?${query.toString()}`, { session });
    expect(await threadsOf(wallet)).toMatchObject([{ session_id: session }]);
    expect(await threadsOf(newWallet())).toEqual([]);
  });

  it("creates the session of the header, and does not list it", async () => {
    const session = newSession();
    const wallet = newWallet();
    const answer = await send(url(), "GET", `/api/sessions?public_key=${wallet}`, { session });
    expect(answer.json()).toEqual([]);
    expect((await thread(url(), session)).session_id).toBe(session);
  });

  it("is paginated with the Link header", async () => {
    const wallet = newWallet();
    const sessions = new Set<string>();
    for (let count = 0; count < 5; count += 1) sessions.add(await bound(wallet));
    const listed: string[] = [];
    let path = `/api/sessions?public_key=${wallet}&limit=2`;
    for (const expected of [2, 2, 1]) {
      const answer = await send(url(), "GET", path, { session: newSession() });
      expect(answer.as(Threads)).toHaveLength(expected);
      listed.push(...answer.as(Threads).map(({ session_id }) => session_id));
      const next = /^<([^>]+)>;\s*rel="next"$/.exec(String(answer.headers["link"]))?.[1];
      expect(next === undefined).toBe(expected === 1);
      path = `/api/sessions${next}`;
    }
    expect(new Set(listed)).toEqual(sessions);
    expect(listed).toHaveLength(5);
  });

  it("drops a deleted thread", async () => {
    const wallet = newWallet();
    const session = await bound(wallet);
    await send(url(), "DELETE", `/api/sessions/${session}`);
    expect(await threadsOf(wallet)).toEqual([]);
  });

  it.each([
    "",
    "public_key=",
    "public_key=a%20b",
    "public_key=a&public_key=b",
    "public_key=a&limit=0",
    "public_key=a&limit=201",
    "public_key=a&limit=x",
    "public_key=a&limit=1.5",
    "public_key=a&limit=0x10",
    "public_key=a&limit=1&limit=2",
    `public_key=${"k".repeat(129)}`,
    "public_key=a&cursor=nonsense",
  ])("rejects ?%s with 400", async (query) => {
    expectProblem(await send(url(), "GET", `/api/sessions?${query}`, { session: newSession() }), 400);
  });
});
