// What `npm ci` takes of a disk, and that a service starts and answers from what `npm ci --omit=dev` installs.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, expect, it } from "vitest";
import { BARE_ENVIRONMENT } from "../packages/server/test/bare-environment.ts";
import { copyClone, install, MOST_MEGABYTES } from "../scripts/stats/installations.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "colloquy-install-"));
  await copyClone(folder);
});
afterEach(() => rm(folder, { recursive: true }));

it("installs at most 500 MB for contributors, beside Node", { timeout: 300_000 }, async () => {
  expect(await install(folder, "npm ci")).toBeLessThanOrEqual(MOST_MEGABYTES["npm ci"]);
});

it("installs at most 200 MB for a service, beside Node, which answers a chat", {
  timeout: 300_000,
}, async () => {
  expect(await install(folder, "npm ci --omit=dev")).toBeLessThanOrEqual(MOST_MEGABYTES["npm ci --omit=dev"]);
  const service = spawn(join(folder, "node_modules/.bin/node"), ["packages/server/src/main.ts"], {
    cwd: folder,
    env: { ...BARE_ENVIRONMENT, HOST: "127.0.0.1", PORT: "0" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    let address: string | undefined;
    for await (const line of createInterface({ input: service.stdout })) {
      address = /"address":"([^"]+)"/.exec(line)?.[1];
      if (address !== undefined) break;
    }
    service.stdout.resume();
    const response = await fetch(`${address}/api/chat?message=${encodeURIComponent("what is 6*7")}`, {
      method: "POST",
      headers: { "X-Session-Id": crypto.randomUUID(), Prefer: "wait=20" },
    });
    expect(await response.text()).toContain("42");
  } finally {
    const ended = once(service, "exit");
    service.kill();
    await ended;
  }
});
