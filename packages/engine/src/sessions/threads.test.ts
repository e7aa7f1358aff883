import { Thread } from "@colloquy/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { bindTo, accessTo } from "@colloquy/testing/internal/store/fixtures/scenario";
import type { BeforeCall } from "../../../server/test/intercepted-store.ts";
import { plainChat } from "@colloquy/testing/internal/store/fixtures/plain-chat";
import {
  lines,
  newId,
  portionsOf,
  recordsOf,
  startService,
  until,
  type TestService,
} from "../../../server/test/service.ts";
import type { AdmitCopy } from "../core/ports/driving/services.ts";
import { ANONYMOUS } from "../core/session-access.ts";

let service: TestService;
let id: string;
let before: BeforeCall;
beforeEach(async () => {
  before = () => undefined;
  service = await startService({ beforeCall: (method, parameters) => before(method, parameters) });
  id = newId();
});
afterEach(() => service.close());

const WALLET = "0xa";

/** Creates sessions of the wallet, the oldest first. */
async function threadsOf(count: number, wallet = WALLET): Promise<string[]> {
  const ids = Array.from({ length: count }, newId);
  for (const one of ids) {
    await service.threads.create(one, wallet, ANONYMOUS, null);
    await service.clock.advance(1);
  }
  return ids;
}

const list = (limit: number, cursor: string | null = null) =>
  service.threads.list({ publicKey: WALLET, access: accessTo("default"), limit, cursor });
const idsOf = (page: Awaited<ReturnType<typeof list>>) => page.threads.map(({ session_id }) => session_id);

describe("creating a session", () => {
  it("returns the same for an existing session, and binds the first wallet", async () => {
    const first = await service.threads.create(id, null, ANONYMOUS, null);
    expect(first).toMatchObject({ session_id: id, title: "New Chat", app: "default" });
    expect(Thread.strict().parse(first)).toEqual(first);
    expect(await service.threads.create(id, null, ANONYMOUS, null)).toEqual(first);
    await service.threads.create(id, WALLET, ANONYMOUS, null);
    expect(idsOf(await list(10))).toEqual([id]);
    expect(await service.threads.create(id, WALLET, ANONYMOUS, null)).toMatchObject({ session_id: id });
  });

  it("conflicts with another wallet than the bound one, and changes nothing", async () => {
    await service.threads.create(id, WALLET, ANONYMOUS, null);
    const before = await service.snapshot(id);
    await expect(service.threads.create(id, "0xb", ANONYMOUS, null)).rejects.toMatchObject({
      status: 409,
      code: "wallet_mismatch",
    });
    expect(await service.snapshot(id)).toEqual(before);
    const other = await service.threads.list({
      publicKey: "0xb",
      access: accessTo("default"),
      limit: 10,
      cursor: null,
    });
    expect(other.threads).toEqual([]);
  });
});

describe("the list of threads", () => {
  it("contains the threads of the wallet, newest activity first", async () => {
    const [first, second, third] = await threadsOf(3);
    await threadsOf(1, "0xb");
    expect(idsOf(await list(10))).toEqual([third, second, first]);
    await service.clock.advance(1);
    await service.say(first!, "hello");
    expect(idsOf(await list(10))).toEqual([first, third, second]);
  });

  it("comes in pages that contain every thread once, even those of one millisecond", async () => {
    const ids = await threadsOf(4);
    for (const one of [newId(), newId(), newId()]) {
      await service.threads.create(one, WALLET, ANONYMOUS, null);
      ids.push(one);
    }
    const pages: string[][] = [];
    let cursor: string | null = null;
    do {
      const page = await list(3, cursor);
      pages.push(idsOf(page));
      cursor = page.next;
    } while (cursor !== null);
    expect(pages.map(({ length }) => length)).toEqual([3, 3, 1]);
    expect(pages.flat().toSorted()).toEqual(ids.toSorted());
    expect(pages.flat()).toEqual(idsOf(await list(100)));
  });

  it("has no next page after the last one", async () => {
    await threadsOf(3);
    expect((await list(3)).next).toBeNull();
    expect((await list(2)).next).not.toBeNull();
    expect((await list(10)).next).toBeNull();
  });

  it.each(["", "x", "1-", "-1", "1-2-3", "A-B", "1 -2", `${"1".repeat(11)}-1`])(
    "rejects the cursor %j",
    async (cursor) => {
      await expect(list(3, cursor)).rejects.toMatchObject({ status: 400, code: "invalid_cursor" });
    },
  );

  it("is rejected if the configuration disables it", async () => {
    const closed = await startService({
      adjust: (config) => ({ ...config, server: { ...config.server, walletListing: "off" } }),
    });
    const query = { publicKey: WALLET, access: accessTo("default"), limit: 10, cursor: null };
    await expect(closed.threads.list(query)).rejects.toMatchObject({ status: 403 });
    await closed.close();
  });
});

