import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { lines, newId, parse, startService, until, type TestService } from "../../../server/test/service.ts";
import { ANONYMOUS } from "../core/session-access.ts";
import { accessTo } from "@colloquy/testing/internal/store/fixtures/scenario";

let service: TestService;
let id: string;
beforeEach(async () => {
  service = await startService();
  id = newId();
});
afterEach(() => service.close());

const idle = async (sessionId = id): Promise<boolean> => !(await service.snapshot(sessionId)).is_processing;

describe("a user state", () => {
  it("is stored after an admitted change, and not if the session has it already", async () => {
    const calls: string[] = [];
    await service.close();
    service = await startService({ beforeCall: (method) => void calls.push(method) });
    let admitted = 0;
    const send = async (chain: number): Promise<void> => {
      const userState = { evm: { chain_id: chain } };
      const admitChange = (): void => void (admitted += 1);
      const request = {
        sessionId: id,
        access: ANONYMOUS,
        userState,
        waitMs: 0,
        signal: new AbortController().signal,
        admitChange,
      };
      await service.conversations.state(request, null);
    };
    await send(1);
    await service.snapshot(id);
    calls.length = 0;
    for (let poll = 0; poll < 5; poll += 1) await send(1);
    expect([admitted, calls]).toEqual([1, []]);
    await send(2);
    expect([admitted, calls]).toEqual([2, ["open"]]);
    expect(await service.snapshot(id)).toMatchObject({ user_state: { evm: { chain_id: 2 } } });
  });

  it("is not stored if its change is rejected", async () => {
    const refused = new Error("Too many changes");
    const request = {
      sessionId: id,
      access: ANONYMOUS,
      userState: { evm: { chain_id: 1 } },
      waitMs: 0,
      signal: new AbortController().signal,
      admitChange: () => Promise.reject(refused),
    };
    await expect(service.conversations.state(request, null)).rejects.toBe(refused);
    expect(await service.snapshot(id)).toMatchObject({ user_state: null });
  });
});

