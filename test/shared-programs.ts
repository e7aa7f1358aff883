// Programs that test files share. Vitest's own process starts each when the first test file asks for it, and stops it after the last file.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface StartedProgram {
  readonly address: string;
  stop(): Promise<void>;
}

/** Loaded on demand: a run of one unit test needs none of them. */
const PROGRAMS = {
  chromium: async () => await (await import("./browser/chromium.ts")).startSharedChromium(),
  postgres: async () =>
    await (await import("../packages/server/test/postgres-server.ts")).startSharedPostgres(),
  service: () => startService(false),
  /** On several nodes, NATS carries the notifications. With one process it equals `service`. */
  serviceOnNats: () => startService(true),
} satisfies Readonly<Record<string, () => Promise<StartedProgram>>>;

export type SharedProgram = keyof typeof PROGRAMS;

/** Variable with the URL at which test files request a program. */
const ADDRESS = "COLLOQUY_TEST_SHARED";

/** Called by Vitest before the first test file; test files get its environment. Returns what Vitest calls after the last one. */
export async function setup(): Promise<() => Promise<void>> {
  const started = new Map<string, Promise<StartedProgram>>();
  const server = createServer((request, response) => {
    const name = (request.url ?? "").slice(1) as SharedProgram;
    const program = started.get(name) ?? start(name);
    started.set(name, program);
    program.then(
      ({ address }) => response.end(address),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  process.env[ADDRESS] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return async () => {
    server.close();
    server.closeAllConnections();
    const programs = await Promise.allSettled(started.values());
    // Waits for all of them even if one fails, because the process ends with the first error.
    const stopped = await Promise.allSettled(
      programs.flatMap((program) => (program.status === "fulfilled" ? program.value.stop() : [])),
    );
    const failures = stopped.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
    if (failures.length > 0) throw new AggregateError(failures, "Shared programs did not stop.");
  };
}

async function startService(isOnNats: boolean): Promise<StartedProgram> {
  const { startSharedService } = await import("../packages/server/test/black-box/shared-service.ts");
  return await startSharedService(isOnNats);
}

async function start(name: SharedProgram): Promise<StartedProgram> {
  return await PROGRAMS[name]();
}

/** Returns the address of a program, which is started if it does not run yet. */
export async function addressOf(program: SharedProgram): Promise<string> {
  const response = await fetch(`${process.env[ADDRESS]}/${program}`);
  const text = await response.text();
  if (!response.ok) throw new Error(`The shared ${program} did not start: ${text}`);
  return text;
}
