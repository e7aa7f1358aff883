import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import type { Config } from "../../../../server/src/config/config.ts";
import { ManualClock } from "../../../../server/test/manual-clock.ts";
import { startService, type TestService } from "../../../../server/test/service.ts";

type Adjust = (config: Config) => Config;

export interface RestartableService {
  readonly clock: ManualClock;
  /** Kills or closes the service, and starts it again on the same directory. */
  readonly restart: (adjust?: Adjust, end?: "crash" | "close") => Promise<void>;
}

/** Starts a service for each test, and stops it after the test. `onStart` is called with each started service. */
export function useRestartableService(onStart: (service: TestService) => void): RestartableService {
  const clock = new ManualClock();
  let directory: string;
  let service: TestService;
  async function start(adjust: Adjust = (config) => config): Promise<void> {
    service = await startService({ directory, clock, adjust });
    onStart(service);
  }
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "colloquy-"));
    await start();
  });
  afterEach(async () => {
    await service.close();
    await rm(directory, { recursive: true });
  });
  const restart: RestartableService["restart"] = async (adjust, end = "crash") => {
    await service[end]();
    await start(adjust);
  };
  return { clock, restart };
}