describe("a thread", () => {
  it("is returned by id, and never created by a read", async () => {
    await expect(service.threads.get(id, null)).rejects.toMatchObject({ status: 404 });
    await expect(service.threads.rename(id, "x", null)).rejects.toMatchObject({ status: 404 });
    await expect(service.threads.remove(id, null)).rejects.toMatchObject({ status: 404 });
    await expect(service.threads.messages(id, null, 10, null)).rejects.toMatchObject({ status: 404 });
    expect(await service.store.sessions.find(id)).toBeNull();
  });

  it("is renamed in memory or not", async () => {
    await service.snapshot(id);
    expect(await service.threads.rename(id, "One", null)).toMatchObject({ title: "One" });
    expect((await service.snapshot(id)).title).toBe("One");
    await service.evict();
    await service.threads.rename(id, "Two", null);
    expect(service.registry.inMemory(id)).toBeNull();
    expect((await service.snapshot(id)).title).toBe("Two");
  });

  it("returns its records in the order of arrival, after any of them", async () => {
    await service.say(id, "one");
    (await service.model.next()).say("1").finish();
    await until(async () => !(await service.snapshot(id)).is_processing);
    const records = await recordsOf(service, id, null, 10, null);
    expect(records.map(({ role, content }) => `${role}: ${content}`)).toEqual(["user: one", "assistant: 1"]);
    expect(await recordsOf(service, id, null, 1, null)).toEqual([records[0]]);
    expect(await recordsOf(service, id, records[0]!.id, 10, null)).toEqual([records[1]]);
    expect(await recordsOf(service, id, records[1]!.id, 10, null)).toEqual([]);
    await expect(service.threads.messages(id, newId(), 10, null)).rejects.toMatchObject({ status: 404 });
  });
});

