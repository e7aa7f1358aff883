// Answers and events spell a session's id as its creator did; lookups ignore case.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newSession, newWallet, send, whenIdle, state } from "./client.ts";
import { EventReader } from "./event-reader.ts";
import { Program } from "./server.ts";

const KEY = "an-admin-key-that-is-long-enough-7e1c";
let program: Program;
beforeAll(async () => {
  program = await Program.start(undefined, { COLLOQUY_ADMIN_KEY: KEY });
});
afterAll(() => program.remove());

describe("a session created with an upper-case id", () => {
  it("keeps that spelling everywhere, also for requests in lower case", async () => {
    const lower = newSession();
    const upper = lower.toUpperCase();
    const wallet = newWallet();
    const { url } = program;
    const created = await send(url, "POST", "/api/sessions", {
      session: upper,
      json: { public_key: wallet },
    });
    expect(created.json()).toMatchObject({ session_id: upper });
    const reader = await EventReader.connect(url, upper, { include: "messages,state,tools" });
    const said = await send(url, "POST", "/api/chat?message=hello", { session: lower });
    expect(said.json()).toMatchObject({ session_id: upper });
    await whenIdle(url, upper);
    await reader.find(({ type }) => type === "message_completed");
    expect(new Set(reader.events.map(({ event }) => event.session_id))).toEqual(new Set([upper]));
    reader.leave();
    const now = await send(url, "GET", "/api/state", { session: lower });
    expect(now.json()).toMatchObject({ session_id: upper });
    for (const path of [`/api/sessions/${lower}`, `/api/sessions/${upper}`]) {
      expect((await send(url, "GET", path)).json()).toMatchObject({ session_id: upper });
      const records = (await send(url, "GET", `${path}/messages`)).json() as object[];
      expect(records[0]).toMatchObject({ session_id: upper, thread_id: upper });
    }
    const list = await send(url, "GET", `/api/sessions?public_key=${wallet}`, { session: newSession() });
    expect(list.json()).toMatchObject([{ session_id: upper }]);
    const headers = { Authorization: `Bearer ${KEY}` };
    const seen = await send(url, "GET", `/api/admin/sessions/${lower}`, { headers });
    expect(seen.json()).toMatchObject({ session: { session_id: upper } });
    expect((await send(url, "DELETE", `/api/sessions/${lower}`)).json()).toEqual({
      session_id: upper,
      deleted: true,
    });
    await send(url, "POST", "/api/sessions", { session: lower });
    expect((await state(url, lower)).session_id).toBe(lower);
  });
});
