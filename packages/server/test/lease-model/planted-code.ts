// The service's own code with a fault planted in a copy of its sources. Unlike the torture's copies, it is
// not started, so the sources suffice.

import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { replaceOnce, type Replacement } from "../../torture/plants.ts";
import { loadServiceCode, type ServiceCode } from "./service-code.ts";

/** `sources` is the engine's `src`, `modules` the folder of its dependencies. */
export async function loadPlantedCode(
  sources: string,
  modules: string,
  planted: Replacement,
): Promise<ServiceCode> {
  const copy = await mkdtemp(join(tmpdir(), "colloquy-planted-"));
  try {
    await cp(sources, join(copy, "src"), { recursive: true });
    await cp(join(sources, "..", "package.json"), join(copy, "package.json"));
    await symlink(modules, join(copy, "node_modules"));
    const file = join(copy, "src", planted.file);
    await writeFile(file, replaceOnce(await readFile(file, "utf8"), planted));
    return await loadServiceCode(join(copy, "src"));
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}
