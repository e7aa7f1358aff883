import { describe, expect, it } from "vitest";
import type { Session } from "./session.ts";
import { SessionCreations, SessionLoads } from "./session-registry.ts";

const ID = "one";
const admits = async () => undefined;

/** Returns a loaded session, of which only the identity matters. */
function loadedSession(name: string): Session {
  return { id: name } as Session;
}

interface Work {
  readonly kind: "find" | "open";
  readonly answer: (loaded: Session | null) => void;
  readonly fail: (error: Error) => void;
}

/** Returns loads that the test completes. `live` is the session in memory. */
function given() {
  const loads: Work[] = [];
  const memory = { live: null as Session | null, isThere: false };
  const load = (_id: string, spelling: string | null) => {
    const { promise, resolve, reject } = Promise.withResolvers<Session | null>();
    loads.push({ kind: spelling === null ? "find" : "open", answer: resolve, fail: reject });
    return promise;
  };
  const creations = new SessionCreations(async () => memory.isThere);
  const current = async () => memory.live;
  const subject = new SessionLoads({ creations, current, load });
  /** Waits until this many loads have begun, and returns the last of them. */
  const begun = async (number: number): Promise<Work> => {
    for (let turns = 0; turns < 100 && loads.length < number; turns += 1) await Promise.resolve();
    const load = loads[number - 1];
    if (load === undefined) throw new Error(`Load ${number} has not begun`);
    return load;
  };
  const kinds = () => loads.map(({ kind }) => kind);
  return { subject, memory, begun, kinds };
}

/** Lets everything continue that does not depend on a load. */
async function drainMicrotasks(): Promise<void> {
  for (let turns = 0; turns < 200; turns += 1) await Promise.resolve();
}

