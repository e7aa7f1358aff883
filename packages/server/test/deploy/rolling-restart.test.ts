// Three nodes on one PostgreSQL behind nginx, restarted one after another under load.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findFreePort, ServerProcess } from "../../torture/harness/server-process.ts";
import { newSession, send, state, type Answer } from "../black-box/client.ts";
import { isWithoutPostgres } from "../postgres-server.ts";
import { usePostgres } from "../use-postgres.ts";
import { isWithout } from "../programs.ts";
import { ROOT } from "./dockerfile.ts";
import { Nginx } from "./nginx.ts";

const MAIN = join(ROOT, "packages/server/src/main.ts");
const CLIENTS = 6;
const isLeftOut = (await isWithout("nginx")) || (await isWithoutPostgres());

describe.skipIf(isLeftOut)("nodes restarted one after another behind nginx", () => {
  const postgres = usePostgres();
  let nginx: Nginx;
  const nodes: { readonly start: () => ServerProcess; process: ServerProcess }[] = [];
  const folders: string[] = [];
  beforeAll(async () => {
    const environment = { COLLOQUY_DATABASE_URL: postgres.url(await postgres.createDatabase()) };
    const ports = [await findFreePort(), await findFreePort(), await findFreePort()] as const;
    for (const port of ports) {
      const directory = await mkdtemp(join(tmpdir(), "colloquy-rolling-"));
      folders.push(directory);
      const start = () => new ServerProcess({ main: MAIN, directory, port, environment });
      nodes.push({ start, process: start() });
    }
    await Promise.all(nodes.map(({ process }) => process.ready()));
    const [first, second, third] = ports.map((port) => `127.0.0.1:${port}`);
    nginx = await Nginx.start([first!, second!, third!]);
  });
  afterAll(async () => {
    await nginx.stop();
    for (const { process } of nodes) await process.end("SIGKILL");
    for (const folder of folders) await rm(folder, { recursive: true, force: true });
  });

  it("fail no request that is retried once, and answer each message once", async () => {
    let isOver = false;
    const failures: string[] = [];
    const clients = Array.from({ length: CLIENTS }, async (_, client) => {
      const session = newSession();
      const said: string[] = [];
      while (!isOver) {
        const message = `count to 20, please: ${client}-${said.length}`;
        const answer = await repeatedOnce(() => say(session, message));
        if (answer.status === 200) said.push(message);
        else failures.push(`${answer.status} ${answer.text}`);
      }
      const { messages } = await state(nginx.url, session, { headers: { Prefer: "wait=30" } });
      const kept = messages.filter(({ sender }) => sender === "user").map(({ content }) => content);
      expect(kept).toEqual(said);
      return said.length;
    });
    for (const node of nodes) {
      await node.process.end("SIGTERM");
      node.process = node.start();
      await node.process.ready();
    }
    isOver = true;
    const answered = await Promise.all(clients);
    expect(failures).toEqual([]);
    expect(Math.min(...answered)).toBeGreaterThan(2);
  }, 180_000);

  function say(session: string, message: string): Promise<Answer> {
    const headers = { "Idempotency-Key": message.replaceAll(/[^\w-]/g, "_"), Prefer: "wait=5" };
    return send(nginx.url, "POST", "/api/chat", { session, json: { message }, headers });
  }
});

async function repeatedOnce(ask: () => Promise<Answer>): Promise<Answer> {
  const answer = await ask();
  return answer.status === 503 ? await ask() : answer;
}
