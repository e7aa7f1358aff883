// `colloquy users` asks the running server.

import { randomBytes } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Service } from "./service.ts";

const ADMIN_KEY = "command-line-admin-key-0123456789";

let service: Service;
beforeAll(async () => {
  service = await Service.start({ environment: { COLLOQUY_ADMIN_KEY: ADMIN_KEY } });
});
afterAll(() => service.remove());

const run = (...parameters: readonly string[]) =>
  service.command(["users", ...parameters], { COLLOQUY_ADMIN_KEY: ADMIN_KEY });

async function walletWithSession(): Promise<string> {
  const publicKey = `0x${randomBytes(20).toString("hex")}`;
  const session = service.client.session();
  await session.send("count to 2", { wait: true, publicKey });
  session.stop();
  return publicKey;
}

it("exports to standard output and to a private file, and erases for good", async () => {
  const wallet = await walletWithSession();
  const { code, output } = await run("export", "--wallet", wallet);
  const kinds = output
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as { kind: string }).kind);
  expect([code, kinds]).toEqual([0, ["session", "message", "message", "done"]]);
  const file = join(service.directory, "wallet.jsonl");
  expect(await run("export", "--wallet", wallet, "--out", file)).toMatchObject({ code: 0, output: "" });
  expect(await readFile(file, "utf8")).toBe(output);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const erased = await run("erase", "--wallet", wallet);
  expect(erased.output).toBe("Erased: 1 sessions with 2 messages, and 0 secrets.\n");
  const again = await run("erase", "--wallet", wallet, "--json");
  expect(JSON.parse(again.output)).toEqual({ sessions: 0, messages: 0, secrets: 0 });
  expect((await service.client.listThreads(wallet)).threads).toEqual([]);
});

it("says what is missing or wrong", async () => {
  for (const parameters of [[], ["--issuer", "https://x"], ["--wallet", "0xa", "--subject", "y"]]) {
    const { code, errors } = await run("erase", ...parameters);
    expect([code, errors]).toEqual([
      2,
      "Colloquy: Choose whose: either --issuer URL with --subject ID, or --wallet ADDRESS.\n",
    ]);
  }
  const keyless = await service.command(["users", "erase", "--wallet", "0xa"], { COLLOQUY_ADMIN_KEY: "" });
  expect(keyless.errors).toMatch(/Set COLLOQUY_ADMIN_KEY/);
});
