import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { BeforeCall } from "../../../server/test/intercepted-store.ts";
import {
  lines,
  newId,
  parse,
  RecordingSink,
  startService,
  until,
  type TestService,
} from "../../../server/test/service.ts";
import { ServiceError } from "../core/errors.ts";
import type { Admit } from "../core/ports/driving/services.ts";
import type { SessionVersion } from "../core/ports/driven/session-store.ts";
import { openSqliteStore } from "../store/sqlite/open.ts";
import { FOR_ANYBODY } from "../../../server/test/stream-access.ts";
import { ANONYMOUS } from "../core/session-access.ts";

const MINUTE = 60_000;
/** Used only when a session is created. */
const SPELLING = "as-spelled";
const admitted = (admit: Admit) => ({ spelling: id, admit });
const ANYBODY = { spelling: SPELLING, admit: () => undefined };
const NOBODY = {
  spelling: SPELLING,
  admit: () => {
    throw new ServiceError(429, "too_many_sessions", "Later.");
  },
};

let service: TestService;
let id: string;
let calls: string[];
let before: BeforeCall;
beforeEach(async () => {
  calls = [];
  before = () => undefined;
  service = await startService({
    beforeCall: (method, parameters) => {
      calls.push(method);
      return before(method, parameters);
    },
  });
  id = newId();
});
afterEach(() => service.close());

const count = (method: string): number => calls.filter((call) => call === method).length;

/** Starts a service that shares its store with others, on a clock that is ahead by this time. */
function ofSeveral(aheadMs: number): Promise<TestService> {
  return startService({
    shared: async (clock) => ({
      store: await openSqliteStore({
        directory: null,
        isAlone: false,
        clock: {
          now: () => clock.now() + aheadMs,
          monotonic: () => clock.monotonic(),
          after: (ms, callback) => clock.after(ms, callback),
          every: (ms, callback) => clock.every(ms, callback),
          sleep: (ms, signal) => clock.sleep(ms, signal),
        },
        onFatal: (error) => {
          throw error;
        },
      }),
      bus: null,
    }),
    beforeCall: (method, parameters) => {
      calls.push(method);
      return before(method, parameters);
    },
  });
}

/** Creates a session with an answered message. */
async function talk(): Promise<void> {
  await service.say(id, "hello");
  (await service.model.next()).say("hi").finish();
  await until(async () => !(await service.snapshot(id)).is_processing);
}

describe("SessionRegistry", () => {
  it("loads a session once for concurrent callers", async () => {
    await talk();
    await service.evict();
    calls = [];
    const found = await Promise.all(
      Array.from({ length: 20 }, () => service.registry.get(id, ANONYMOUS, null)),
    );
    expect(count("open")).toBe(1);
    expect(new Set(found).size).toBe(1);
    expect(lines(parse(found[0]!.view()).messages)).toEqual(["user complete: hello", "agent complete: hi"]);
  });

  it("loads again after a failure", async () => {
    before = () => Promise.reject(new Error("broken"));
    const both = await Promise.allSettled([
      service.registry.get(id, ANONYMOUS, null),
      service.registry.get(id, ANONYMOUS, null),
    ]);
    expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    before = () => undefined;
    expect((await service.registry.get(id, ANONYMOUS, null)).id).toBe(id);
  });

  it("creates no session in find", async () => {
    expect(await service.registry.find(id)).toBeNull();
    expect(await service.store.sessions.find(id)).toBeNull();
  });

  it("rejects only callers that may not create the session", async () => {
    const asked = [NOBODY, ANYBODY, NOBODY, ANYBODY].map((admit) =>
      service.registry.get(id, ANONYMOUS, admit),
    );
    const answers = await Promise.allSettled(asked);
    // An existing session needs no admission.
    expect(answers.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "fulfilled", "fulfilled"]);
  });

  it("asks for admission once for concurrent callers", async () => {
    let asked = 0;
    const admit = admitted(async () => {
      await service.store.probe();
      asked += 1;
    });
    const looks = Array.from({ length: 10 }, () => service.registry.get(id, ANONYMOUS, admit));
    const chats = Array.from({ length: 10 }, () => service.conversations.chat(chatOf(id), admit));
    await Promise.all([...looks, ...chats]);
    expect(asked).toBe(1);
    expect((await service.snapshot(id)).messages).toHaveLength(10);
  });

  it("waits for the admission, and creates nothing after a refusal", async () => {
    const gate = Promise.withResolvers<void>();
    let isAsked = false;
    const admit = (): Promise<void> => {
      isAsked = true;
      return gate.promise;
    };
    const getting = service.registry.get(id, ANONYMOUS, admitted(admit));
    await until(async () => Promise.resolve(isAsked));
    expect(await service.store.sessions.find(id)).toBeNull();
    gate.reject(new ServiceError(429, "rate_limited", "Too many."));
    await expect(getting).rejects.toMatchObject({ status: 429 });
    expect(await service.store.sessions.find(id)).toBeNull();
  });

  it("spends no budget on a session that was deleted a short time ago, and does not create it", async () => {
    await service.registry.get(id, ANONYMOUS, null);
    await service.threads.remove(id, null);
    await expect(service.registry.get(id, ANONYMOUS, NOBODY)).rejects.toMatchObject({
      code: "session_deleted",
    });
    await service.registry.ensure(id, ANONYMOUS, NOBODY);
    expect(await service.store.sessions.find(id)).toBeNull();
  });

  it("creates nothing after a refusal, and needs no admission for an existing session", async () => {
    await expect(service.registry.get(id, ANONYMOUS, NOBODY)).rejects.toMatchObject({ status: 429 });
    await expect(service.conversations.chat(chatOf(id), NOBODY)).rejects.toMatchObject({ status: 429 });
    expect(await service.store.sessions.find(id)).toBeNull();
    await service.snapshot(id);
    await service.registry.get(id, ANONYMOUS, NOBODY);
    await service.evict();
    await service.registry.get(id, ANONYMOUS, NOBODY);
  });
});

