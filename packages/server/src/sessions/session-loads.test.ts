import { describe, expect, it } from "vitest";
import { Births } from "./births.ts";
import { SessionLoads } from "./session-loads.ts";
import type { Session } from "./session.ts";

const ID = "one";
const admits = async () => undefined;

/** A session that was loaded; nobody looks into it here. */
function session(name: string): Session {
  return { id: name } as Session;
}

interface Work<Answer> {
  readonly kind: "find" | "open";
  readonly answer: (loaded: Answer) => void;
  readonly fail: (error: Error) => void;
}

/** Loads that end when the test says so. `live` is what is in memory, and right. */
function given() {
  const loads: Work<Session>[] = [];
  const memory = { live: null as Session | null, isThere: false };
  const gate = (kind: "find" | "open") => () => {
    const { promise, resolve, reject } = Promise.withResolvers<Session>();
    loads.push({ kind, answer: resolve, fail: reject });
    return promise;
  };
  const find = gate("find") as () => Promise<Session | null>;
  const births = new Births(async () => memory.isThere);
  const current = async () => memory.live;
  const subject = new SessionLoads({ births, current, find, open: gate("open") });
  /** The load of this number, once it has begun. */
  const begun = async (number: number): Promise<Work<Session | null>> => {
    for (let turns = 0; turns < 100 && loads.length < number; turns += 1) await Promise.resolve();
    const load = loads[number - 1];
    if (load === undefined) throw new Error(`Load ${number} has not begun`);
    return load as Work<Session | null>;
  };
  const kinds = () => loads.map(({ kind }) => kind);
  return { subject, memory, begun, kinds };
}

/** Everything that can go on without a load that ends. */
async function settled(): Promise<void> {
  for (let turns = 0; turns < 200; turns += 1) await Promise.resolve();
}

describe("sessions that are loaded", () => {
  it("are looked for twice at most where they were deleted meanwhile, however many ask", async () => {
    const { subject, begun, kinds } = given();
    const refused = async () => {
      throw new Error("may not create");
    };
    const all = Array.from({ length: 50 }, () => subject.load(ID, refused, true));
    const ends = Promise.allSettled(all);
    (await begun(1)).answer(null);
    (await begun(2)).answer(null);
    await settled();
    expect(kinds()).toEqual(["find", "find"]);
    expect((await ends).map(({ status }) => status)).toEqual(Array(50).fill("rejected"));
  });

  it("are not answered from a load that began before somebody asked", async () => {
    const { subject, memory, begun, kinds } = given();
    const first = subject.load(ID, admits, true);
    const second = subject.load(ID, admits, true);
    const [old, fresh] = [session("old"), session("fresh")];
    (await begun(1)).answer(old);
    expect(await first).toBe(old);
    // What the first one has loaded is not right any more: nothing in memory is.
    const load = await begun(2);
    const third = subject.load(ID, admits, true);
    load.answer(fresh);
    expect(await second).toBe(fresh);
    memory.live = session("newest");
    (await begun(3)).answer(memory.live);
    expect(await third).toBe(memory.live);
    expect(kinds()).toEqual(["find", "find", "find"]);
  });

  it("are taken from memory where the load before has put them there", async () => {
    const { subject, memory, begun, kinds } = given();
    const all = Array.from({ length: 5 }, () => subject.load(ID, admits, true));
    memory.live = session("loaded");
    (await begun(1)).answer(memory.live);
    expect(new Set(await Promise.all(all))).toEqual(new Set([memory.live]));
    expect(kinds()).toEqual(["find"]);
  });

  it("are created by who may, also where he joined a load that finds nothing", async () => {
    const { subject, begun, kinds } = given();
    const finders = Array.from({ length: 3 }, () => subject.load(ID, admits, true));
    const opener = subject.load(ID, null, false);
    const made = session("made");
    (await begun(1)).answer(null);
    // The load of all those who came meanwhile, so that nobody of them needs one more.
    const second = await begun(2);
    expect(second.kind).toBe("open");
    second.answer(made);
    expect(await opener).toBe(made);
    expect(await Promise.all(finders.slice(1))).toEqual([made, made]);
    // The first one has seen that it is not there, and asks whether he may create it.
    (await begun(3)).answer(made);
    expect(await finders[0]).toBe(made);
    expect(kinds()).toEqual(["find", "open", "open"]);
  });

  it("are created by who comes while the second look finds nothing", async () => {
    const { subject, begun, kinds } = given();
    const forbid = () => Promise.reject(new Error("may not create"));
    const finders = Promise.allSettled([1, 2, 3].map(() => subject.load(ID, forbid, true)));
    (await begun(1)).answer(null);
    const second = await begun(2);
    const opener = subject.load(ID, null, false);
    second.answer(null);
    await settled();
    expect(kinds()).toEqual(["find", "find", "open"]);
    const made = session("made");
    (await begun(3)).answer(made);
    expect(await opener).toBe(made);
    expect((await finders).every(({ status }) => status === "rejected")).toBe(true);
  });

  it("fail for all who wait where a load fails, and nothing of it is left", async () => {
    const { subject, begun, kinds } = given();
    const all = Promise.allSettled([1, 2, 3].map(() => subject.load(ID, null, false)));
    (await begun(1)).fail(new Error("away"));
    expect((await all).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    const next = subject.load(ID, null, false);
    const made = session("made");
    (await begun(2)).answer(made);
    expect(await next).toBe(made);
    await settled();
    expect(kinds()).toEqual(["open", "open"]);
  });

  it("do not wait for those of other ids", async () => {
    const { subject, begun } = given();
    const one = subject.load(ID, null, false);
    const other = subject.load("other", null, false);
    const made = session("made");
    (await begun(2)).answer(made);
    expect(await other).toBe(made);
    (await begun(1)).answer(made);
    expect(await one).toBe(made);
  });
});
