// Writes server.env, the secrets of server.ts, unless it exists: a key for the App `support`, and what signs the cookie.

import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";

const FILE = "server.env";

if (!existsSync(FILE)) {
  const create = ["keys", "create", "--app", "support", "--json"];
  const { key } = JSON.parse(execFileSync("colloquy", create, { encoding: "utf8" })) as { key: string };
  const secret = randomBytes(32).toString("base64");
  writeFileSync(FILE, `COLLOQUY_KEY=${key}\nSESSION_SECRET=${secret}\n`, { mode: 0o600 });
  console.log(`Wrote ${FILE}.`);
}
