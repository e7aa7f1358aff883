// Measures a round trip of a notification over the bus, on a separate channel that no node listens to.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { openTransport } from "@colloquy/engine/internal/wiring/storage";
import type { StorageConfig } from "@colloquy/engine/internal/config/backends";
import type { Transport } from "@colloquy/engine/internal/core/ports/driven/transport";
import type { Clock } from "@colloquy/engine/internal/core/ports/driven/clock";
import type { Logger } from "@colloquy/engine/internal/core/ports/driven/logger";
import { failed, type Finding, ok } from "@colloquy/engine/internal/core/finding";

const TEST_CLUSTER = "colloquy_doctor";
/** Time limit in milliseconds, including connecting. */
const TIMEOUT_MS = 5000;

/** Checks the transport between nodes. The caller must keep the process alive. */
export async function examineBus(config: StorageConfig, clock: Clock): Promise<Finding> {
  const problems: unknown[] = [];
  const context = { cluster: TEST_CLUSTER, clock, logger: collecting(problems) };
  const { backend, transport } = config;
  const { name } = (transport ?? backend).plugin;
  try {
    const [sender, receiver] = [await openTransport(config, context), await openTransport(config, context)];
    const ms = await roundTrip(sender, receiver, clock);
    if (ms !== null) return ok("bus", `A notification over ${name} took ${Math.ceil(ms)} ms.`);
  } catch (error) {
    problems.push(error);
  }
  const { remedy = "Check its settings and its server." } = transport?.plugin ?? backend.plugin.nodes ?? {};
  return failed(
    "bus",
    `No notification arrived over ${name}: nodes still work, but notice each other's changes late`,
    problems.at(-1) ?? new Error(`nothing arrived within ${TIMEOUT_MS / 1000} seconds`),
    remedy,
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