describe("SessionLoads", () => {
  it("reads a session deleted during the load at most twice, for any number of callers", async () => {
    const { subject, begun, kinds } = given();
    const refused = async () => {
      throw new Error("may not create");
    };
    const all = Array.from({ length: 50 }, () => subject.load(ID, refused, true));
    const ends = Promise.allSettled(all);
    (await begun(1)).answer(null);
    (await begun(2)).answer(null);
    await drainMicrotasks();
    expect(kinds()).toEqual(["find", "find"]);
    expect((await ends).map(({ status }) => status)).toEqual(Array(50).fill("rejected"));
  });

  it("never returns a load that began before the call", async () => {
    const { subject, memory, begun, kinds } = given();
    const first = subject.load(ID, admits, true);
    const second = subject.load(ID, admits, true);
    const [old, fresh] = [loadedSession("old"), loadedSession("fresh")];
    (await begun(1)).answer(old);
    expect(await first).toBe(old);
    // The first result is outdated, and memory has no current session.
    const load = await begun(2);
    const third = subject.load(ID, admits, true);
    load.answer(fresh);
    expect(await second).toBe(fresh);
    memory.live = loadedSession("newest");
    (await begun(3)).answer(memory.live);
    expect(await third).toBe(memory.live);
    expect(kinds()).toEqual(["find", "find", "find"]);
  });

  it("returns a session from memory if the previous load put it there", async () => {
    const { subject, memory, begun, kinds } = given();
    const all = Array.from({ length: 5 }, () => subject.load(ID, admits, true));
    memory.live = loadedSession("loaded");
    (await begun(1)).answer(memory.live);
    expect(new Set(await Promise.all(all))).toEqual(new Set([memory.live]));
    expect(kinds()).toEqual(["find"]);
  });

  it("creates the session for a permitted caller that joined a load without a result", async () => {
    const { subject, begun, kinds } = given();
    const finders = Array.from({ length: 3 }, () => subject.load(ID, admits, true));
    const opener = subject.load(ID, null, false);
    const made = loadedSession("made");
    (await begun(1)).answer(null);
    // The load that all later callers share.
    const second = await begun(2);
    expect(second.kind).toBe("open");
    second.answer(made);
    expect(await opener).toBe(made);
    expect(await Promise.all(finders.slice(1))).toEqual([made, made]);
    // The first caller found nothing, and creates it after its admission.
    (await begun(3)).answer(made);
    expect(await finders[0]).toBe(made);
    expect(kinds()).toEqual(["find", "open", "open"]);
  });

  it("creates the session for a caller that arrives while the second load finds nothing", async () => {
    const { subject, begun, kinds } = given();
    const forbid = () => Promise.reject(new Error("may not create"));
    const finders = Promise.allSettled([1, 2, 3].map(() => subject.load(ID, forbid, true)));
    (await begun(1)).answer(null);
    const second = await begun(2);
    const opener = subject.load(ID, null, false);
    second.answer(null);
    await drainMicrotasks();
    expect(kinds()).toEqual(["find", "find", "open"]);
    const made = loadedSession("made");
    (await begun(3)).answer(made);
    expect(await opener).toBe(made);
    expect((await finders).every(({ status }) => status === "rejected")).toBe(true);
  });

  it("rejects every waiting caller when a load fails, and loads again afterwards", async () => {
    const { subject, begun, kinds } = given();
    const all = Promise.allSettled([1, 2, 3].map(() => subject.load(ID, null, false)));
    (await begun(1)).fail(new Error("away"));
    expect((await all).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    const next = subject.load(ID, null, false);
    const made = loadedSession("made");
    (await begun(2)).answer(made);
    expect(await next).toBe(made);
    await drainMicrotasks();
    expect(kinds()).toEqual(["open", "open"]);
  });

  it("loads different ids independently", async () => {
    const { subject, begun } = given();
    const one = subject.load(ID, null, false);
    const other = subject.load("other", null, false);
    const made = loadedSession("made");
    (await begun(2)).answer(made);
    expect(await other).toBe(made);
    (await begun(1)).answer(made);
    expect(await one).toBe(made);
  });
});

describe("SessionCreations", () => {
  const asked: string[] = [];
  const yes = (who: string) => () => void asked.push(who);
  const no = (who: string) => () => {
    asked.push(who);
    throw new Error(`${who} may not`);
  };
  /** Returns a store in which `make` creates the session. */
  function store() {
    const made: string[] = [];
    const looks: string[] = [];
    const isThere = async (id: string) => {
      looks.push(id);
      return made.includes(id);
    };
    const make = (id: string) => async () => void made.push(id);
    return { make, isThere, made, looks };
  }

  it("asks once for admission, for any number of concurrent callers", async () => {
    asked.length = 0;
    const { make, isThere, made, looks } = store();
    const creations = new SessionCreations(isThere);
    const all = ["a", "b", "c"].map((who) => creations.run("one", yes(who), make("one")));
    await creations.run("other", yes("d"), make("other"));
    expect(await Promise.all(all)).toHaveLength(3);
    expect(asked).toEqual(["a", "d"]);
    expect(looks).toEqual(["one", "other"]);
    expect(made.toSorted()).toEqual(["one", "one", "one", "other"]);
  });

  it("asks for admission of the next caller after a refusal", async () => {
    asked.length = 0;
    const { make, isThere } = store();
    const creations = new SessionCreations(isThere);
    const admits = [no("a"), no("b"), yes("c"), no("d")];
    const all = await Promise.allSettled(admits.map((admit) => creations.run("one", admit, make("one"))));
    expect(all.map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled", "fulfilled"]);
    expect(asked).toEqual(["a", "b", "c"]);
  });

  it("lets callers fail together when the store fails", async () => {
    asked.length = 0;
    const creations = new SessionCreations(async () => false);
    const gate = Promise.withResolvers<never>();
    let under = 0;
    const fail = () => {
      under += 1;
      return under === 1 ? Promise.reject(new Error("away")) : gate.promise;
    };
    const all = ["a", "b", "c"].map((who) => creations.run("one", yes(who), fail));
    await expect(all[0]).rejects.toThrow("away");
    while (under < 3) await Promise.resolve();
    gate.reject(new Error("away"));
    expect((await Promise.allSettled(all)).map(({ status }) => status)).toEqual(Array(3).fill("rejected"));
    // No state is left behind.
    expect(await creations.run("one", yes("d"), async () => "made")).toBe("made");
    expect(asked).toEqual(["a", "b", "c", "d"]);
  });
});
