// Creates server.env with the secrets of server.ts, unless it exists: a key of the App `support`, and the secret that
// signs the login cookie.

import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";

const FILE = "server.env";

if (!existsSync(FILE)) {
  const scopes = ["chat", "read", "act_as"].flatMap((scope) => ["--scope", scope]);
  const create = ["keys", "create", "--app", "support", "--json", ...scopes];
  const { key } = JSON.parse(execFileSync("colloquy", create, { encoding: "utf8" })) as { key: string };
  const secret = randomBytes(32).toString("base64");
  writeFileSync(FILE, `COLLOQUY_KEY=${key}\nSESSION_SECRET=${secret}\n`, { mode: 0o600 });
  console.log(`Wrote ${FILE}.`);
}
