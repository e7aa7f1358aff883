import { describe, expect, it } from "vitest";
import { chat, expectProblem, newSession, send, whenIdle, state, thread } from "./client.ts";
import { EventReader } from "./event-reader.ts";
import { useService } from "./server.ts";

const url = useService();

async function created(): Promise<string> {
  const session = newSession();
  await send(url(), "POST", "/api/sessions", { session });
  return session;
}

describe("PATCH /api/sessions/{id}", () => {
  it("returns the thread with its new title, trimmed, and shows it everywhere", async () => {
    const session = await created();
    const answer = await send(url(), "PATCH", `/api/sessions/${session}`, {
      json: { title: "  Bridging  " },
    });
    expect(answer.status).toBe(200);
    expect(answer.json()).toMatchObject({ session_id: session, title: "Bridging" });
    expect((await thread(url(), session)).title).toBe("Bridging");
    expect((await state(url(), session)).title).toBe("Bridging");
  });

  it("emits title_changed", async () => {
    const session = await created();
    const reader = await EventReader.connect(url(), session);
    await send(url(), "PATCH", `/api/sessions/${session}`, { json: { title: "Bridging" } });
    const { event } = await reader.find(({ type }) => type === "title_changed");
    expect(event).toEqual({ type: "title_changed", session_id: session, new_title: "Bridging" });
    reader.leave();
  });

  it("emits nothing if the title stays the same", async () => {
    const session = await created();
    const reader = await EventReader.connect(url(), session);
    for (const title of ["Bridging", "Bridging", " Bridging ", "Later"]) {
      await send(url(), "PATCH", `/api/sessions/${session}`, { json: { title } });
    }
    await reader.find((event) => event.type === "title_changed" && event.new_title === "Later");
    expect(reader.events.map(({ event }) => "new_title" in event && event.new_title)).toEqual([
      "Bridging",
      "Later",
    ]);
    reader.leave();
  });

  it("is never overwritten by a generated title", async () => {
    const session = await created();
    await send(url(), "PATCH", `/api/sessions/${session}`, { json: { title: "Mine" } });
    await chat(url(), session, "what is 12 * 7?");
    await whenIdle(url(), session);
    const other = newSession();
    const reader = await EventReader.connect(url(), other);
    await chat(url(), other, "what is 12 * 7?");
    await reader.find(({ type }) => type === "title_changed");
    reader.leave();
    expect((await thread(url(), session)).title).toBe("Mine");
  });

  it.each([
    { title: "" },
    { title: " \n\t " },
    { title: "\u0007\u200b\u2060" },
    { title: "\u3164\u2800\u115f" },
    { title: "\u034f\ufe0f\u0301" },
    { title: ["a"] },
    { title: "x".repeat(201) },
    { title: "👍".repeat(201) },
    { title: 7 },
    { title: null },
    {},
    [],
    "title",
  ])("rejects the body %j with 400", async (json) => {
    const session = await created();
    expectProblem(await send(url(), "PATCH", `/api/sessions/${session}`, { json }), 400);
    expect((await thread(url(), session)).title).toBe("New Chat");
  });

  it("requires a body, else 400, before it looks for the session", async () => {
    expectProblem(await send(url(), "PATCH", `/api/sessions/${await created()}`), 400, "body_invalid");
    const path = `/api/sessions/${newSession()}`;
    expectProblem(await send(url(), "PATCH", path, { json: {} }), 400, "parameter_missing");
  });

  it.each(["ü", "👍"])("accepts 200 characters: %s", async (character) => {
    const session = await created();
    const title = character.repeat(200);
    const answer = await send(url(), "PATCH", `/api/sessions/${session}`, { json: { title } });
    expect(answer.json()).toMatchObject({ title });
  });
});