describe("recorded use", () => {
  it("is renewed before the response after five minutes", async () => {
    await service.snapshot(id);
    await service.clock.advance(5 * MINUTE - 1);
    calls = [];
    await service.snapshot(id);
    expect(count("noteUse")).toBe(0);
    await service.clock.advance(1);
    await service.snapshot(id);
    await service.snapshot(id);
    expect(count("noteUse")).toBe(1);
  });

  it("counts from the request to the store, not from its response", async () => {
    await service.snapshot(id);
    await service.clock.advance(5 * MINUTE);
    const gate = Promise.withResolvers<void>();
    before = (method) => (method === "noteUse" ? gate.promise : undefined);
    const answer = service.snapshot(id);
    await service.clock.advance(2 * MINUTE);
    gate.resolve();
    await answer;
    before = () => undefined;
    await service.clock.advance(3 * MINUTE);
    calls = [];
    await service.snapshot(id);
    expect(count("noteUse")).toBe(1);
  });

  it("is renewed by every change of the session", async () => {
    await service.snapshot(id);
    await service.clock.advance(4 * MINUTE);
    await service.threads.rename(id, "Mine", null);
    await service.clock.advance(4 * MINUTE);
    calls = [];
    await service.snapshot(id);
    expect(count("noteUse")).toBe(0);
  });

  it.each([20, -20])(
    "is renewed every five minutes, whatever the store's clock says: %i minutes",
    async (minutes) => {
      await service.close();
      service = await ofSeveral(minutes * MINUTE);
      await talk();
      calls = [];
      for (let minute = 0; minute < 11; minute += 1) {
        await service.clock.advance(MINUTE);
        await service.snapshot(id);
      }
      expect(count("noteUse")).toBe(2);
    },
  );

  it("is not renewed by a rejected chat that loaded the session", async () => {
    await talk();
    await service.evict();
    const userState = { big: "x".repeat(9_000) } as never;
    await expect(service.say(id, "again", { userState })).rejects.toMatchObject({ status: 400 });
    calls = [];
    await service.snapshot(id);
    expect(calls).toContain("noteUse");
  });
});

describe("a store that other processes change", () => {
  beforeEach(async () => {
    await service.close();
    service = await ofSeveral(0);
  });

  it("is queried for existence only if the session is not in memory", async () => {
    await talk();
    calls = [];
    await service.conversations.chat(chatOf(id), NOBODY);
    await service.conversations.interrupt(id, ANONYMOUS, NOBODY);
    expect([count("sessions.find"), count("chat"), count("interrupt")]).toEqual([0, 1, 1]);
    await service.evict();
    await service.evict();
    calls = [];
    await service.conversations.interrupt(id, ANONYMOUS, NOBODY);
    expect(count("sessions.find")).toBe(1);
  });

  it("requires an admission before a session deleted elsewhere is created again", async () => {
    await talk();
    await service.store.execute({
      kind: "delete",
      target: { session: id, birth: null, load: false, access: null },
      input: null,
    });
    await expect(service.conversations.chat(chatOf(id), NOBODY)).rejects.toMatchObject({ status: 429 });
    expect(await service.store.sessions.find(id)).toBeNull();
    let asked = 0;
    const chat = service.conversations.chat(
      chatOf(id),
      admitted(() => void (asked += 1)),
    );
    expect(lines(parse(await chat).messages)).toContain("user complete: hello");
    expect(asked).toBe(1);
  });

  it("is not read again for a version that the request has already read", async () => {
    await talk();
    const found = await service.conversations.appOf(id);
    const seen = typeof found === "string" ? null : found.version;
    expect(seen).toMatchObject({ id, app: "default" });
    const state = async (seen: SessionVersion | null) => {
      calls = [];
      const signal = new AbortController().signal;
      const asked = { sessionId: id, access: ANONYMOUS, userState: null, waitMs: 0, signal, version: seen };
      const { messages } = parse(await service.conversations.state(asked, NOBODY));
      return [messages.length, count("sessions.versions"), count("sessions.find")];
    };
    expect(await state(seen)).toEqual([2, 0, 0]);
    expect(await state(null)).toEqual([2, 1, 0]);
    await service.evict();
    await service.evict();
    // An existing session needs no admission.
    expect(await state(seen)).toEqual([2, 0, 0]);
  });
});

