// Finds the service of the local configuration for commands that talk to it, or starts one in this process.

import type { Config } from "../config/config.ts";
import { boundResponses } from "@colloquy/engine/internal/core/bounded-body";
import type { Logger } from "@colloquy/engine/internal/core/ports/driven/logger";
import { buildServer, localAddress } from "./server.ts";
import { explainStartFailure } from "./start-messages.ts";
import { isServed } from "@colloquy/engine/internal/store/sqlite/inspection";
import { readAddress } from "@colloquy/engine/internal/store/sqlite/served-address";

export interface LocalService {
  readonly url: string;
  /** True if the service runs in this process. */
  readonly isInProcess: boolean;
  /**
   * Stops a service that runs in this process; its unfinished turns resume at the next start. Does nothing
   * for another service.
   */
  stop(): Promise<void>;
}

/** Timeout of the liveness probe in milliseconds. */
const ANSWER_MS = 3_000;
const ANSWER_BYTES = 65_536;
/** Grace period of a service in this process in milliseconds. */
const GRACE_MS = 2_000;
const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/**
 * Returns the URL of the running server of this configuration, or `null` if none runs. With SQLite, that is
 * the server that uses the data directory; with a shared backend, any Colloquy at the configured address. Rejects
 * with a user-facing message if a server uses the data directory and does not respond, because changes beside
 * it would bypass its memory.
 */
export async function findRunning({ server, backend }: Config): Promise<string | null> {
  if (backend.plugin.nodes !== undefined) {
    const url = server.port === 0 ? null : localAddress(server);
    return url !== null && (await answers(url)) ? url : null;
  }
  const { dataDirectory } = server;
  if (!isServed(dataDirectory)) return null;
  // Another service may listen at the configured address, so only the recorded address counts.
  const url = readAddress(dataDirectory);
  if (url !== null && (await answers(url))) return url;
  const place = url === null ? "it has not said where it is" : `nothing answers at ${url}`;
  throw new Error(
    `A Colloquy server, or another colloquy chat, has the data directory ${dataDirectory}, and is not reached from here: ${place}. Say where it is with --url, or end it; with colloquy serve running, any number of them can talk at once.`,
  );
}

/**
 * Returns the running server, or starts one in this process on a free loopback port, without a log. If the
 * store can no longer be trusted, ends the process with an uncaught error. `processId` is shown to a second
 * server on the same data directory.
 */
export async function openLocalService(config: Config, processId: number): Promise<LocalService> {
  const running = await findRunning(config);
  if (running !== null) return { url: running, isInProcess: false, stop: () => Promise.resolve() };
  const inside: Config = {
    ...config,
    server: { ...config.server, host: "127.0.0.1", loopback: true, trustedProxies: [], port: 0 },
  };
  try {
    const onFatal = (error: Error): never => {
      throw error;
    };
    const server = await buildServer(inside, { logger: SILENT, isPrivate: true, onFatal, processId });
    const { url } = await server.listen();
    return { url, isInProcess: true, stop: () => server.stop({ graceMs: GRACE_MS }) };
  } catch (error) {
    throw new Error(`The service cannot start: ${explainStartFailure(error, inside)}`, { cause: error });
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    const tooLarge = (): Error => new Error("This is another program.");
    const fetchBounded = boundResponses(fetch, () => ({ maxBytes: ANSWER_BYTES, tooLarge }));
    const answer = await fetchBounded(`${url}/healthz`, { signal: AbortSignal.timeout(ANSWER_MS) });
    const body: unknown = await answer.json();
    return answer.ok && typeof body === "object" && body !== null && "status" in body && body.status === "ok";
  } catch {
    return false;
  }
}
