// The service that the configuration here describes, for commands that talk to it: the one that runs, else one in this process.

import type { Config } from "../config/config.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import { localAddress } from "./local-address.ts";
import { buildServer } from "./server.ts";
import { explainStartFailure } from "./start-failure.ts";
import { isServed } from "../store/sqlite/inspection.ts";
import { readAddress } from "../store/sqlite/served-address.ts";

export interface LocalService {
  readonly url: string;
  /** Whether it runs in this process, and ends with `stop`. */
  readonly isInside: boolean;
  /** Lets go of it; one inside finishes what it can, and what it cannot goes on with the next start. */
  stop(): Promise<void>;
}

export interface InsideOptions {
  /** The service inside cannot go on; nothing more is answered. */
  readonly onFatal: (error: Error) => void;
  readonly processId: number;
}

/** Milliseconds that a server has to say that it is alive. */
const ANSWER_MS = 3_000;
/** Milliseconds that turns of a service inside get to end. */
const GRACE_MS = 2_000;
const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/**
 * Where the server of this configuration answers; `null` when none runs. With SQLite it is the one that has the data directory, wherever it
 * has said there that it listens; with PostgreSQL whatever Colloquy answers at the configured address. Rejects with an Error that says what
 * to do when one has the data directory and does not answer: whoever goes on without it would change what it has in memory.
 */
export async function findRunning({ server, databaseUrl }: Config): Promise<string | null> {
  if (databaseUrl !== null) {
    const url = server.port === 0 ? null : localAddress(server);
    return url !== null && (await answers(url)) ? url : null;
  }
  const { dataDirectory } = server;
  if (!isServed(dataDirectory)) return null;
  // Another service may answer where this one would by its configuration: it must not be given what is meant for this one.
  const url = readAddress(dataDirectory);
  if (url !== null && (await answers(url))) return url;
  const place = url === null ? "it has not said where it is" : `nothing answers at ${url}`;
  throw new Error(
    `A Colloquy server, or another colloquy chat, has the data directory ${dataDirectory}, and is not reached from here: ${place}. Say where it is with --url, or end it; with colloquy serve running, any number of them can talk at once.`,
  );
}

/** The running server, or one that is started in this process on a free loopback port; its log goes nowhere. */
export async function openLocalService(config: Config, options: InsideOptions): Promise<LocalService> {
  const running = await findRunning(config);
  if (running !== null) return { url: running, isInside: false, stop: () => Promise.resolve() };
  const inside: Config = {
    ...config,
    server: { ...config.server, host: "127.0.0.1", loopback: true, trustedProxies: [], port: 0 },
  };
  try {
    const server = await buildServer(inside, { logger: SILENT, isHidden: true, ...options });
    const { url } = await server.listen();
    return { url, isInside: true, stop: () => server.stop({ graceMs: GRACE_MS }) };
  } catch (error) {
    throw new Error(`The service cannot start: ${explainStartFailure(error, inside)}`, { cause: error });
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(ANSWER_MS) });
    const body: unknown = await answer.json();
    return answer.ok && typeof body === "object" && body !== null && "status" in body && body.status === "ok";
  } catch {
    return false;
  }
}
