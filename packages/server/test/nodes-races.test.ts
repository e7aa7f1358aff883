// Races in which a node has not learned of another's change: there is no bus here, so that they last.

import type { Snapshot } from "@colloquy/protocol";
import { afterEach, describe, expect, it } from "vitest";
import type { Config } from "../src/config/config.ts";
import { Unavailable } from "@colloquy/engine/internal/core/errors";
import type { BeforeCall } from "./intercepted-store.ts";
import { startNodes, type Nodes, type NodesOptions } from "./nodes.ts";
import { isWithoutPostgres } from "./postgres-server.ts";
import { usePostgres } from "./use-postgres.ts";
import { newId, parse, RecordingSink, until, type TestService } from "./service.ts";
import { FOR_ANYBODY } from "./stream-access.ts";
import { ANONYMOUS } from "@colloquy/engine/internal/core/session-access";

const server = usePostgres();
let cluster: Nodes;
const started = async (options: Partial<NodesOptions> = {}): Promise<[TestService, TestService]> => {
  cluster = await startNodes(server, { count: 2, hasBus: false, ...options });
  return cluster.nodes as unknown as [TestService, TestService];
};
const withoutMemory = (config: Config): Config => ({
  ...config,
  limits: { ...config.limits, memoryBytes: 0 },
});
const textIn = ({ messages }: Snapshot) => messages.find(({ sender }) => sender === "agent")?.content;

async function read(node: TestService, id: string) {
  const sink = new RecordingSink();
  const include = new Set(["messages"] as const);
  const request = { sessionId: id, access: FOR_ANYBODY, include, lastEventId: null };
  return { sink, stream: await node.feed.open(request, sink, null) };
}

describe.skipIf(await isWithoutPostgres())("a node with outdated knowledge", () => {
  afterEach(() => cluster.close());

  /** Streams text on the node and lets its checkpoint reach the store. */
  async function sayOn(node: TestService, id: string, say: () => void, text: string): Promise<void> {
    say();
    await until(async () => textIn(await node.snapshot(id)) === text);
    await cluster.clock.advance(250);
    await until(async () => (await node.store.sessions.streamedText(id))?.text === text);
  }

  it("returns text streaming on another node with a chat", async () => {
    const [a, b] = await started();
    const id = newId();
    await a.say(id, "go");
    await b.snapshot(id);
    const call = await a.model.next();
    await sayOn(a, id, () => call.say("so far"), "so far");
    expect(textIn(await b.say(id, "next"))).toBe("so far");
  });

  it("returns text streaming on another node when a wait ends", async () => {
    const [a, b] = await started();
    const id = newId();
    await a.say(id, "go");
    const call = await a.model.next();
    const { signal } = new AbortController();
    const timers = cluster.clock.timers;
    const waiting = b.conversations.state(
      { sessionId: id, access: ANONYMOUS, userState: null, waitMs: 1_500, signal },
      null,
    );
    await until(() => cluster.clock.timers > timers);
    await sayOn(a, id, () => call.say("so far"), "so far");
    await cluster.clock.advance(1_500);
    expect(textIn(parse(await waiting))).toBe("so far");
  });

  it("stops a turn that lost its lease when the session is read, and leaves its text out of the next answer", async () => {
    const [a, b] = await started();
    const id = newId();
    await a.say(id, "one");
    const old = await a.model.next();
    await sayOn(a, id, () => old.say("old"), "old");
    await b.conversations.interrupt(id, ANONYMOUS, null);
    await b.say(id, "two");
    await b.model.next();
    const { messages } = await a.snapshot(id);
    expect(messages.map(({ content }) => content)).toEqual(["one", "old", "two"]);
    expect(old.options.abortSignal?.aborted).toBe(true);
  });

  it("runs the turn of a stored chat even if showing it failed", async () => {
    let failures = 0;
    const beforeCall: BeforeCall = (method) => {
      if (method !== "events.after" || failures > 0) return undefined;
      failures += 1;
      return Promise.reject(new Unavailable(503, "store_unavailable", "Later.", 1));
    };
    const [a, b] = await started({ beforeCall });
    const id = newId();
    await b.snapshot(id);
    await a.threads.rename(id, "from a", null);
    await b.say(id, "go");
    expect(failures).toBe(1);
    expect((await b.model.next()).prompt.join()).toContain("go");
  });

  it("ends streams of an old incarnation though it already knows the next one", async () => {
    const [a, b] = await started();
    const id = newId();
    const old = await read(b, id);
    await a.threads.remove(id, null);
    await a.say(id, "anew");
    const next = await read(b, id);
    await cluster.pass(2_000);
    await until(() => old.sink.ended === "finish");
    expect(old.sink.text).toContain("session_deleted");
    expect(next.sink.ended).toBeNull();
  });

  it("keeps no text of sessions without subscribers that are not in memory", async () => {
    const [a, b] = await started({ adjust: withoutMemory });
    const id = newId();
    await a.say(id, "go");
    const call = await a.model.next();
    await sayOn(a, id, () => call.say("so far"), "so far");
    const { sink, stream } = await read(b, id);
    await until(() => sink.text.includes("so far"));
    expect(b.feed.heldTexts).toBe(1);
    stream.close();
    expect(b.feed.heldTexts).toBe(0);
  });
});
