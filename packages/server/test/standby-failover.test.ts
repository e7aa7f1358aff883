// A chat that is committed on a primary whose synchronous standby is down, and the failover to that standby.

import type { Message } from "@colloquy/protocol";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { loadConfig } from "../src/config/load-config.ts";
import { buildServer, type ColloquyServer } from "../src/wiring/server.ts";
import { isWithoutPostgres, PostgresServer } from "./postgres-server.ts";
import { newId } from "./service.ts";
import { TcpProxy } from "./tcp-proxy.ts";

describe.skipIf(await isWithoutPostgres())("a chat whose commit waits for a standby that is down", () => {
  const primary = new PostgresServer({ synchronous_standby_names: "spare" });
  let standby: PostgresServer;
  let proxy: TcpProxy;
  let server: ColloquyServer;
  let url: string;
  const errors: string[] = [];

  beforeAll(async () => {
    await primary.start();
    standby = await primary.startStandby("spare");
  });
  afterAll(async () => {
    await standby.stop();
    await primary.stop();
  });
  beforeEach(async () => {
    proxy = await TcpProxy.start(primary.port);
    const direct = primary.url(await primary.createDatabase());
    const environment = {
      HOST: "127.0.0.1",
      PORT: "0",
      COLLOQUY_DATABASE_URL: direct.replace(`:${primary.port}/`, `:${proxy.port}/`),
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
  });

  async function ask(method: string, path: string, headers: Readonly<Record<string, string>>) {
    const answer = await fetch(`${url}${path}`, { method, headers });
    const body = (await answer.json()) as { readonly code?: string; readonly messages?: readonly Message[] };
    return { status: answer.status, body };
  }

  const readiness = async () => (await fetch(`${url}/readyz`)).status;

  it("has an unknown outcome, makes the service unready, and is stored once when it is repeated after a failover", async () => {
    const id = newId();
    const chat = () =>
      ask("POST", "/api/chat?message=hello", { "x-session-id": id, "idempotency-key": "key" });
    const said = async () => {
      const { body } = await ask("GET", "/api/state", { "x-session-id": id });
      return (body.messages ?? []).flatMap(({ sender, content }) => (sender === "user" ? [content] : []));
    };
    expect(await readiness()).toBe(200);
    await standby.halt();
    expect(await chat()).toMatchObject({ status: 503, body: { code: "outcome_unknown" } });
    expect(await readiness()).toBe(503);
    expect(await chat()).toMatchObject({ status: 503, body: { code: "store_unavailable" } });
    expect(errors).toContainEqual(
      expect.stringContaining("synchronous_standby_names is 'spare', and connected are: none"),
    );
    await primary.halt();
    await standby.resume();
    await standby.promote();
    proxy.target = standby.port;
    proxy.cut();
    await expect.poll(readiness, { timeout: 20_000 }).toBe(200);
    expect(await said()).toEqual([]);
    await expect.poll(async () => (await chat()).status, { timeout: 20_000 }).toBe(200);
    expect(await said()).toEqual(["hello"]);
  });
});
