// A chat that is committed on a primary whose synchronous standby is down, and the failover to that standby.

import type { Message } from "@colloquy/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfig } from "../src/config/load-config.ts";
import { chat as sendChat } from "@colloquy/testing/internal/store/fixtures/scenario";
import { openPostgresStore } from "@colloquy/postgres/internal/open";
import { buildServer, type ColloquyServer } from "../src/wiring/server.ts";
import { isWithoutPostgres, PostgresServer } from "./postgres-server.ts";
import { newId } from "./service.ts";
import { TcpProxy } from "./tcp-proxy.ts";

describe.skipIf(await isWithoutPostgres())("a chat whose commit waits for a standby that is down", () => {
  let primary: PostgresServer;
  let standby: PostgresServer;
  let database: string;
  let proxy: TcpProxy;
  let server: ColloquyServer;
  let url: string;
  const errors: string[] = [];

  beforeEach(async () => {
    primary = await PostgresServer.start({ synchronous_standby_names: "spare" });
    standby = await primary.startStandby("spare");
    proxy = await TcpProxy.start(primary.port);
    database = await primary.createDatabase();
    const environment = {
      HOST: "127.0.0.1",
      PORT: "0",
      COLLOQUY_DATABASE_URL: primary.url(database).replace(`:${primary.port}/`, `:${proxy.port}/`),
    };
    const loaded = await loadConfig({ environment, workingDirectory: import.meta.dirname });
    if (!loaded.ok) throw new Error("The configuration is wrong");
    const onFatal = (error: Error): never => {
      throw error;
    };
    const error = (_fields: object, text: string): void => void errors.push(text);
    const logger = { debug() {}, info() {}, warn() {}, error };
    server = await buildServer(loaded.config, { logger, onFatal });
    ({ url } = await server.listen());
  });
  afterEach(async () => {
    await server.stop({ graceMs: 0 });
    await proxy.stop();
    await standby.stop();
    await primary.stop();
  });

  async function ask(method: string, path: string, headers: Readonly<Record<string, string>>) {
    const answer = await fetch(`${url}${path}`, { method, headers });
    const body = (await answer.json()) as {
      readonly code?: string;
      readonly messages?: readonly Message[];
      readonly is_processing?: boolean;
    };
    return { status: answer.status, body };
  }

  const readiness = async () => (await fetch(`${url}/readyz`)).status;

  const chat = (id: string, text: string) =>
    ask("POST", `/api/chat?message=${text}`, { "x-session-id": id, "idempotency-key": text });

  async function state(id: string) {
    const { body } = await ask("GET", "/api/state", { "x-session-id": id });
    const said = (body.messages ?? []).filter(({ sender }) => sender === "user");
    return { said: said.map(({ content }) => content), isProcessing: body.is_processing };
  }

  async function isFound(id: string, word: string): Promise<boolean> {
    const answer = await fetch(`${url}/api/search?q=${word}`, { headers: { "x-session-id": id } });
    return (await answer.text()).includes('"match":true');
  }

  async function failOver(): Promise<void> {
    await primary.halt();
    await standby.resume();
    await standby.promote();
    proxy.target = standby.port;
    proxy.cut();
    await expect.poll(readiness).toBe(200);
  }

  it("has an unknown outcome, makes the service unready, and is stored once when it is repeated after a failover", async () => {
    const id = newId();
    expect(await readiness()).toBe(200);
    await standby.halt();
    expect(await chat(id, "hello")).toMatchObject({ status: 503, body: { code: "outcome_unknown" } });
    expect(await readiness()).toBe(503);
    expect(await chat(id, "hello")).toMatchObject({ status: 503, body: { code: "store_unavailable" } });
    expect(errors).toContainEqual(
      expect.stringContaining("synchronous_standby_names is 'spare', and connected are: none"),
    );
    await failOver();
    expect(await state(id)).toMatchObject({ said: [] });
    await expect.poll(async () => (await chat(id, "hello")).status).toBe(200);
    expect(await state(id)).toMatchObject({ said: ["hello"] });
  });

  it("is forgotten by a node that has shown it, and its streams begin anew, after a failover without it", async () => {
    const id = newId();
    expect((await chat(id, "first")).status).toBe(200);
    await expect.poll(() => state(id)).toEqual({ said: ["first"], isProcessing: false });
    // Wait for the node's last write: a later connection of the node would count as the other client's.
    await expect.poll(() => isFound(id, "first")).toBe(true);
    const nodes = await primary.backends(database);
    const other = await openPostgresStore({ url: primary.url(database) });
    await standby.halt();
    const lost = sendChat(other, id, "second").catch((error: unknown) => error);
    // An operator ends the wait, so that every node sees what only the primary has.
    const [backend] = await primary.untilAwaitingStandby(database, 1, nodes);
    await primary.query("postgres", `SELECT pg_terminate_backend(${backend})`);
    await expect.poll(() => state(id)).toEqual({ said: ["first", "second"], isProcessing: true });
    const stream = fetch(`${url}/api/updates`, { headers: { "x-session-id": id } }).then((answer) =>
      answer.text(),
    );
    expect(await lost).toMatchObject({ code: "outcome_unknown" });
    await failOver();
    // The node notices the other server at its next write.
    await expect.poll(() => state(id)).toEqual({ said: ["first"], isProcessing: false });
    expect(await stream).toMatch(/retry: \d+\s*$/);
    await other.close();
  });
});