describe("a session that was seen before it was deleted", () => {
  const stateOf = (seen: SessionVersion | null, waitMs = 0) =>
    service.conversations.state(
      {
        sessionId: id,
        access: ANONYMOUS,
        userState: null,
        waitMs,
        signal: new AbortController().signal,
        version: seen,
      },
      NOBODY,
    );
  const seenNow = async (): Promise<SessionVersion | null> => {
    const found = await service.conversations.appOf(id);
    return typeof found === "string" ? null : found.version;
  };
  beforeEach(async () => {
    await service.close();
    service = await ofSeveral(0);
    await talk();
  });

  it("is not created again", async () => {
    const seen = await seenNow();
    await service.threads.remove(id, null);
    await expect(stateOf(seen)).rejects.toMatchObject({ code: "session_deleted" });
    expect(await service.store.sessions.find(id)).toBeNull();
  });

  it("does not affect the next incarnation", async () => {
    const seen = await seenNow();
    await service.threads.remove(id, null);
    await service.say(id, "two");
    const call = await service.model.next();
    const session = service.registry.inMemory(id)!;
    const waiting = stateOf(null, 30_000);
    await until(() => session.hasWaiters);
    expect(parse(await stateOf(seen)).messages).toHaveLength(1);
    call.say("hi").finish();
    expect(lines(parse(await waiting).messages)).toEqual(["user complete: two", "agent complete: hi"]);
  });
});

describe("a deleted incarnation", () => {
  it("is noticed when its use is recorded: callers get 404, and streams end", async () => {
    await talk();
    const old = await service.snapshot(id);
    const sink = new RecordingSink();
    await service.feed.open(
      { sessionId: id, access: FOR_ANYBODY, include: new Set(), lastEventId: null },
      sink,
      null,
    );
    // Another process deletes the session without a notification.
    await service.store.execute({
      kind: "delete",
      target: { session: id, birth: null, load: false, access: null },
      input: null,
    });
    expect(await service.snapshot(id)).toEqual(old);
    await service.clock.advance(5 * MINUTE);
    await expect(service.snapshot(id)).rejects.toMatchObject({ code: "session_deleted" });
    expect(sink.text).toContain("session_deleted");
    expect(sink.ended).toBe("finish");
  });

  it("is noticed by a commit of the next one", async () => {
    await talk();
    await service.store.execute({
      kind: "delete",
      target: { session: id, birth: null, load: false, access: null },
      input: null,
    });
    const snapshot = await service.say(id, "new life");
    expect(lines(snapshot.messages)).toEqual(["user complete: new life"]);
    expect(lines((await service.snapshot(id)).messages)).toEqual(lines(snapshot.messages));
  });
});

describe("a session in memory that fell behind", () => {
  it("is loaded again, and waiting requests continue on the new object", async () => {
    const answer = service.say(id, "hello", { waitMs: 60_000 });
    const call = await service.model.next();
    const session = service.registry.inMemory(id)!;
    await until(() => session.hasWaiters);
    const record = (await service.store.sessions.find(id))!;
    const message = { ...parse(session.view()).messages[0]!, id: newId() };
    const events = [{ number: session.head + 1, event: { type: "message_updated", message } as const }];
    service.registry.apply({
      outcome: "ok",
      session: record,
      created: false,
      events,
      audited: [],
      loaded: null,
    });
    expect(session.isReplaced).toBe(true);
    call.say("hi").finish();
    expect(lines((await answer).messages)).toEqual(["user complete: hello", "agent complete: hi"]);
  });
});

function chatOf(sessionId: string) {
  const nothing = { publicKey: null, userState: null, clientId: null, idempotencyKey: null, waitMs: 0 };
  return {
    ...nothing,
    sessionId,
    access: ANONYMOUS,
    app: "default",
    message: "hello",
    signal: new AbortController().signal,
  };
}
