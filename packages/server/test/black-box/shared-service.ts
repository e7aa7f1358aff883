// The service that the black-box suites share: as it is without a configuration.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StartedProgram } from "../../../../test/shared-programs.ts";
import { createProcesses } from "./processes.ts";

export async function startSharedService(isOnNats: boolean): Promise<StartedProgram> {
  const directory = await mkdtemp(join(tmpdir(), "colloquy-black-box-"));
  const processes = createProcesses(isOnNats);
  const stop = async (): Promise<void> => {
    try {
      await processes.remove();
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  };
  try {
    await processes.start({}, directory);
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
  return { address: processes.url, stop };
}
