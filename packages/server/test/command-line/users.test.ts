// `colloquy users` asks the running server.

import { randomBytes } from "node:crypto";
import { appendFile, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@colloquy/client";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { Issuer } from "../issuer.ts";
import { Service } from "./service.ts";

const ADMIN_KEY = "command-line-admin-key-0123456789";

interface Logged {
  readonly erased: { readonly at: string; readonly owner: string | null };
}

let issuer: Issuer;
let service: Service;
/** Log lines of erasures. */
let logged: Logged[] = [];
beforeAll(async () => {
  issuer = await Issuer.start();
  service = await Service.start({
    config: { apps: { default: { users: { issuer: issuer.url, audience: "here" } } } },
    environment: { COLLOQUY_ADMIN_KEY: ADMIN_KEY },
    logger: {
      debug() {},
      info() {},
      warn: (fields) => void ("erased" in fields && logged.push(fields as Logged)),
      error() {},
    },
  });
});
beforeEach(() => void (logged = []));
afterAll(async () => {
  await service.remove();
  await issuer.stop();
});

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

it("erases again, after a restore, the users that the log reports as erased since the backup", async () => {
  const [before, after, other] = [
    await walletWithSession(),
    await walletWithSession(),
    await walletWithSession(),
  ];
  const ada = createClient({ baseUrl: service.url, token: () => issuer.token("ada", "here") });
  await ada.session().send("count to 2", { wait: true });
  await ada.eraseUser();
  await run("erase", "--wallet", after);
  const log = join(service.directory, "colloquy.log");
  const old = { ...logged[0]!.erased, at: "2026-01-01T00:00:00.000Z", owner: null, public_key: before };
  const lines = [{ erased: old }, ...logged, ...logged, { erased: "by somebody", msg: other }];
  // As `docker compose logs` and `journalctl` print them.
  const prefixes = ["", "node-1  | ", "Nov 29 17:00:00 host colloquy[42]: "];
  const printed = lines.map((line, index) => `${prefixes[index % 3]}${JSON.stringify(line)}`);
  await writeFile(log, `no JSON\n${printed.join("\n")}`);
  // As if a backup had brought them back.
  await ada.session().send("count to 2", { wait: true });
  await service.client.session().send("count to 2", { wait: true, publicKey: after });
  const { code, output } = await run("erase-again", log, "--since", "2026-01-02");
  expect([code, output]).toEqual([0, "Erased again: 2 users or wallets, with 2 sessions.\n"]);
  const left = async (wallet: string) => (await service.client.listThreads(wallet)).threads.length;
  expect([await left(before), await left(after), await left(other)]).toEqual([1, 0, 1]);
  expect((await ada.listThreads(undefined)).threads).toEqual([]);
  const missing = await run("erase-again", `${log}.none`, "--since", "2026-01-02");
  expect([missing.code, missing.errors]).toEqual([
    1,
    expect.stringContaining("Name the log of the service."),
  ]);
  await appendFile(log, `\n${JSON.stringify(logged[0]).slice(0, -3)}`);
  const cut = await run("erase-again", log, "--since", "2026-01-02");
  expect([cut.code, cut.errors]).toEqual([1, expect.stringMatching(/Line 8 of .* is not JSON/)]);
  const wrapped = join(service.directory, "wrapped.log");
  await writeFile(wrapped, JSON.stringify({ log: JSON.stringify(logged[0]) }));
  const nested = await run("erase-again", wrapped, "--since", "2026-01-02");
  expect([nested.code, nested.errors]).toEqual([1, expect.stringContaining("journalctl --output=cat")]);
  const when = await run("erase-again", log, "--since", "yesterday");
  expect([when.code, when.errors]).toEqual([2, expect.stringContaining("is not a time such as")]);
});

it("rejects missing and invalid options with a message", async () => {
  for (const parameters of [[], ["--issuer", "https://x"], ["--wallet", "0xa", "--subject", "y"]]) {
    const { code, errors } = await run("erase", ...parameters);
    expect([code, errors]).toEqual([
      2,
      "Colloquy: Name the user or wallet: --issuer URL with --subject ID, or --wallet ADDRESS.\n",
    ]);
  }
  const keyless = await service.command(["users", "erase", "--wallet", "0xa"], { COLLOQUY_ADMIN_KEY: "" });
  expect(keyless.errors).toMatch(/Set COLLOQUY_ADMIN_KEY/);
});
