// `colloquy chat` with a service that goes away and comes back, behind a proxy that blocks streams, and with
// its own service.

import { createClient } from "@colloquy/client";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FaultProxy } from "../../../client/test/fault-proxy.ts";
import { Program } from "../black-box/server.ts";
import { findFreePort } from "../../torture/harness/server-process.ts";
import { PROMPT, useSeats } from "./terminals.ts";

// Processes start one after another on busy machines.
vi.setConfig({ testTimeout: 90_000 });

let program: Program;
let port = "";
beforeEach(async () => {
  port = String(await findFreePort());
  program = await Program.start(null, { PORT: port });
});
afterEach(() => program.remove());
const { openTerminal, lastId } = useSeats(() => ({
  directory: program.directory,
  environment: { HOST: "127.0.0.1", ...program.environment, PORT: port },
}));

describe("a service that goes away", () => {
  it("continues an answer after the server was killed in the middle of it and restarted", async () => {
    const user = openTerminal(["chat"]);
    await user.shows(PROMPT);
    user.enter("count to 120");
    await user.shows("1 2 3 4 5 6 7 8 9 10 11 12 ");
    await program.stop("SIGKILL");
    await user.shows("(connection lost; reconnecting)");
    await program.run();
    await user.shows(/\(reconnected\)[\s\S]*118 119 120\n>$/);
    // Nothing is printed twice except what the service itself repeated.
    expect(user.text.match(/(?<!\d)5 6 7 8(?!\d)/g)?.length).toBeLessThanOrEqual(
      user.text.includes("(the answer restarts)") ? 2 : 1,
    );
    user.enter("what did I say first?");
    await user.shows('The first thing you said was: "count to 120"');
  });
});

describe("where streams are blocked", () => {
  it("polls for answers, and shows the prompt when they are complete", async () => {
    const proxy = await FaultProxy.start(program.url);
    proxy.plan = ({ path }) => (path === "/api/updates" ? { status: 502 } : null);
    try {
      const user = openTerminal(["chat", "--url", proxy.url]);
      await user.shows(PROMPT);
      user.enter("what is 12 * 7?");
      await user.shows(/\* calculator [^\n]+\n[^\n]+\n12 \* 7 = 84\.\n>$/);
      user.enter("count to 40");
      await user.shows(/38 39 40\n>$/);
      expect(user.text.match(/12 \* 7 = 84/g)).toHaveLength(1);
      const once = openTerminal(["chat", "--url", proxy.url, "count to 5"]);
      expect(await once.exits()).toBe(0);
      expect(once.text).toContain("1 2 3 4 5");
    } finally {
      await proxy.stop();
    }
  });
});

describe("without a server", () => {
  beforeEach(() => program.stop());

  it("runs its own service on the configured data, and ends it", async () => {
    const user = openTerminal(["chat"]);
    await user.shows("private service");
    user.enter("count to 3");
    await user.shows(/\n1 2 3\n>$/);
    const second = openTerminal(["chat"]);
    await second.shows(/has the data directory[\s\S]*colloquy serve/);
    expect(await second.exits()).toBe(1);
    user.type("\u0004");
    expect(await user.exits()).toBe(0);
    await program.run();
    const client = createClient({ baseUrl: program.url });
    const { messages, status } = await client.getState(await lastId());
    expect({ status, text: messages.at(-1)?.content }).toEqual({ status: "idle", text: "1 2 3" });
  });

  it("shuts down in order on a signal", async () => {
    const user = openTerminal(["chat"]);
    await user.shows(PROMPT);
    process.kill(user.pid, "SIGTERM");
    expect(await user.exits()).toBe(143);
    expect(user.written).toContain("\u001B[?2004l");
  });
});