describe("a chat", () => {
  it("returns at once, shows streaming text, and ends idle", async () => {
    const first = await service.say(id, "hello");
    expect(first).toMatchObject({ is_processing: true, status: "processing", title: "New Chat" });
    expect(lines(first.messages)).toEqual(["user complete: hello"]);

    const call = await service.model.next();
    expect(call.prompt).toEqual(['user: [{"type":"text","text":"hello"}]']);
    call.say("Hi ", "there");
    await until(async () => lines((await service.snapshot(id)).messages)[1] === "agent streaming: Hi there");
    call.say("!").finish();
    await until(idle);
    const last = await service.snapshot(id);
    expect(lines(last.messages)).toEqual(["user complete: hello", "agent complete: Hi there!"]);
    expect(last).toMatchObject({ status: "idle", title: "hello" });
  });

  it("waits behind the running turn, and its answer comes last", async () => {
    await service.say(id, "one");
    const first = await service.model.next();
    const busy = await service.say(id, "two");
    expect(lines(busy.messages)).toEqual(["user complete: one", "user queued: two"]);
    first.say("1").finish();
    const second = await service.model.next();
    expect(second.prompt.map((line) => line.slice(0, 9))).toEqual(['user: [{"', "assistant", 'user: [{"']);
    second.say("2").finish();
    await until(idle);
    expect(lines((await service.snapshot(id)).messages)).toEqual([
      "user complete: one",
      "agent complete: 1",
      "user complete: two",
      "agent complete: 2",
    ]);
  });

  it("is rejected with 429 if ten are waiting, and stores nothing", async () => {
    await service.say(id, "running");
    for (let n = 1; n <= 10; n += 1) await service.say(id, `waiting ${n}`);
    await expect(service.say(id, "too many")).rejects.toMatchObject({ status: 429, code: "queue_full" });
    expect((await service.snapshot(id)).messages).toHaveLength(11);
  });

  it("is rejected with 409 if its session is full, and accepted by another session", async () => {
    await service.close();
    service = await startService({
      adjust: (config) => ({ ...config, limits: { ...config.limits, sessionBytes: 1000 } }),
    });
    await service.say(id, "hello");
    (await service.model.next()).say("x".repeat(1000)).finish();
    await until(idle);
    await expect(service.say(id, "too much")).rejects.toMatchObject({
      status: 409,
      code: "session_full",
      message: expect.stringContaining("Start a new thread"),
    });
    expect((await service.snapshot(id)).messages).toHaveLength(2);
    expect((await service.say(newId(), "hello")).is_processing).toBe(true);
  });

  it("returns the same turn for a repeated idempotency key, and conflicts with another message", async () => {
    await service.say(id, "hello", { idempotencyKey: "k" });
    const again = await service.say(id, "hello", { idempotencyKey: "k" });
    expect(lines(again.messages)).toEqual(["user complete: hello"]);
    await expect(service.say(id, "other", { idempotencyKey: "k" })).rejects.toMatchObject({ status: 409 });
  });

  it("returns a repeated chat even if the maximum number of turns is waiting", async () => {
    await service.close();
    service = await startService({
      adjust: (config) => ({ ...config, limits: { ...config.limits, maxRunning: 1, maxWaiting: 1 } }),
    });
    await service.say(newId(), "running");
    await service.model.next();
    const accepted = await service.say(id, "waiting", { idempotencyKey: "k" });
    const full = { status: 503, code: "too_many_waiting" };
    await expect(service.say(id, "another", { idempotencyKey: "other" })).rejects.toMatchObject(full);
    await expect(service.say(id, "waiting")).rejects.toMatchObject(full);
    const { messages } = await service.say(id, "waiting", { idempotencyKey: "k" });
    expect(messages).toEqual(accepted.messages);
    const reused = { code: "idempotency_key_reused" };
    await expect(service.say(id, "another", { idempotencyKey: "k" })).rejects.toMatchObject(reused);
  });

  it("waits for the end on request, up to the given time", async () => {
    const answered = service.say(id, "hello", { waitMs: 5_000 });
    (await service.model.next()).say("done").finish();
    expect(lines((await answered).messages)[1]).toBe("agent complete: done");

    const late = service.say(id, "again", { waitMs: 5_000 });
    await service.model.next();
    await service.clock.advance(5_000);
    expect((await late).is_processing).toBe(true);
  });

  it("keeps the first wallet if it names another one, with a notice", async () => {
    await service.say(id, "hello", { publicKey: "first" });
    const snapshot = await service.say(id, "again", { publicKey: "second" });
    expect(snapshot.system_events.map(({ payload }) => payload["code"])).toEqual(["wallet_differs"]);
    const page = await service.threads.list({
      publicKey: "first",
      access: accessTo("default"),
      limit: 10,
      cursor: null,
    });
    expect(page.threads.map((thread) => thread.session_id)).toEqual([id]);
  });
});

