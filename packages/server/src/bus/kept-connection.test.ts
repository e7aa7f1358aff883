import { describe, expect, it } from "vitest";
import { ManualClock } from "../../test/manual-clock.ts";
import type { Logger } from "../core/ports/logger.ts";
import { KeptConnection, type Made } from "./kept-connection.ts";

const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** A connection of which the test says when it is made and when it breaks. */
function given() {
  const clock = new ManualClock();
  const checks: PromiseWithResolvers<void>[] = [];
  const attempts: { at: number; make(): void; fail(): void; break(): void }[] = [];
  let made = 0;
  let ended = 0;
  const kept = new KeptConnection<string>({
    name: "a server",
    clock,
    logger: SILENT,
    onMade: () => (made += 1),
    connect: (signal) => {
      const { promise, resolve, reject } = Promise.withResolvers<Made<string>>();
      const broken = Promise.withResolvers<void>();
      const check = () => {
        checks.push(Promise.withResolvers());
        return checks.at(-1)!.promise;
      };
      const end = () => Promise.resolve(void (ended += 1));
      signal.addEventListener("abort", () => reject(new Error("aborted")));
      attempts.push({
        at: clock.monotonic(),
        make: () =>
          resolve({ connection: `connection ${attempts.length}`, broken: broken.promise, check, end }),
        fail: () => reject(new Error("refused")),
        break: () => broken.resolve(),
      });
      return promise;
    },
  });
  return { kept, clock, attempts, checks, made: () => made, ended: () => ended };
}

/** Attempts each of which was over at the next full ten seconds. */
function expectDoublingPauses(attempts: readonly { readonly at: number }[]): void {
  const pauses = attempts
    .slice(1)
    .map(({ at }, index) => at - Math.ceil((attempts[index]?.at ?? 0) / 10_000) * 10_000);
  pauses.forEach((pause, index) => {
    const most = Math.min(100 * 2 ** index, 5000);
    expect(pause).toBeGreaterThanOrEqual(most / 2);
    expect(pause).toBeLessThanOrEqual(most);
  });
}

describe("a connection that is kept", () => {
  it("is there when it was made, and made anew when it broke", async () => {
    const { kept, clock, attempts, made, ended } = given();
    kept.start();
    attempts[0]?.make();
    expect(await kept.ready()).toBe(true);
    expect(kept.current).toBe("connection 1");
    attempts[0]?.break();
    await clock.advance(0);
    expect([kept.current, ended()]).toEqual([null, 1]);
    await clock.advance(100);
    attempts[1]?.make();
    expect(await kept.ready()).toBe(true);
    expect([kept.current, made()]).toEqual(["connection 2", 2]);
    await kept.close();
    expect([ended(), clock.timers]).toEqual([2, 0]);
  });

  it("is tried again after pauses that double, up to 5 seconds, each of them half random", async () => {
    const { kept, clock, attempts } = given();
    kept.start();
    for (let attempt = 0; attempt < 12; attempt += 1) {
      attempts[attempt]?.fail();
      await clock.advance(10_000 - (clock.monotonic() % 10_000));
    }
    expect(attempts).toHaveLength(13);
    expectDoublingPauses(attempts);
    await kept.close();
  });

  it("is tried again after such pauses too when each is ended as soon as it is made, before it has answered anything", async () => {
    const { kept, clock, attempts, made } = given();
    kept.start();
    for (let attempt = 0; attempt < 12; attempt += 1) {
      attempts[attempt]?.make();
      await kept.ready();
      attempts[attempt]?.break();
      await clock.advance(10_000 - (clock.monotonic() % 10_000));
    }
    expect([attempts.length, made()]).toEqual([13, 12]);
    expectDoublingPauses(attempts);
    await kept.close();
  });

  it("is tried again soon when it breaks after it has answered, however often it was tried before", async () => {
    const { kept, clock, attempts, checks } = given();
    kept.start();
    for (let attempt = 0; attempt < 8; attempt += 1) {
      attempts[attempt]?.fail();
      await clock.advance(5000);
    }
    attempts[8]?.make();
    await kept.ready();
    await clock.advance(5000);
    checks[0]?.resolve();
    await clock.advance(0);
    attempts[8]?.break();
    await clock.advance(100);
    expect(attempts).toHaveLength(10);
    await kept.close();
  });

  it("is not ready from the moment on in which it is dropped, and made anew", async () => {
    const { kept, clock, attempts, ended } = given();
    kept.start();
    attempts[0]?.make();
    await kept.ready();
    kept.drop();
    expect(kept.current).toBeNull();
    let isReady = false;
    void kept.ready().then((answer) => (isReady = answer));
    await clock.advance(0);
    expect([isReady, ended()]).toEqual([false, 1]);
    await clock.advance(100);
    attempts[1]?.make();
    await clock.advance(0);
    expect(isReady).toBe(true);
    await kept.close();
  });

  it.each([
    ["does not answer", async ({ clock }: ReturnType<typeof given>) => await clock.advance(4999)],
    ["fails", async ({ checks }: ReturnType<typeof given>) => checks[1]?.reject(new Error("broken"))],
  ])(
    "is asked 5 seconds after it has answered whether it is still there, and dropped when it %s",
    async (_, wait) => {
      const all = given();
      const { kept, clock, attempts, checks, ended } = all;
      kept.start();
      attempts[0]?.make();
      await kept.ready();
      await clock.advance(4999);
      expect(checks).toHaveLength(0);
      await clock.advance(1);
      checks[0]?.resolve();
      await clock.advance(5000);
      expect([checks.length, kept.current]).toEqual([2, "connection 1"]);
      await wait(all);
      await clock.advance(1);
      expect([kept.current, ended()]).toEqual([null, 1]);
      await kept.close();
      expect(clock.timers).toBe(0);
    },
  );

  it("tells those who wait for it when it is closed: while it is made, while it pauses, and afterwards", async () => {
    for (const prepare of [
      async () => undefined,
      async ({ attempts, clock }: ReturnType<typeof given>) => {
        attempts[0]?.fail();
        await clock.advance(0);
      },
      async ({ attempts, kept }: ReturnType<typeof given>) => {
        attempts[0]?.make();
        await kept.ready();
      },
    ]) {
      const all = given();
      all.kept.start();
      await prepare(all);
      const waiting = all.kept.current === null ? all.kept.ready() : null;
      await all.kept.close();
      expect(await waiting).not.toBe(true);
      expect(await all.kept.ready()).toBe(false);
      await all.kept.attempted();
      expect([all.kept.current, all.clock.timers]).toEqual([null, 0]);
    }
  });
});
