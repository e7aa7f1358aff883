// An erasure reaches every table: a canary, the user's pseudonym and the keys of their sessions are in all
// that hold data of users, and afterwards in none. `npm run test:nodes` runs this on three nodes too. A new
// table must be listed here.

import { createHash } from "node:crypto";
import { globSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { withTables } from "../../src/moving/database-address.ts";
import { Issuer } from "../issuer.ts";
import { newSession, send, type Call } from "./client.ts";
import { Program } from "./server.ts";

const ADMIN_KEY = "admin-key-of-the-tables-test";
const CANARY = "CANARY-51c0de";

/** Tables without rows of a user, and why. All others have the column `session_key`, or are in `EXPECTED`. */
const NOT_OF_USERS: Readonly<Record<string, string>> = {
  app_keys: "keys of Apps and operators",
  audit: "names users by pseudonyms whose salt is gone",
  deleted_sessions: "ids of deleted sessions, for ten minutes",
  duties: "jobs of the nodes",
  handle_key: "key of the session handles in the log",
  revoked_tokens: "digests of tokens, until they expire",
  secret_key_in_force: "id of the master key",
  unused_blobs:
    "names of bytes to remove from the file store, with the name of an App; of an upload in progress also the owner or session",
};

/** Where the traces of a user are before the erasure. */
const EXPECTED = {
  canary: [
    "actions",
    "events",
    "files",
    "idempotency_keys",
    "messages",
    "sessions",
    "steps",
    "system_events",
  ],
  owner: ["audit_salts", "events", "secrets", "sessions", "turns"],
};

let issuer: Issuer;
let program: Program;
beforeAll(async () => {
  issuer = await Issuer.start();
  const users = { issuer: issuer.url, audience: "here" };
  const secrets = [{ name: "API_KEY", description: "A key" }];
  program = await Program.start(
    { apps: { shop: { users, secrets, models: ["demo/assistant"], tools: ["ask_user", "calculator"] } } },
    { COLLOQUY_ADMIN_KEY: ADMIN_KEY },
  );
});
afterAll(async () => {
  await program.remove();
  await issuer.stop();
});

interface StoredTable {
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

/** Reads all rows of all tables. */
async function stored(): Promise<readonly StoredTable[]> {
  const url = program.environment["COLLOQUY_DATABASE_URL"];
  const directory = join(program.directory, "data");
  const address =
    url === undefined ? ({ kind: "sqlite", directory } as const) : ({ kind: "postgres", url } as const);
  return await withTables(address, { access: "beside", at: Date.now() }, (store) =>
    store.read(async (reader) => {
      const found: StoredTable[] = [];
      for (const table of store.tables) {
        const rows = await reader.extract(table, { after: null, rows: 10_000, characters: 10_000_000 });
        found.push({ name: table.name, columns: table.columns.map(({ name }) => name), rows });
      }
      return found;
    }),
  );
}

const namesOf = (tables: readonly StoredTable[]) => tables.map(({ name }) => name).toSorted();
const tablesWith = (tables: readonly StoredTable[], text: string) =>
  namesOf(tables.filter(({ rows }) => JSON.stringify(rows).includes(text)));

/** Returns the tables with rows of the sessions. */
function tablesOf(tables: readonly StoredTable[], keys: readonly unknown[]): readonly string[] {
  return namesOf(
    tables.filter(({ columns, rows }) => {
      const at = columns.indexOf("session_key");
      return at >= 0 && rows.some((row) => keys.includes(row[at]));
    }),
  );
}

describe("an erasure", () => {
  it("leaves no trace of the user in any table", async () => {
    const headers = { Authorization: `Bearer ${await issuer.token("erin", "here")}` };
    const owner = createHash("sha256")
      .update(JSON.stringify([issuer.url, "erin"]))
      .digest("base64url");
    const ask = async (method: string, path: string, session: string, call: Call = {}) => {
      const answer = await send(program.url, method, path, {
        session,
        ...call,
        headers: { ...headers, ...call.headers },
      });
      expect(answer.status).toBe(200);
      return answer;
    };
    const [asking, running] = [newSession(), newSession()];
    const chat = (session: string, message: string, more: object = {}, wait = 20) =>
      ask("POST", "/api/chat", session, {
        headers: { Prefer: `wait=${wait}`, "Idempotency-Key": `${CANARY} ${message}` },
        json: { message, app: "shop", ...more },
      });
    await ask("PUT", "/api/secrets?app=shop", asking, { json: { API_KEY: `secret ${CANARY}` } });
    const uploaded = await ask("POST", `/api/files?app=shop&name=${CANARY}.txt`, asking, {
      body: CANARY,
      headers: { "Content-Type": "text/plain" },
    });
    const attachments = [(uploaded.json() as { id: string }).id];
    const bytes = () => globSync("data/files/shop/*/*", { cwd: program.directory });
    expect(bytes()).toHaveLength(1);
    await chat(asking, CANARY, { attachments, user_state: { note: CANARY }, public_key: `0x${CANARY}` });
    await chat(asking, `use the tool calculator with {"expression":"1 + 1"}`);
    await ask("PATCH", `/api/sessions/${asking}`, asking, { json: { title: CANARY } });
    await chat(asking, `use the tool ask_user with {"question":"${CANARY}?"}`);
    await chat(running, "count to 10000", {}, 0);
    // Gives the user a pseudonym.
    await ask("GET", "/api/users/me/export?app=shop", asking);

    const before = await stored();
    const ofSessions = before.filter(({ columns }) => columns.includes("session_key"));
    const known = [...namesOf(ofSessions), ...EXPECTED.owner, ...Object.keys(NOT_OF_USERS)];
    expect(namesOf(before).filter((name) => !known.includes(name))).toEqual([]);
    const sessions = before.find(({ name }) => name === "sessions")!;
    const at = (column: string) => sessions.columns.indexOf(column);
    const keys = sessions.rows
      .filter((row) => [asking, running].includes(String(row[at("id")])))
      .map((row) => row[at("key")]);
    expect(keys).toHaveLength(2);
    // Title jobs may have ended already. No conversation here is long enough for a summary.
    const withRows = namesOf(ofSessions).filter((name) => name !== "title_jobs" && name !== "summary_jobs");
    await expect.poll(async () => tablesOf(await stored(), keys)).toEqual(expect.arrayContaining(withRows));
    const full = await stored();
    expect(tablesWith(full, CANARY)).toEqual(EXPECTED.canary);
    expect(tablesWith(full, owner)).toEqual(EXPECTED.owner);

    const erased = await ask("DELETE", "/api/users/me?app=shop", asking);
    expect(erased.json()).toMatchObject({ sessions: 2, secrets: 1 });
    const after = await stored();
    expect(tablesOf(after, keys)).toEqual([]);
    expect(bytes()).toEqual([]);
    expect(tablesWith(after, CANARY)).toEqual([]);
    expect(tablesWith(after, owner)).toEqual([]);
  });
});