describe("an interrupt", () => {
  it("keeps the text so far, drops waiting messages, and ends all changes of the turn", async () => {
    await service.say(id, "one");
    const call = await service.model.next();
    await service.say(id, "two");
    call.say("partial");
    await until(async () => (await service.snapshot(id)).messages[1]?.content === "partial");
    const sealed = parse(await service.conversations.interrupt(id, ANONYMOUS, null));
    expect(sealed).toMatchObject({ is_processing: false, status: "interrupted" });
    expect(lines(sealed.messages)).toEqual([
      "user complete: one",
      "agent interrupted: partial",
      "user interrupted: two",
    ]);
    expect(call.options.abortSignal?.aborted).toBe(true);
    await service.clock.advance(10_000);
    expect(await service.snapshot(id)).toEqual(sealed);
    expect(parse(await service.conversations.interrupt(id, ANONYMOUS, null))).toEqual(sealed);
  });

  describe("while its commit is in progress", () => {
    let hold: (() => Promise<void>) | undefined;
    let checkpoints: number;
    beforeEach(async () => {
      hold = undefined;
      checkpoints = 0;
      await service.close();
      service = await startService({
        adjust: (config) => {
          const { default: app } = config.apps;
          return { ...config, apps: { ...config.apps, default: { ...app!, onBusy: "interrupt" } } };
        },
        beforeCall: (method) => {
          if (method === "turns.checkpoint") checkpoints += 1;
          return ["interrupt", "chat"].includes(method) ? hold?.() : undefined;
        },
      });
    });
    /** Streams "One". Delays the next commit until `resolve` or `reject` is called. */
    const holdCommit = async () => {
      await service.say(id, "hello");
      const call = await service.model.next();
      call.say("One");
      await until(async () => (await service.snapshot(id)).messages[1]?.content === "One");
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      hold = () => promise;
      /** Streams more text. Resolves when the turn has checkpointed it. */
      const say = async (text: string) => {
        const before = checkpoints;
        call.say(text);
        await service.clock.advance(300);
        await until(() => checkpoints > before);
      };
      return { call, say, resolve, reject };
    };
    const textOf = async () => (await service.snapshot(id)).messages[1]?.content;

    it.each([
      ["an interrupt", () => service.conversations.interrupt(id, ANONYMOUS, null)],
      ["the operator's interrupt", () => service.conversations.interruptExisting(id)],
      ["a message that interrupts", () => service.say(id, "Stop!")],
    ])("%s publishes no text that it may not keep", async (_name, interrupt) => {
      const { say, resolve } = await holdCommit();
      const interrupted = interrupt();
      await say(" two");
      expect(await textOf()).toBe("One");
      resolve();
      await interrupted;
      // The checkpoint is longer.
      expect(lines((await service.snapshot(id)).messages)[1]).toBe("agent interrupted: One two");
    });

    it("publishes no text of a turn that starts in the meantime", async () => {
      await service.snapshot(id);
      const { promise, resolve } = Promise.withResolvers<void>();
      hold = () => promise;
      const interrupted = service.conversations.interrupt(id, ANONYMOUS, null);
      hold = undefined;
      await service.say(id, "hello");
      const call = await service.model.next();
      call.say("One");
      await service.clock.advance(300);
      await until(() => checkpoints > 0);
      expect(await textOf()).toBeUndefined();
      resolve();
      await interrupted;
      expect(lines((await service.snapshot(id)).messages)).toEqual([
        "user complete: hello",
        "agent interrupted: One",
      ]);
    });

    it("publishes the whole text if an interrupt fails", async () => {
      const { call, say, reject } = await holdCommit();
      const interrupted = service.conversations.interrupt(id, ANONYMOUS, null);
      await say(" two");
      reject(new Error("The disk is full"));
      await expect(interrupted).rejects.toThrow("The disk is full");
      call.say(" three");
      await until(async () => (await textOf()) === "One two three");
      call.finish();
      await until(idle);
      expect(await textOf()).toBe("One two three");
    });
  });

  it("hides dropped messages from the model in the next chat", async () => {
    await service.say(id, "one");
    (await service.model.next()).say("part");
    await service.say(id, "dropped");
    await until(async () => (await service.snapshot(id)).messages[1]?.content === "part");
    await service.conversations.interrupt(id, ANONYMOUS, null);
    await service.say(id, "three");
    const { prompt } = await service.model.next();
    expect(prompt.join()).toContain("part");
    expect(prompt.join()).not.toContain("dropped");
  });

  it("changes nothing in an idle session, not even its version", async () => {
    const before = await service.snapshot(id);
    expect(parse(await service.conversations.interrupt(id, ANONYMOUS, null))).toEqual(before);
  });
});

describe("tools", () => {
  it("run between two steps, with exactly one result for each call", async () => {
    await service.say(id, "what is 12 * 7?");
    const first = await service.model.next();
    first.say("Let me see.").callTool("calculator", { expression: "12 * 7" }, "c1").finish("tool-calls");
    const second = await service.model.next();
    expect(second.prompt.join()).toContain("84");
    second.say("It is 84.").finish();
    await until(idle);
    const message = (await service.snapshot(id)).messages[1]!;
    expect(message.content).toBe("Let me see.\n\nIt is 84.");
    expect(message.tool_calls).toMatchObject([{ id: "c1", name: "calculator", status: "complete" }]);
    expect(message.tool_results).toMatchObject([{ call_id: "c1", is_error: false }]);
  });

  it("return an error to the model if they do not exist", async () => {
    await service.say(id, "go");
    (await service.model.next()).callTool("no_such_tool", {}).finish("tool-calls");
    const second = await service.model.next();
    expect(second.prompt.join()).toContain("no_such_tool");
    second.say("sorry").finish();
    await until(idle);
    expect((await service.snapshot(id)).messages[1]?.tool_results).toMatchObject([{ is_error: true }]);
  });
});

