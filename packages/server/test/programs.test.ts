import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { pathOfChromium } from "../../../test/browser/chromium.ts";
import { installedPostgres } from "./postgres-programs.ts";
import { findProgram, isWithout } from "./programs.ts";

describe("findProgram", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "colloquy-path-"));
    vi.stubEnv("COLLOQUY_TEST_WITHOUT", "");
    vi.stubEnv("PATH", `${folder}${delimiter}${process.env["PATH"]}`);
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await rm(folder, { recursive: true });
  });

  it("returns the first executable on the path", async () => {
    const own = await script("sh", "exit 0");
    expect(await findProgram("sh")).toBe(own);
    await chmod(own, 0o644);
    expect(await findProgram("sh")).not.toBe(own);
    expect(await findProgram("no-such-program")).toBeNull();
    expect(await isWithout("sh", "no-such-program")).toBe(true);
    expect(await isWithout("sh")).toBe(false);
  });

  it("skips Debian's wrapper of a PostgreSQL client that is not installed", async () => {
    vi.stubEnv("PATH", folder);
    for (const name of ["psql", "pg_isready", "pg_dump"]) {
      const wrapper = await script(name, 'echo "Error: You must install a client" >&2; exit 1');
      expect(await findProgram(name)).toBeNull();
      await writeFile(wrapper, "#!/bin/sh\nexit 0\n");
      expect(await findProgram(name)).toBe(wrapper);
    }
  });

  it("returns null for the programs in COLLOQUY_TEST_WITHOUT", async () => {
    await script("nginx", "exit 0");
    await script("chromium", "exit 0");
    vi.stubEnv(
      "COLLOQUY_TEST_WITHOUT",
      "initdb nginx chromium chromium-browser google-chrome google-chrome-stable",
    );
    expect(await findProgram("nginx")).toBeNull();
    expect(await pathOfChromium()).toBeNull();
    expect(await installedPostgres()).toBeNull();
    expect(await isWithout("sh")).toBe(false);
  });

  async function script(name: string, does: string): Promise<string> {
    const path = join(folder, name);
    await writeFile(path, `#!/bin/sh\n${does}\n`, { mode: 0o755 });
    return path;
  }
});
