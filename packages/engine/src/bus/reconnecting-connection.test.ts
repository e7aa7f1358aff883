import { describe, expect, it } from "vitest";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import { ReconnectingConnection, type EstablishedConnection } from "./reconnecting-connection.ts";

/** A connection that the test makes and breaks. */
function given() {
  const clock = new ManualClock();
  const checks: PromiseWithResolvers<void>[] = [];
  const attempts: { at: number; make(): void; fail(): void; break(): void }[] = [];
  const warnings: string[] = [];
  const logger: Logger = {
    debug() {},
    info() {},
    warn: (_details, message) => warnings.push(message),
    error() {},
  };
  let made = 0;
  let ended = 0;
  const connection = new ReconnectingConnection<string>({
    name: "a server",
    clock,
    logger,
    onConnected: () => (made += 1),
    connect: (signal) => {
      const { promise, resolve, reject } = Promise.withResolvers<EstablishedConnection<string>>();
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
  /** Starts, and fails the first attempts, each `ms` after the one before. */
  const startFailing = async (count: number, ms: number): Promise<void> => {
    connection.start();
    for (let attempt = 0; attempt < count; attempt += 1) {
      attempts[attempt]?.fail();
      await clock.advance(ms);
    }
  };
  const counts = { made: () => made, ended: () => ended };
  return { connection, clock, attempts, checks, warnings, startFailing, ...counts };
}

/** Expects doubling pauses between attempts that each ended at the next multiple of ten seconds. */
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

describe("ReconnectingConnection", () => {
  it("connects, and reconnects after a break", async () => {
    const { connection, clock, attempts, made, ended } = given();
    connection.start();
    attempts[0]?.make();
    expect(await connection.ready()).toBe(true);
    expect(connection.current).toBe("connection 1");
    attempts[0]?.break();
    await clock.advance(0);
    expect([connection.current, ended()]).toEqual([null, 1]);
    await clock.advance(100);
    attempts[1]?.make();
    expect(await connection.ready()).toBe(true);
    expect([connection.current, made()]).toEqual(["connection 2", 2]);
    await connection.close();
    expect([ended(), clock.timers]).toEqual([2, 0]);
  });

  it("backs off exponentially up to 5 seconds, half of it random", async () => {
    const { connection, clock, attempts } = given();
    connection.start();
    for (let attempt = 0; attempt < 12; attempt += 1) {
      attempts[attempt]?.fail();
      await clock.advance(10_000 - (clock.monotonic() % 10_000));
    }
    expect(attempts).toHaveLength(13);
    expectDoublingPauses(attempts);
    await connection.close();
  });

  it("warns once if the server is away from the start, and again after a break", async () => {
    const { connection, clock, attempts, warnings, startFailing } = given();
    await startFailing(3, 10_000);
    expect(warnings).toEqual([expect.stringMatching(/^the bus cannot connect and is retrying;/)]);
    attempts[3]?.make();
    expect(await connection.ready()).toBe(true);
    attempts[3]?.break();
    await clock.advance(10_000);
    attempts[4]?.fail();
    await clock.advance(10_000);
    expect(warnings).toHaveLength(2);
    await connection.close();
  });

  it("backs off when each connection is closed before it has answered", async () => {
    const { connection, clock, attempts, made } = given();
    connection.start();
    for (let attempt = 0; attempt < 12; attempt += 1) {
      attempts[attempt]?.make();
      await connection.ready();
      attempts[attempt]?.break();
      await clock.advance(10_000 - (clock.monotonic() % 10_000));
    }
    expect([attempts.length, made()]).toEqual([13, 12]);
    expectDoublingPauses(attempts);
    await connection.close();
  });

  it("resets the backoff once the connection has answered", async () => {
    const { connection, clock, attempts, checks, startFailing } = given();
    await startFailing(8, 5000);
    attempts[8]?.make();
    await connection.ready();
    await clock.advance(5000);
    checks[0]?.resolve();
    await clock.advance(0);
    attempts[8]?.break();
    await clock.advance(100);
    expect(attempts).toHaveLength(10);
    await connection.close();
  });

  it("is not ready from the moment it is dropped, and reconnects", async () => {
    const { connection, clock, attempts, ended } = given();
    connection.start();
    attempts[0]?.make();
    await connection.ready();
    connection.drop();
    expect(connection.current).toBeNull();
    let isReady = false;
    void connection.ready().then((answer) => (isReady = answer));
    await clock.advance(0);
    expect([isReady, ended()]).toEqual([false, 1]);
    await clock.advance(100);
    attempts[1]?.make();
    await clock.advance(0);
    expect(isReady).toBe(true);
    await connection.close();
  });

  it.each([
    ["times out", async ({ clock }: ReturnType<typeof given>) => await clock.advance(4999)],
    ["fails", async ({ checks }: ReturnType<typeof given>) => checks[1]?.reject(new Error("broken"))],
  ])("checks the connection 5 seconds after each answer, and drops it when the check %s", async (_, wait) => {
    const all = given();
    const { connection, clock, attempts, checks, ended } = all;
    connection.start();
    attempts[0]?.make();
    await connection.ready();
    await clock.advance(4999);
    expect(checks).toHaveLength(0);
    await clock.advance(1);
    checks[0]?.resolve();
    await clock.advance(5000);
    expect([checks.length, connection.current]).toEqual([2, "connection 1"]);
    await wait(all);
    await clock.advance(1);
    expect([connection.current, ended()]).toEqual([null, 1]);
    await connection.close();
    expect(clock.timers).toBe(0);
  });

  it("resolves its waiters when closed while connecting, while pausing, and after connecting", async () => {
    for (const prepare of [
      async () => undefined,
      async ({ attempts, clock }: ReturnType<typeof given>) => {
        attempts[0]?.fail();
        await clock.advance(0);
      },
      async ({ attempts, connection }: ReturnType<typeof given>) => {
        attempts[0]?.make();
        await connection.ready();
      },
    ]) {
      const all = given();
      all.connection.start();
      await prepare(all);
      const waiting = all.connection.current === null ? all.connection.ready() : null;
      await all.connection.close();
      expect(await waiting).not.toBe(true);
      expect(await all.connection.ready()).toBe(false);
      await all.connection.attempted();
      expect([all.connection.current, all.clock.timers]).toEqual([null, 0]);
    }
  });
});
