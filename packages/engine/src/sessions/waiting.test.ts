// `Prefer: wait`, and the effects of rejected requests.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { lines, newId, parse, startService, until, type TestService } from "../../../server/test/service.ts";
import type { JsonObject } from "../core/json.ts";
import { ANONYMOUS } from "../core/session-access.ts";

let service: TestService;
let id: string;
beforeEach(async () => {
  service = await startService({
    adjust: (config) => ({ ...config, limits: { ...config.limits, maxRunning: 1 } }),
  });
  id = newId();
});
afterEach(() => service.close());

async function state(more: { waitMs?: number; userState?: JsonObject; signal?: AbortSignal } = {}) {
  const request = {
    sessionId: id,
    access: ANONYMOUS,
    userState: null,
    waitMs: 0,
    signal: new AbortController().signal,
    ...more,
  };
  return parse(await service.conversations.state(request, null));
}

describe("a client that waits", () => {
  it("is answered when the session stops processing, also by an interrupt", async () => {
    await service.say(id, "hello");
    await service.model.next();
    const waiting = [state({ waitMs: 60_000 }), state({ waitMs: 60_000, userState: { a: 1 } })];
    await until(() => service.registry.inMemory(id)?.hasWaiters === true);
    await service.conversations.interrupt(id, ANONYMOUS, null);
    const answers = await Promise.all(waiting);
    expect(answers.map(({ status }) => status)).toEqual(["interrupted", "interrupted"]);
  });

  it("is answered at once if the session is idle or the client has disconnected", async () => {
    expect((await state({ waitMs: 60_000 })).status).toBe("idle");
    await service.say(id, "hello");
    const gone = new AbortController();
    const answer = state({ waitMs: 60_000, signal: gone.signal });
    gone.abort();
    expect((await answer).is_processing).toBe(true);
  });

  it("leaves nothing behind after its time", async () => {
    await service.say(id, "hello");
    await service.model.next();
    const session = service.registry.inMemory(id)!;
    const timers = service.clock.timers;
    const answers = Promise.all(Array.from({ length: 50 }, () => state({ waitMs: 1_000 })));
    await until(() => session.hasWaiters);
    await service.clock.advance(1_000);
    expect((await answers).every(({ is_processing }) => is_processing)).toBe(true);
    expect(session.hasWaiters).toBe(false);
    expect(service.clock.timers).toBe(timers);
  });

  it("keeps its session in memory, and sees the end of a turn that waited for others", async () => {
    const other = newId();
    await service.say(other, "runs");
    const first = await service.model.next();
    const answer = service.say(id, "waits", { waitMs: 60_000 });
    await until(() => service.registry.inMemory(id)?.hasWaiters === true);
    first.say("done").finish();
    (await service.model.next()).say("at last").finish();
    expect(lines((await answer).messages)).toEqual(["user complete: waits", "agent complete: at last"]);
  });

  it("gets 404 when its session is deleted, even if the id is created again at once", async () => {
    await service.say(id, "hello");
    const waiting = state({ waitMs: 60_000 });
    await until(() => service.registry.inMemory(id)?.hasWaiters === true);
    const removed = service.threads.remove(id, null);
    const fresh = service.say(id, "new life");
    await removed;
    await expect(waiting).rejects.toMatchObject({ status: 404, code: "session_deleted" });
    expect((await fresh).messages.map(({ content }) => content)).not.toContain("hello");
  });
});

describe("a rejected request", () => {
  const tooLarge = { big: "x".repeat(9_000) };

  it("creates no session if its user state is too large", async () => {
    await expect(state({ userState: tooLarge })).rejects.toMatchObject({ status: 400 });
    await expect(service.say(id, "hello", { userState: tooLarge as never })).rejects.toMatchObject({
      status: 400,
    });
    expect(await service.store.sessions.find(id)).toBeNull();
    expect(service.registry.inMemory(id)).toBeNull();
  });

  it("changes nothing in an existing session, and returns its slot", async () => {
    const before = await state({ userState: { a: 1 } });
    await expect(state({ userState: tooLarge })).rejects.toMatchObject({ status: 400 });
    await expect(service.say(id, "hello", { userState: tooLarge as never })).rejects.toMatchObject({
      status: 400,
    });
    const nowhere = { app: "nowhere" } as object;
    await expect(service.say(id, "hello", nowhere)).rejects.toMatchObject({ status: 401 });
    expect(await state()).toEqual(before);
    // The only slot.
    expect(lines((await service.say(id, "hello")).messages)).toEqual(["user complete: hello"]);
  });
});

describe("an interrupt of a turn that has run for minutes", () => {
  it("keeps the latest text, checkpointed or not", async () => {
    await service.say(id, "hello");
    const call = await service.model.next();
    for (let minute = 0; minute < 7; minute += 1) {
      call.say("…");
      await service.pass(60_000);
    }
    call.say("last words");
    await until(() => service.registry.inMemory(id)?.streamingText.endsWith("last words") === true);
    const sealed = parse(await service.conversations.interrupt(id, ANONYMOUS, null));
    expect(lines(sealed.messages)[1]).toBe("agent interrupted: …………………last words");
  });
});
