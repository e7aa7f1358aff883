import { createServer, type Server } from "node:http";
import { once } from "node:events";
import { createServer as createTcpServer, type AddressInfo } from "node:net";
import type { Snapshot } from "@colloquy/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { createHttpClient } from "./harness/http-request.ts";
import { StreamFollower } from "./stream-follower.ts";
import { Violations } from "./violations.ts";

const ID = "6f1c3c1e-0000-4000-8000-000000000001";

function snapshotAt(id: string, title: string): Snapshot {
  return {
    messages: [],
    system_events: [],
    pending_actions: [],
    title,
    is_processing: false,
    user_state: null,
    session_id: ID,
    app: "default",
    status: "idle",
    model: "demo/assistant",
    last_event_id: id,
  };
}

function titled(id: string, title: string): string {
  return `id: ${id}\ndata: ${JSON.stringify({ type: "title_changed", session_id: ID, new_title: title })}\n\n`;
}

const DELTA = { type: "message_delta", session_id: ID, message_id: "m", offset: 0, text: "" };

/** A server with scripted streams: each connection gets the next one, which then breaks off or stays open. */
async function serve(scripts: readonly { readonly text: string; readonly stays: boolean }[]) {
  const resumedAfter: (string | undefined)[] = [];
  let opened = 0;
  const server = createServer((request, response) => {
    if (request.url?.startsWith("/api/updates") !== true) {
      response.end(JSON.stringify(snapshotAt("a-1", "one")));
      return;
    }
    resumedAfter.push(request.headers["last-event-id"] as string | undefined);
    const script = scripts[Math.min(opened, scripts.length - 1)]!;
    opened += 1;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(script.text, () => {
      if (!script.stays) response.destroy();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, resumedAfter, port: (server.address() as AddressInfo).port };
}

let running: { server: Server; follower: StreamFollower; close: () => void } | null = null;

afterEach(async () => {
  await running?.follower.close();
  running?.close();
  running?.server.closeAllConnections();
  running?.server.close();
  running = null;
});

async function follow(
  scripts: Parameters<typeof serve>[0],
  others: readonly number[] = [],
  authorization: string | null = null,
) {
  const { server, resumedAfter, port } = await serve(scripts);
  const client = createHttpClient(port);
  const violations = new Violations();
  const counts = { resumed: 0, refetched: 0, compared: 0 };
  const before = [...others];
  const follower = new StreamFollower(
    {
      client,
      streamPort: () => before.shift() ?? port,
      isReachable: (asked) => asked === port,
      violations,
      counts,
    },
    ID,
    authorization,
  );
  running = { server, follower, close: () => client.close() };
  return { follower, violations, counts, resumedAfter };
}

describe("StreamFollower", () => {
  it("resumes after the last folded event without missing any", async () => {
    const { follower, violations, resumedAfter } = await follow([
      { text: titled("a-2", "two"), stays: false },
      { text: titled("a-3", "three"), stays: true },
    ]);
    const state = await follower.reach("a-3", 5000);
    expect(state?.title).toBe("three");
    expect(resumedAfter.slice(0, 2)).toEqual(["a-1", "a-2"]);
    expect(violations.all).toEqual([]);
  });

  it("accepts the whole streaming message without an id after a numbered event", async () => {
    const message = { id: "m", sender: "agent", content: "so far", status: "streaming", created_at: "" };
    const whole = { type: "message_updated", session_id: ID, message, index: 0 };
    const live = `data: ${JSON.stringify(whole)}\n\n`;
    const { follower, violations } = await follow([
      { text: titled("a-2", "two") + live + titled("a-3", "three"), stays: true },
    ]);
    const state = await follower.reach("a-3", 5000);
    expect(violations.all).toEqual([]);
    expect(state?.messages).toMatchObject([{ content: "so far" }]);
  });

  it("tries an unreachable server once, then a reachable one", async () => {
    let asked = 0;
    const paused = createTcpServer((socket) => {
      asked += 1;
      socket.destroy();
    }).listen(0, "127.0.0.1");
    await once(paused, "listening");
    const { port } = paused.address() as AddressInfo;
    const { follower } = await follow([{ text: titled("a-2", "two"), stays: true }], [port, port, port]);
    await follower.reach("a-2", 5000);
    expect(follower.place).toContain(`those before it: ${port} at`);
    paused.close();
    expect(asked).toBe(1);
  });

  it.each([
    ["lost", titled("a-3", "three")],
    ["doubled", titled("a-2", "two") + titled("a-2", "two")],
    ["hidden behind a bare id", "id: a-2\n\n"],
    ["of another incarnation", titled("b-2", "two")],
    ["text of a message that was never created", `data: ${JSON.stringify(DELTA)}\n\n`],
    [
      "given up by a resync",
      `id: a-2\ndata: {"type":"system_notice","code":"resync","session_id":"${ID}"}\n\n`,
    ],
  ])("reports an event that was %s", async (_what, text) => {
    const { violations, follower } = await follow([
      { text, stays: true },
      { text: titled("a-2", "two"), stays: true },
    ]);
    await follower.reach("a-2", 5000);
    await expect.poll(() => violations.count("fold mismatch")).toBe(1);
  });

  it.each([
    ["skips the event of the owner", titled("a-3", "three") + titled("a-4", "four"), 0],
    ["skips it with a bare id", "id: a-2\n\n" + titled("a-3", "three") + titled("a-4", "four"), 0],
    ["skips no second one", titled("a-3", "three") + titled("a-4", "four") + titled("a-6", "six"), 1],
    ["skips none after a bare id", "id: a-2\n\n" + titled("a-4", "four"), 1],
  ])("%s, in a session with a user", async (_what, text, expected) => {
    const scripts = [text, titled("a-2", "two")].map((script) => ({ text: script, stays: true }));
    const { follower, violations } = await follow(scripts, [], "Bearer token");
    if (expected === 0) await follower.reach("a-4", 5000);
    await expect.poll(() => violations.count("fold mismatch")).toBe(expected);
  });

  it.each([
    ["accepts a resync from before an edit", "a-5", 0],
    ["reports a resync from after an edit", "a-1", 1],
  ])("%s", async (_what, removal, expected) => {
    const resync = `data: {"type":"system_notice","code":"resync","session_id":"${ID}"}\n\n`;
    const { follower, violations } = await follow([
      { text: resync, stays: true },
      { text: titled("a-2", "two"), stays: true },
    ]);
    follower.expectRemoval();
    follower.noteRemoval(removal);
    await follower.reach("a-2", 5000);
    expect(violations.count("fold mismatch")).toBe(expected);
  });

  it("compares a later snapshot once it gets there, and an earlier one at once", async () => {
    const { follower, violations, counts } = await follow([{ text: titled("a-2", "two"), stays: true }]);
    follower.offer(snapshotAt("a-2", "two"));
    await follower.reach("a-2", 5000);
    follower.offer(snapshotAt("a-2", "two"));
    follower.offer(snapshotAt("a-1", "one"));
    expect(violations.all).toEqual([]);
    expect(counts.compared).toBeGreaterThanOrEqual(2);
    follower.offer(snapshotAt("a-2", "other"));
    expect(violations.count("fold mismatch")).toBe(1);
  });
});
