// Sends a note and waits for it, over what carries the notes of nodes, where no node hears it.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { NatsTransport } from "../bus/nats-transport.ts";
import { PostgresTransport } from "../bus/postgres-transport.ts";
import type { Transport } from "../bus/transport.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { Logger } from "../core/ports/logger.ts";
import { failed, type Finding, ok } from "./finding.ts";

const APART = "colloquy_doctor";
/** Milliseconds for the note to go round, connecting included. */
const PATIENCE_MS = 5000;

export interface BusPlace {
  readonly databaseUrl: string;
  /** `null` where the database carries the notes. */
  readonly natsUrl: string | null;
}

/** `clock` must have timers that keep the process alive, or something else must. */
export async function examineBus({ databaseUrl, natsUrl }: BusPlace, clock: Clock): Promise<Finding> {
  const problems: unknown[] = [];
  const shared = { clock, logger: collecting(problems) };
  const create = (): Transport =>
    natsUrl === null
      ? new PostgresTransport({ url: databaseUrl, channel: APART, ...shared })
      : new NatsTransport({ url: natsUrl, namespace: APART, ...shared });
  const name = natsUrl === null ? "LISTEN and NOTIFY of the database" : "NATS";
  try {
    const ms = await roundTrip(create(), create(), clock);
    if (ms !== null) return ok("bus", `A note went round over ${name} in ${Math.ceil(ms)} ms.`);
  } catch (error) {
    problems.push(error);
  }
  const mend =
    natsUrl === null
      ? "Notes need a connection that stays: let COLLOQUY_DATABASE_URL name the server, and not a pool that gives each transaction another one."
      : "See that the server runs, that COLLOQUY_NATS_URL is right, and that its user may publish and subscribe to colloquy.>.";
  return failed(
    "bus",
    `No note went round over ${name}: nodes work all the same, but hear of each other late`,
    problems.at(-1) ?? new Error(`nothing came for ${PATIENCE_MS / 1000} seconds`),
    mend,
  );
}

/** Milliseconds, `null` when nothing came in time. */
async function roundTrip(sender: Transport, hearer: Transport, clock: Clock): Promise<number | null> {
  const [text, sessionId] = [randomUUID(), randomUUID()];
  const heard = Promise.withResolvers<number>();
  const given = new AbortController();
  sender.start({ onText: () => undefined, onResumed: () => undefined });
  hearer.start({
    onText: (found) => {
      if (found === text) heard.resolve(clock.monotonic());
    },
    onResumed: () => undefined,
  });
  const go = async (): Promise<number | null> => {
    await Promise.all([sender.ready(), hearer.ready()]);
    await hearer.follow(sessionId);
    const sentAt = clock.monotonic();
    await sender.send([{ sessionId, text }]);
    return (await heard.promise) - sentAt;
  };
  try {
    return await Promise.race([go(), sleep(PATIENCE_MS, null, { signal: given.signal })]);
  } finally {
    given.abort();
    await Promise.all([sender.close(), hearer.close()]);
  }
}

/** Errors that the transports would log are what the person is told. */
function collecting(problems: unknown[]): Logger {
  const note = (fields: object): void => {
    if ("err" in fields) problems.push(fields.err);
  };
  return { debug: note, info: () => undefined, warn: note, error: note };
}
