// Servers whose headers hold secrets of the turn's client: one connection per client, and no leaks.

import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../server/test/manual-clock.ts";
import { httpServer, mcpTools } from "./testing/opened-mcp.ts";
import { ScriptedMcp } from "./testing/scripted-mcp.ts";
import { until } from "./testing/until.ts";

let server: ScriptedMcp;
let clock: ManualClock;
let secrets: Record<string, Record<string, string>>;
let isVaultBroken: boolean;

beforeEach(async () => {
  clock = new ManualClock();
  isVaultBroken = false;
  secrets = { ada: { KEY: "adas-canary-1" }, bob: { KEY: "bobs-canary-2" } };
  server = await new ScriptedMcp().start();
  server.call = ({ headers }) => ({
    content: [{ type: "text", text: `seen: ${String(headers["x-api-key"])} ${String(headers["x-static"])}` }],
  });
});
afterEach(() => server.stop());

function open() {
  const headers = { "X-Api-Key": "Token {{secret.KEY}}", "X-Static": "all" };
  return mcpTools(
    { srv: httpServer(server.url, headers) },
    {
      clock,
      secrets,
      slots: ["KEY"],
      isVaultBroken: () => isVaultBroken,
    },
  );
}

describe("a server with client secrets in its headers", () => {
  it("gets the secret of each client on that client's calls only, and cannot repeat the secret in its output", async () => {
    const tools = open();
    for (const clientId of ["ada", "bob", "ada"]) {
      expect(await tools.call("srv_work", {}, { clientId })).toEqual({
        output: "seen: Token [secret] all",
        isError: false,
      });
    }
    const seen = server.of("tools/call").map(({ headers }) => headers["x-api-key"]);
    expect(seen).toEqual(["Token adas-canary-1", "Token bobs-canary-2", "Token adas-canary-1"]);
    expect(server.of("initialize")).toHaveLength(2);
    expect(server.requests.every(({ headers }) => headers["x-api-key"] !== "Token {{secret.KEY}}")).toBe(
      true,
    );
    expect(inspect(tools.logger.lines, { depth: 10 })).not.toMatch(/canary/);
    await tools.toolset.close();
  });

  it("exposes no secret in its tool definitions, nor in logged errors", async () => {
    server.before = ({ method, headers }, response) => {
      const key = String(headers["x-api-key"]);
      server.tools = [
        {
          name: key,
          description: `Made for ${key}`,
          inputSchema: { type: "object", properties: { [key]: { type: "string", description: btoa(key) } } },
        },
      ];
      if (method !== "tools/call") return undefined;
      response.writeHead(500).end(`no entry with ${key}`);
      return "answered";
    };
    const tools = open();
    const { definitions } = await tools.open("ada");
    expect(definitions).toHaveLength(1);
    await tools.call(definitions[0]!.name, {}, { clientId: "ada" });
    expect(server.of("tools/call")[0]?.params["name"]).toBe("Token adas-canary-1");
    const told = inspect([definitions, tools.logger.lines], { depth: 10 });
    expect(told).toContain("no entry with Token [secret]");
    expect(told).not.toMatch(/canary|YWRhcy1jYW5hcnkt/);
    await tools.toolset.close();
  });

  it("gets no request for a client without the secret; a stand-in names the missing secret", async () => {
    const tools = open();
    for (const clientId of [null, "eve"]) {
      const { definitions } = await tools.open(clientId);
      expect(definitions.map(({ name }) => name)).toEqual(["srv_unavailable"]);
      expect(definitions[0]?.description).toContain('"KEY"');
      expect((await tools.open(clientId)).definitions).toBe(definitions);
      const outcome = await tools.call("srv_unavailable", {}, { clientId });
      expect(outcome).toMatchObject({ isError: true, missingSecret: "KEY" });
      expect(await tools.call("srv_work", {}, { clientId })).toMatchObject({
        output: expect.stringContaining('"KEY"'),
        isError: true,
        missingSecret: "KEY",
      });
    }
    expect(server.requests).toEqual([]);
    await tools.toolset.close();
  });

  it("gets a new secret on a new connection as soon as it changes", async () => {
    const tools = open();
    await tools.call("srv_work", {}, { clientId: "ada" });
    await until(() => server.streams.length === 1);
    secrets["ada"] = { KEY: "adas-other-key" };
    await tools.call("srv_work", {}, { clientId: "ada" });
    expect(server.requests.at(-1)?.headers["x-api-key"]).toBe("Token adas-other-key");
    await clock.advance(0);
    await server.requests.find(({ method }) => method === "GET")!.closed;
    await tools.toolset.close();
  });

  it("is disconnected after five minutes without use by a client", async () => {
    const tools = open();
    await tools.call("srv_work", {}, { clientId: "ada" });
    await until(() => server.streams.length === 1);
    await clock.advance(5 * 60_000);
    await server.requests.find(({ method }) => method === "GET")!.closed;
    expect(clock.timers).toBe(0);
    await tools.call("srv_work", {}, { clientId: "ada" });
    expect(server.of("initialize")).toHaveLength(2);
    await tools.toolset.close();
  });

  it.each([{}, { KEY: "x\r\ny" }])(
    "is not reported as failing for a client without a usable secret: %j",
    async (held) => {
      secrets["ada"] = held;
      const tools = open();
      await tools.open("ada");
      expect(tools.toolset.sources("default")).toMatchObject([{ state: "unused", problem: null }]);
      await tools.open("bob");
      await tools.open("ada");
      expect(tools.toolset.sources("default")).toMatchObject([{ state: "working", problem: null }]);
      await tools.toolset.close();
    },
  );

  it("cannot be sent a further header through a secret", async () => {
    secrets["ada"] = { KEY: "x\r\nX-Admin: canary" };
    const tools = open();
    const { definitions } = await tools.open("ada");
    expect(definitions.map(({ name }) => name)).toEqual(["srv_unavailable"]);
    const said = 'The secret "KEY" has characters that cannot be sent. Tell the user to set it again.';
    expect(definitions[0]?.description).toContain(said);
    expect(await tools.call("srv_work", {}, { clientId: "ada" })).toEqual({
      output: expect.stringContaining(said),
      isError: true,
      shown: "The tool srv_work failed.",
    });
    expect(server.requests).toEqual([]);
    const logged = inspect(tools.logger.lines, { depth: 10 });
    expect(logged).not.toMatch(/canary/);
    expect(logged).toContain('The secret "KEY" has characters that cannot be sent.');
    await tools.toolset.close();
  });

  it("is unavailable while secrets cannot be read, and recovers afterwards", async () => {
    const tools = open();
    isVaultBroken = true;
    const said = "Secrets cannot be read at the moment. Try again later.";
    expect((await tools.open("ada")).definitions[0]?.description).toContain(said);
    expect(await tools.call("srv_work", {}, { clientId: "ada" })).toEqual({
      output: expect.stringContaining(said),
      isError: true,
      shown: "The tool srv_work failed.",
    });
    isVaultBroken = false;
    expect((await tools.call("srv_work", {}, { clientId: "ada" })).isError).toBe(false);
    await tools.toolset.close();
  });

  it("is not reconnected by a call after the toolset has closed", async () => {
    const tools = open();
    const turn = await tools.open("ada");
    await tools.toolset.close();
    const before = server.of("initialize").length;
    const options = { callId: "1", timeoutMs: 60_000, signal: new AbortController().signal, clock };
    expect(await turn.call("srv_work", {}, options)).toMatchObject({
      output: "The service does not use this server any more.",
      isError: true,
    });
    expect(server.of("initialize")).toHaveLength(before);
  });

  it("serves a limited number of clients, and disconnects the least recently used one", async () => {
    for (let client = 0; client < 205; client += 1) secrets[`client-${client}`] = { KEY: `key-of-${client}` };
    const tools = open();
    for (let client = 0; client < 205; client += 1) await tools.open(`client-${client}`);
    await clock.advance(0);
    // Streams of other clients may have reached the server first.
    const streamsOf = (client: number) =>
      server.requests.filter(
        ({ method, headers }) => method === "GET" && headers["x-api-key"] === `Token key-of-${client}`,
      );
    for (let client = 0; client < 5; client += 1) {
      await until(() => streamsOf(client).length === 1);
      await Promise.all(streamsOf(client).map(({ closed }) => closed));
    }
    expect(server.streams.filter(({ destroyed }) => destroyed)).toHaveLength(5);
    await tools.toolset.close();
  });
});