describe("a model that fails", () => {
  it("fails the turn, shows the cause without secrets, and leaves the session idle", async () => {
    await service.say(id, "hello");
    (await service.model.next()).fail(new Error("socket 10.0.0.1 broke, key sk-123"));
    await until(idle);
    const snapshot = await service.snapshot(id);
    expect(snapshot.messages[1]?.status).toBe("failed");
    expect(snapshot.system_events).toMatchObject([{ type: "error", payload: { turn: 1 } }]);
    expect(JSON.stringify(snapshot)).not.toContain("sk-123");
  });

  it("keeps the text so far when its answer breaks off", async () => {
    await service.say(id, "hello");
    (await service.model.next()).say("half an ans").breakOff();
    await until(idle);
    expect(lines((await service.snapshot(id)).messages)[1]).toBe("agent failed: half an ans");
  });

  it("is stopped after five minutes without progress", async () => {
    await service.say(id, "hello");
    const call = await service.model.next();
    await service.pass(301_000);
    await until(idle);
    expect(call.options.abortSignal?.aborted).toBe(true);
    const { system_events } = await service.snapshot(id);
    expect(system_events[0]?.payload["code"]).toBe("turn_stalled");
  });
});

describe("deleting", () => {
  it("stops the turn, and the id starts a new incarnation without any old data", async () => {
    const before = await service.say(id, "secret");
    const call = await service.model.next();
    call.say("streaming");
    await service.threads.remove(id, null);
    expect(call.options.abortSignal?.aborted).toBe(true);
    await expect(service.snapshot(id)).rejects.toMatchObject({ status: 404, code: "session_deleted" });
    await service.threads.create(id, null, ANONYMOUS, null);
    const fresh = await service.snapshot(id);
    expect(fresh.messages).toEqual([]);
    expect(fresh.last_event_id.split("-")[0]).not.toBe(before.last_event_id.split("-")[0]);
    await service.clock.advance(10_000);
    expect(await service.snapshot(id)).toEqual(fresh);
  });

  it("ends requests that wait for the session with 404", async () => {
    const waiting = service.say(id, "hello", { waitMs: 60_000 });
    await service.model.next();
    await service.threads.remove(id, null);
    await expect(waiting).rejects.toMatchObject({ status: 404, code: "session_deleted" });
    await expect(service.threads.get(id, null)).rejects.toMatchObject({ status: 404 });
  });
});

describe("a transfer", () => {
  it("hides the session from requests of others that wait for it", async () => {
    const waiting = service.say(id, "hello", { waitMs: 60_000 });
    const call = await service.model.next();
    await service.threads.transfer(id, { owner: "somebody" }, null);
    call.say("secret").finish();
    await expect(waiting).rejects.toMatchObject({ status: 404, code: "session_not_found" });
  });
});

describe("a chat with schemas", () => {
  const options = (more: object) => ({ app: "default", message: "hello", options: more });
  const schema = { type: "object" };
  /** An object that counts how often anything is read from it. */
  const counted = (counts: { reads: number }): object =>
    new Proxy(
      {},
      {
        get: () => void (counts.reads += 1),
        ownKeys: () => {
          counts.reads += 1;
          return [];
        },
      },
    );
  const chat = (more: object) =>
    service.conversations.chat(
      {
        sessionId: id,
        access: ANONYMOUS,
        publicKey: null,
        userState: null,
        clientId: null,
        idempotencyKey: null,
        waitMs: 0,
        signal: new AbortController().signal,
        ...options(more),
      },
      { spelling: id, admit: null },
    );

  it("does not look at tools that the App does not allow", async () => {
    const counts = { reads: 0 };
    await expect(chat({ clientTools: counted(counts) })).rejects.toMatchObject({
      code: "client_tools_not_allowed",
    });
    expect(counts.reads).toBe(0);
  });

  it("answers 503 if its schema cannot be checked at the moment, and stores nothing", async () => {
    await service.schemas.close();
    await expect(chat({ responseSchema: schema })).rejects.toMatchObject({
      status: 503,
      code: "too_many_waiting",
    });
    expect(await service.store.sessions.find(id)).toBeNull();
    await chat({});
    (await service.model.next()).say("Hi").finish();
    await until(idle);
  });
});
