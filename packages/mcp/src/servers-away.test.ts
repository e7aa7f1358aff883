// Servers that are down, slow or have lost the session: turns continue without them, and unsafe calls are not
// repeated.

import { describe, expect, it } from "vitest";
import { until } from "./testing/until.ts";
import { textResult, useScriptedServer } from "./testing/use-scripted-server.ts";

const scripted = useScriptedServer();

describe("an unavailable server", () => {
  it("is replaced by a stand-in, and retried with backoff until it is available", async () => {
    await scripted.server.stop();
    const tools = scripted.open();
    expect((await tools.open()).definitions.map(({ name }) => name)).toEqual(["srv_unavailable"]);
    const attempts = () =>
      tools.logger.lines.filter(({ message }) => message === "an MCP server cannot be reached").length;
    expect(attempts()).toBe(1);
    await tools.open();
    expect(attempts()).toBe(1);
    await scripted.clock.advance(1_999);
    await tools.open();
    expect(attempts()).toBe(1);
    await scripted.clock.advance(1);
    await until(() => attempts() === 2);
    await scripted.server.start();
    await scripted.clock.advance(4_000);
    await until(async () => (await tools.open()).definitions[0]?.name === "srv_work");
    expect(await tools.call("srv_work")).toEqual({ output: "done", isError: false });
    await tools.toolset.close();
    expect(scripted.clock.timers).toBe(0);
  });

  it("fails calls of its tools until a turn finds it available, and the stand-in reports its return", async () => {
    await scripted.server.stop();
    const tools = scripted.open();
    const turn = await tools.open();
    const away = "Their server cannot be reached at the moment. Nothing was called.";
    const call = (name: string) => turn.call(name, {}, options);
    const options = {
      callId: "1",
      timeoutMs: 60_000,
      signal: new AbortController().signal,
      clock: scripted.clock,
    };
    const notThere = expect.stringMatching(
      /^The tool was not called: .*begin with "srv_".* Their server cannot be reached .* srv_unavailable tells/,
    );
    expect(await call("srv_work")).toMatchObject({ output: notThere, isError: true });
    expect(await turn.decide("srv_work", {})).toEqual({
      kind: "deny",
      output: notThere,
      isError: true,
      shown: "The tool srv_work failed.",
    });
    expect(await call("srv_unavailable")).toMatchObject({ output: away, isError: true });
    expect((await call("other_work")).output).toMatch(/^There is no tool with this name/);
    await scripted.server.start();
    await scripted.clock.advance(2_000);
    await until(async () => (await tools.open()).definitions[0]?.name === "srv_work");
    expect(await call("srv_unavailable")).toMatchObject({ isError: false });
    // The call was for the tool itself, which has not run.
    expect(await call("srv_work")).toMatchObject({ output: notThere, isError: true });
    expect(scripted.server.of("tools/call")).toEqual([]);
    await tools.toolset.close();
  });

  it("keeps its known tools in later turns, whose calls fail with an error", async () => {
    const tools = scripted.open();
    const { definitions } = await tools.open();
    await scripted.server.stop();
    const broken = await tools.call("srv_work");
    expect(broken.isError).toBe(true);
    expect(broken.output).toMatch(/^The connection to the MCP server "srv" broke/);
    expect((await tools.open()).definitions).toBe(definitions);
    expect((await tools.call("srv_work")).output).toBe(
      'The MCP server "srv" cannot be reached at the moment. The tool was not called.',
    );
    await tools.toolset.close();
  });

  it("delays one turn by at most five seconds, and is abandoned after thirty", async () => {
    scripted.server.before = ({ method }) => (method === "tools/list" ? "answered" : undefined);
    const tools = scripted.open();
    const opened = tools.open();
    let isOpen = false;
    void opened.then(() => (isOpen = true));
    await until(() => scripted.server.of("tools/list").length === 1);
    await scripted.clock.advance(4_999);
    expect(isOpen).toBe(false);
    await scripted.clock.advance(1);
    expect((await opened).definitions.map(({ name }) => name)).toEqual(["srv_unavailable"]);
    await scripted.clock.advance(25_000);
    await scripted.server.of("tools/list")[0]!.closed;
    await tools.toolset.close();
  });

  it("does not delay later turns after it has timed out", async () => {
    scripted.server.before = ({ method }) => (method === "tools/list" ? "answered" : undefined);
    const tools = scripted.open();
    const first = tools.open();
    await until(() => scripted.server.of("tools/list").length === 1);
    await scripted.clock.advance(30_000);
    expect((await first).definitions.map(({ name }) => name)).toEqual(["srv_unavailable"]);
    await scripted.clock.advance(2_000);
    await until(() => scripted.server.of("tools/list").length === 2);
    expect((await tools.open()).definitions.map(({ name }) => name)).toEqual(["srv_unavailable"]);
    await tools.toolset.close();
  });

  it("gets a DELETE of its session when the session is no longer needed", async () => {
    scripted.server.before = ({ method }, response) => {
      if (method === "initialize") response.setHeader("mcp-session-id", "session-1");
      return undefined;
    };
    const tools = scripted.open();
    await tools.open();
    await tools.toolset.close();
    expect(scripted.server.of("DELETE").map(({ headers }) => headers["mcp-session-id"])).toEqual([
      "session-1",
    ]);
  });

  it("does not delay the end of a turn", async () => {
    scripted.server.before = () => "answered";
    const tools = scripted.open();
    const stop = new AbortController();
    const opened = tools.open(null, stop.signal);
    stop.abort();
    expect((await opened).definitions.map(({ name }) => name)).toEqual(["srv_unavailable"]);
    await tools.toolset.close();
  });

  /** Makes the server assign sessions, and then respond with `status` to the first session. */
  async function forgetSession(tools: ReturnType<typeof scripted.open>, status: number): Promise<void> {
    const giveSession: typeof scripted.server.before = ({ method }, response) => {
      if (method === "initialize")
        response.setHeader("mcp-session-id", `session-${scripted.server.of("initialize").length}`);
      return undefined;
    };
    scripted.server.before = giveSession;
    await tools.open();
    const first = scripted.server.of("initialize").length;
    scripted.server.before = (request, response) => {
      if (request.headers["mcp-session-id"] !== `session-${first}`) return giveSession(request, response);
      response.writeHead(status).end("no such session");
      return "answered";
    };
    let calls = 0;
    scripted.server.call = () => textResult(`call ${(calls += 1)}`);
  }

  it("gets a new session after a 404, and then the repeatable call again", async () => {
    const tools = scripted.open({}, { srv_work: "idempotent" });
    await forgetSession(tools, 404);
    expect(await tools.call("srv_work")).toEqual({ output: "call 1", isError: false });
    await tools.toolset.close();
  });

  it.each([
    ["without annotations", undefined, {}],
    [
      "that is read-only for the server and unsafe for the operator",
      { readOnlyHint: true },
      { srv_work: "unsafe" },
    ],
  ] as const)(
    "does not get the call of a tool %s again after a lost session",
    async (_case, annotations, effects) => {
      scripted.server.tools = [{ name: "work", annotations, inputSchema: { type: "object" } }];
      const tools = scripted.open({}, effects);
      await forgetSession(tools, 404);
      const { output, isError } = await tools.call("srv_work");
      expect(isError).toBe(true);
      expect(output).toMatch(/It may have had its effect\.$/);
      expect(scripted.server.of("tools/call")).toHaveLength(1);
      expect(await tools.call("srv_work")).toEqual({ output: "call 1", isError: false });
      await tools.toolset.close();
    },
  );

  it("gets a new session after a 400, but not the refused call again", async () => {
    const tools = scripted.open({}, { srv_work: "idempotent" });
    await forgetSession(tools, 400);
    expect((await tools.call("srv_work")).output).toBe(
      'The MCP server "srv" refused the call with status 400.',
    );
    expect(await tools.call("srv_work")).toEqual({ output: "call 1", isError: false });
    await tools.toolset.close();
  });

  it.each([404, 400])(
    "does not get a refused call again if it assigned no session and responds with %i",
    async (status) => {
      scripted.server.before = ({ method }, response) => {
        if (method !== "tools/call") return undefined;
        response.writeHead(status).end("no session of the shop");
        return "answered";
      };
      const tools = scripted.open({}, { srv_work: "read" });
      expect(await tools.call("srv_work")).toMatchObject({
        output: `The MCP server "srv" refused the call with status ${status}.`,
        isError: true,
      });
      expect(scripted.server.of("tools/call")).toHaveLength(1);
      await tools.toolset.close();
    },
  );
});