describe("a page of records", () => {
  /** Stores unanswered messages of 98,304 bytes each. */
  const fill = async (count: number, incarnation = "incarnation"): Promise<void> => {
    const birth = { incarnation, model: "demo/assistant" };
    for (let index = 0; index < count; index += 1) {
      await service.store.execute({
        kind: "chat",
        target: { session: id, birth, load: false, access: null },
        input: { ...plainChat("水".repeat(32_768), ["demo/assistant"]), maxQueued: count },
      });
    }
  };

  it("ends with the record that reaches 1 MiB, and returns the next cursor", async () => {
    await fill(25);
    const pages: number[] = [];
    const seen = new Set<string>();
    for (let after: string | null = null; ; ) {
      const page = await service.threads.messages(id, after, 1000, null);
      const portions = await portionsOf(page);
      // The portions in memory at a time: at most 32 KiB, plus the record that exceeds them.
      expect(Math.max(...portions.map(({ length }) => length))).toBe(1);
      for (const record of portions.flat()) seen.add(record.id);
      pages.push(portions.flat().length);
      if (page.next === null) break;
      after = page.next;
    }
    expect(pages).toEqual([11, 11, 3]);
    expect(seen.size).toBe(25);
  });

  it("is read from the store at the pace of its reader", async () => {
    await fill(4);
    const reads: string[] = [];
    before = (method) => void reads.push(method);
    const { read } = await service.threads.messages(id, null, 1000, null);
    const messageReads = () => reads.filter((method) => method.startsWith("sessions.message"));
    expect(messageReads()).toEqual(["sessions.messagePage"]);
    const [first] = await read(null);
    expect(messageReads()).toEqual(["sessions.messagePage", "sessions.messages"]);
    await service.threads.remove(id, null);
    await expect(read(first!.id)).rejects.toMatchObject({ code: "not_found" });
  });

  it("never holds messages of a later session with the same id", async () => {
    await fill(1);
    const { read } = await service.threads.messages(id, null, 1000, null);
    await service.threads.remove(id, null);
    await fill(1, "later");
    await expect(read(null)).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("the list of all threads", () => {
  const all = async (cursor: string | null = null): Promise<readonly (readonly Thread[])[]> =>
    Array.fromAsync(
      await service.threads.listAll({ publicKey: WALLET, access: accessTo("default"), cursor }),
    );

  it("contains every thread, in batches, in the order of pages", async () => {
    const birth = { incarnation: "incarnation", model: "demo/assistant" };
    const ids = Array.from({ length: 2050 }, newId);
    const bound = { userState: null, publicKey: WALLET };
    await Promise.all(
      ids.map((one) =>
        service.store.execute({
          kind: "open",
          target: { session: one, birth, load: false, access: null },
          input: bound,
        }),
      ),
    );
    const portions = await all();
    expect(
      portions
        .flat()
        .map(({ session_id }) => session_id)
        .toSorted(),
    ).toEqual(ids.toSorted());
    expect(Math.max(...portions.map(({ length }) => length))).toBe(100);
    const page = await list(200);
    expect(portions.flat().slice(0, 200)).toEqual(page.threads);
    expect((await all(page.next)).flat()).toEqual(portions.flat().slice(200));
  });

  it("starts with pinned threads, in pages and after their cursors", async () => {
    const ids = await threadsOf(5);
    for (const one of [ids[0]!, ids[2]!]) await service.threads.pin(one, true, null);
    expect(await service.threads.get(ids[0]!, null)).toMatchObject({ pinned: true });
    const expected = [2, 0, 4, 3, 1].map((index) => ids[index]);
    const seen: unknown[] = [];
    for (let cursor: string | null = null; ; ) {
      const rest = (await all(cursor)).flat().map(({ session_id }) => session_id);
      expect(rest).toEqual(expected.slice(seen.length));
      const page = await service.threads.list({
        publicKey: WALLET,
        access: accessTo("default"),
        limit: 1,
        cursor,
      });
      seen.push(...page.threads.map(({ session_id }) => session_id));
      if (page.next === null) break;
      cursor = page.next;
    }
    expect(seen).toEqual(expected);
    await expect(service.threads.pin(newId(), true, null)).rejects.toMatchObject({ status: 404 });
  });

  it("keeps threads that move to the front during the listing, and hides those of other Apps", async () => {
    const ids = await threadsOf(150);
    const portions = (
      await service.threads.listAll({ publicKey: WALLET, access: accessTo("default"), cursor: null })
    )[Symbol.asyncIterator]();
    const shown = [...((await portions.next()).value as readonly Thread[])];
    await service.threads.rename(ids[0]!, "moved to the front", null);
    await service.threads.remove(ids[1]!, null);
    await bindTo(service.store, ids[2]!, "defi");
    shown.push(...((await portions.next()).value as readonly Thread[]));
    expect((await portions.next()).done).toBe(true);
    const left = ids.toReversed().filter((one) => one !== ids[1] && one !== ids[2]);
    expect(shown.map(({ session_id }) => session_id)).toEqual(left);
  });
});

describe("a request with the App that access was decided for", () => {
  const RENAMED = "Renamed by somebody else";
  const CASES: readonly (readonly [string, string, () => Promise<unknown>])[] = [
    ["a look", "sessions.find", () => service.threads.get(id, accessTo("default"))],
    [
      "its messages",
      "sessions.messagePage",
      () => service.threads.messages(id, null, 10, accessTo("default")),
    ],
    ["a name", "edit", () => service.threads.rename(id, RENAMED, accessTo("default"))],
    ["a pin", "pin", () => service.threads.pin(id, true, accessTo("default"))],
    ["a deletion", "delete", () => service.threads.remove(id, accessTo("default"))],
    ["a wallet", "open", () => service.threads.create(id, "0xa", accessTo("default"), null)],
    ["an interrupt", "interrupt", () => service.conversations.interrupt(id, accessTo("default"), null)],
  ];

  it.each(CASES)(
    "is rejected if the session is bound to another App before it: %s",
    async (_what, method, ask) => {
      let isFirst = true;
      before = (called) => {
        if (called !== method || !isFirst) return undefined;
        isFirst = false;
        return bindTo(service.store, id, "defi");
      };
      await expect(ask()).rejects.toMatchObject({ status: 503, code: "app_changed" });
      expect(isFirst).toBe(false);
      expect(await service.threads.get(id, accessTo("defi"))).toMatchObject({
        title: "New Chat",
        app: "defi",
        pinned: false,
      });
    },
  );

  it.each(CASES)("invalidates memory if it was outdated: %s", async (_what, _method, ask) => {
    await service.snapshot(id);
    // Another process binds it to the App without a notification.
    await bindTo(service.store, id, "defi");
    expect(await service.conversations.appOf(id)).toBe("default");
    await expect(ask()).rejects.toMatchObject({ code: "app_changed" });
    expect(await service.conversations.appOf(id)).toMatchObject({ app: "defi" });
  });

  it("succeeds if the App is the same or no App was named", async () => {
    await bindTo(service.store, id, "defi");
    expect(await recordsOf(service, id, null, 10, accessTo("defi"))).toHaveLength(1);
    expect(await service.threads.rename(id, "Mine", accessTo("defi"))).toMatchObject({ title: "Mine" });
    expect(await service.threads.rename(id, "Yours", null)).toMatchObject({ title: "Yours" });
    await service.threads.remove(id, accessTo("defi"));
    await expect(service.threads.get(id, accessTo("default"))).rejects.toMatchObject({ status: 404 });
  });
});

describe("deleting a session", () => {
  it("ends the incarnation before the next one is applied, if both are committed together", async () => {
    const warnings: string[] = [];
    const logger = {
      debug() {},
      info() {},
      warn: (_fields: object, message: string) => void warnings.push(message),
      error() {},
    };
    const recording = await startService({ logger });
    await recording.say(id, "one");
    await Promise.all([recording.threads.remove(id, null), recording.say(id, "again")]);
    expect(lines((await recording.snapshot(id)).messages)).toEqual(["user complete: again"]);
    expect(warnings).toEqual([]);
    await recording.close();
  });
});

describe("a copy", () => {
  /** Answers one message. */
  async function givenAnswer(): Promise<void> {
    await service.say(id, "hello");
    (await service.model.next()).say("hi").finish();
    await until(async () => !(await service.snapshot(id)).is_processing);
  }
  const fork = (admit: AdmitCopy) =>
    service.threads.fork(id, { session: newId(), through: null, admit }, ANONYMOUS, null);

  it("is checked with its App and bytes before any message is read, and refused without a transaction", async () => {
    await givenAnswer();
    const calls: string[] = [];
    before = (method) => void calls.push(method);
    const refusal = new Error("No.");
    const asked: unknown[] = [];
    const refused = fork((...of) => {
      asked.push(...of);
      throw refusal;
    });
    await expect(refused).rejects.toBe(refusal);
    expect(asked).toEqual(["default", expect.any(Number)]);
    expect(calls).toEqual(["sessions.copySize"]);
  });

  it("is not checked where the session is hidden, which gets the same answer as an unknown one", async () => {
    const admit = (): never => {
      throw new Error("It was checked.");
    };
    await expect(fork(admit)).rejects.toMatchObject({ status: 404, code: "session_not_found" });
  });

  it("waits for an earlier one, so that others commit in between, and follows one that failed", async () => {
    await givenAnswer();
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const begun: string[] = [];
    before = (method) => {
      if (method !== "fork") return undefined;
      begun.push(method);
      return gates[begun.length - 1]?.promise;
    };
    const copies = [fork(null), fork(null), fork(null)];
    await until(() => begun.length === 1);
    await service.threads.rename(id, "In between", ANONYMOUS);
    expect(begun).toHaveLength(1);
    gates[0]?.reject(new Error("Failed."));
    await expect(copies[0]).rejects.toThrow("Failed.");
    await until(() => begun.length === 2);
    gates[1]?.resolve();
    expect(await copies[1]).toMatchObject({ title: "In between" });
    expect(await copies[2]).toMatchObject({ title: "In between" });
  });
});
