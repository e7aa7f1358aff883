// Measures a round trip of a notification over the bus, on a separate channel that no node listens to.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { NatsTransport } from "../bus/nats-transport.ts";
import { PostgresTransport } from "../bus/postgres-transport.ts";
import type { Transport } from "../bus/transport.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import { failed, type Finding, ok } from "./finding.ts";

const TEST_CHANNEL = "colloquy_doctor";
/** Time limit in milliseconds, including connecting. */
const TIMEOUT_MS = 5000;

/** Checks the bus: NATS, or the database without `natsUrl`. The caller must keep the process alive. */
export async function examineBus(
  databaseUrl: string,
  natsUrl: string | null,
  clock: Clock,
): Promise<Finding> {
  const problems: unknown[] = [];
  const shared = { clock, logger: collecting(problems) };
  const create = (): Transport =>
    natsUrl === null
      ? new PostgresTransport({ url: databaseUrl, channel: TEST_CHANNEL, ...shared })
      : new NatsTransport({ url: natsUrl, namespace: TEST_CHANNEL, ...shared });
  const name = natsUrl === null ? "LISTEN and NOTIFY of the database" : "NATS";
  try {
    const ms = await roundTrip(create(), create(), clock);
    if (ms !== null) return ok("bus", `A notification over ${name} took ${Math.ceil(ms)} ms.`);
  } catch (error) {
    problems.push(error);
  }
  const mend =
    natsUrl === null
      ? "Notifications need a persistent connection: point COLLOQUY_DATABASE_URL at the server, not at a transaction-mode connection pool."
      : "Check that the server runs, that COLLOQUY_NATS_URL is right, and that its user may publish and subscribe to colloquy.>.";
  return failed(
    "bus",
    `No notification arrived over ${name}: nodes still work, but notice each other's changes late`,
    problems.at(-1) ?? new Error(`nothing arrived within ${TIMEOUT_MS / 1000} seconds`),
    mend,
  );
}

/** Returns the milliseconds of a round trip, or `null` after a timeout. */
async function roundTrip(sender: Transport, receiver: Transport, clock: Clock): Promise<number | null> {
  const [text, sessionId] = [randomUUID(), randomUUID()];
  const received = Promise.withResolvers<number>();
  const timeout = new AbortController();
  sender.start({ onText: () => undefined, onResumed: () => undefined });
  receiver.start({
    onText: (found) => {
      if (found === text) received.resolve(clock.monotonic());
    },
    onResumed: () => undefined,
  });
  const measure = async (): Promise<number | null> => {
    await Promise.all([sender.ready(), receiver.ready()]);
    await receiver.follow(sessionId);
    const sentAt = clock.monotonic();
    await sender.send([{ sessionId, text }]);
    return (await received.promise) - sentAt;
  };
  try {
    return await Promise.race([measure(), sleep(TIMEOUT_MS, null, { signal: timeout.signal })]);
  } finally {
    timeout.abort();
    await Promise.all([sender.close(), receiver.close()]);
  }
}

/** Returns a logger that collects the errors of the transports for the finding. */
function collecting(problems: unknown[]): Logger {
  const collect = (fields: object): void => {
    if ("err" in fields) problems.push(fields.err);
  };
  return { debug: collect, info: () => undefined, warn: collect, error: collect };
}
