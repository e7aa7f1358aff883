// A node's answers are visible on every other node (contract section 3), with and without the bus.

import { isDeepStrictEqual } from "node:util";
import { IncludeGroup } from "@colloquy/protocol";
import { afterEach, describe, expect, it } from "vitest";
import type { Config } from "../src/config/config.ts";
import type { Store } from "@colloquy/engine/internal/core/ports/driven/store";
import { FoldingReader } from "./folding-reader.ts";
import { startNodes, type Nodes, type NodesOptions } from "./nodes.ts";
import { isWithoutPostgres } from "./postgres-server.ts";
import { usePostgres } from "./use-postgres.ts";
import { lines, newId, parse, RecordingSink, recordsOf, until, type TestService } from "./service.ts";
import { FOR_ANYBODY } from "./stream-access.ts";
import { ANONYMOUS } from "@colloquy/engine/internal/core/session-access";
import { AnswerChunks } from "@colloquy/ai-sdk/internal/answer-chunks";
import { FollowedStream } from "../src/http/protocol-conversation.ts";
import { FollowedTurn, startInProgress, TurnStream } from "../src/protocol.ts";

const server = usePostgres();
let cluster: Nodes;

const started = async (options: Partial<NodesOptions> = {}): Promise<Nodes> => {
  cluster = await startNodes(server, { count: 2, ...options });
  return cluster;
};
const oneAtATime = (config: Config): Config => ({ ...config, limits: { ...config.limits, maxRunning: 1 } });
const asking = ({ apps: { default: app, ...apps }, ...config }: Config): Config => ({
  ...config,
  apps: { ...apps, default: { ...app!, tools: { ...app!.tools, approvals: { calculator: "always" } } } },
});
const contentOn = async (node: TestService, id: string) => lines((await node.snapshot(id)).messages);

const FOLLOWING = {
  heartbeat: ": heartbeat\n\n",
  onFailure: (error: unknown) => {
    throw error;
  },
};

/** Follows the answer in progress as the AI SDK's client does. Returns what the client receives. */
async function followOn({ conversations, feed }: TestService, id: string) {
  const received = { text: "", isOver: false };
  const out = {
    writeBytes: (bytes: Uint8Array) => {
      received.text += Buffer.from(bytes).toString();
      return 0;
    },
    drained: () => Promise.resolve(),
    end: () => void (received.isOver = true),
  };
  const position = await conversations.position(id);
  const start = startInProgress(position!)!;
  const turn = new FollowedTurn(start.state, new AnswerChunks());
  const stream = new TurnStream(turn, start, { includesReasoning: true });
  const sink = new FollowedStream(stream, out, FOLLOWING);
  sink.begin();
  const include = new Set(IncludeGroup.options);
  await feed.open(
    { sessionId: id, access: FOR_ANYBODY, include, lastEventId: start.lastEventId },
    sink,
    null,
  );
  return received;
}

describe.skipIf(await isWithoutPostgres())("nodes", () => {
  afterEach(() => cluster.close());

  describe.each([
    ["with the bus", true],
    ["without the bus", false],
  ])("%s", (_name, hasBus) => {
    it("show on every node what another one has committed", async () => {
      const { nodes } = await started({ hasBus });
      const [a, b] = nodes as [TestService, TestService];
      const id = newId();
      const same = async () => {
        const [one, other] = [await a.snapshot(id), await b.snapshot(id)];
        expect(one).toEqual(other);
        return one;
      };
      await same();
      await a.say(id, "one");
      // A generated title may arrive at any time.
      await until(async () => (await b.snapshot(id)).title === "one");
      expect((await same()).is_processing).toBe(true);
      await b.say(id, "two");
      expect(lines((await same()).messages)).toEqual(["user complete: one", "user queued: two"]);
      await b.threads.rename(id, "from b", null);
      expect((await a.snapshot(id)).title).toBe("from b");
      await a.threads.rename(id, "from a", null);
      expect((await b.snapshot(id)).title).toBe("from a");
      await b.conversations.interrupt(id, ANONYMOUS, null);
      expect((await same()).is_processing).toBe(false);
      await a.threads.remove(id, null);
      for (const node of [a, b])
        await expect(node.snapshot(id)).rejects.toMatchObject({ status: 404, code: "session_deleted" });
      await b.say(id, "anew");
      await until(async () => (await a.snapshot(id)).title === "anew");
      expect(lines((await same()).messages)[0]).toBe("user complete: anew");
    });

    it("keep the spelling of a session id, whichever node created the session", async () => {
      const { nodes, clock } = await started({ hasBus });
      const [a, b] = nodes as [TestService, TestService];
      const id = newId();
      const spelling = id.toUpperCase();
      await a.threads.create(id, null, ANONYMOUS, { spelling, admit: null });
      const sink = new RecordingSink();
      const { last_event_id: lastEventId } = await b.snapshot(id);
      const request = {
        sessionId: id,
        access: FOR_ANYBODY,
        include: new Set(["messages"] as const),
        lastEventId,
      };
      const stream = await b.feed.open(request, sink, null);
      const said = [await a.say(id, "one"), await b.say(id, "two")];
      expect(said.map(({ session_id }) => session_id)).toEqual([spelling, spelling]);
      await until(async () => {
        if (!hasBus) await clock.advance(1000);
        return sink.text.includes('"two"');
      });
      stream.close();
      const ids = [...sink.text.matchAll(/"session_id":"([^"]+)"/g)].map(([, found]) => found);
      expect(new Set(ids)).toEqual(new Set([spelling]));
      expect((await b.threads.rename(id, "from b", null)).session_id).toBe(spelling);
      for (const node of [a, b]) {
        expect((await node.snapshot(id)).session_id).toBe(spelling);
        expect((await node.threads.get(id, null)).session_id).toBe(spelling);
        const [first] = await recordsOf(node, id, null, 1, null);
        expect(first?.session_id).toBe(spelling);
      }
      expect(await b.threads.remove(id, null)).toBe(spelling);
      await b.threads.create(id, null, ANONYMOUS, null);
      expect((await a.snapshot(id)).session_id).toBe(id);
    });

    it("show text streaming elsewhere up to its last checkpoint", async () => {
      const { nodes, clock } = await started({ hasBus });
      const [a, b] = nodes as [TestService, TestService];
      const id = newId();
      await a.say(id, "go");
      expect(await contentOn(b, id)).toEqual(["user complete: go"]);
      const call = await a.model.next();
      call.say("one ");
      await until(async () => (await contentOn(a, id))[1] === "agent streaming: one ");
      await clock.advance(250);
      await until(async () => (await contentOn(b, id))[1] === "agent streaming: one ");
      call.say("two");
      await until(async () => (await contentOn(a, id))[1] === "agent streaming: one two");
      await clock.advance(250);
      await until(async () => (await contentOn(b, id))[1] === "agent streaming: one two");
      call.finish();
      await until(async () => (await contentOn(b, id))[1] === "agent complete: one two");
    });

    it("stop a turn running on another node, and keep its text", async () => {
      const { nodes, clock, pass } = await started({ hasBus });
      const [a, b] = nodes as [TestService, TestService];
      const id = newId();
      await a.say(id, "go");
      const call = await a.model.next();
      call.say("so far");
      await until(async () => (await contentOn(a, id))[1] === "agent streaming: so far");
      await clock.advance(250);
      await until(async () => (await contentOn(b, id))[1] === "agent streaming: so far");
      await b.conversations.interrupt(id, ANONYMOUS, null);
      expect((await a.snapshot(id)).messages).toMatchObject([
        {},
        { status: "interrupted", content: "so far" },
      ]);
      // Without the bus, the owner notices the interrupt at its next poll or lease renewal.
      if (!hasBus) await pass(3_000);
      await until(() => call.options.abortSignal?.aborted === true);
      expect(await contentOn(b, id)).toEqual(["user complete: go", "agent interrupted: so far"]);
    });

    it("respond to requests that wait for a turn on another node", async () => {
      const { nodes, pass } = await started({ hasBus });
      const [a, b] = nodes as [TestService, TestService];
      const id = newId();
      await a.say(id, "go");
      const waiting = b.conversations.state(
        {
          sessionId: id,
          access: ANONYMOUS,
          userState: null,
          waitMs: 60_000,
          signal: new AbortController().signal,
        },
        null,
      );
      (await a.model.next()).say("done").finish();
      await until(async () => !(await a.snapshot(id)).is_processing);
      if (!hasBus) await pass(2_000);
      const { parts } = await waiting;
      expect(JSON.parse(Buffer.concat(parts).toString())).toMatchObject({ is_processing: false });
    });

    it("respond to waiting requests when a turn on another node asks a person", async () => {
      const { nodes, pass } = await started({ hasBus, adjust: asking });
      const [a, b] = nodes as [TestService, TestService];
      const id = newId();
      await a.say(id, "go");
      const { signal } = new AbortController();
      const waiting = b.conversations.state(
        { sessionId: id, access: ANONYMOUS, userState: null, waitMs: 60_000, signal },
        null,
      );
      await until(() => b.registry.inMemory(id)?.hasWaiters === true);
      (await a.model.next()).callTool("calculator", { expression: "1+1" }, "c1").finish("tool-calls");
      await until(async () => (await a.snapshot(id)).pending_actions.length === 1);
      if (!hasBus) await pass(2_000);
      expect(parse(await waiting).pending_actions).toEqual((await a.snapshot(id)).pending_actions);
    });

    it("send a subscriber on one node all events of another node, and text to its end", async () => {
      const { nodes, pass } = await started({ hasBus });
      const [a, b] = nodes as [TestService, TestService];
      const id = newId();
      const reader = new FoldingReader(b, id);
      await reader.connect();
      await a.say(id, "go");
      const call = await a.model.next();
      for (const word of ["one ", "two ", "three"]) call.say(word);
      await until(async () => (await contentOn(a, id))[1] === "agent streaming: one two three");
      if (!hasBus) {
        // A read before the text is stored would find none, and would be the last read in this time.
        await pass(250);
        await until(async () => (await contentOn(b, id))[1] === "agent streaming: one two three");
        await pass(2_000);
      }
      await until(() => reader.snapshot?.messages[1]?.content === "one two three");
      expect(reader.snapshot?.messages[1]?.status).toBe("streaming");
      call.finish();
      await until(async () => !(await a.snapshot(id)).is_processing);
      if (!hasBus) await pass(2_000);
      await until(async () => isDeepStrictEqual(reader.snapshot, await b.snapshot(id)));
      expect(reader.faults).toEqual([]);
      reader.drop();
    });

    it("claim queued turns of a node without free slots", async () => {
      const { nodes, pass } = await started({ hasBus, adjust: oneAtATime });
      const [a, b] = nodes as [TestService, TestService];
      await a.say(newId(), "first");
      await a.say(newId(), "second");
      await a.model.next();
      if (!hasBus) await pass(2_000);
      expect((await b.model.next()).prompt.join()).toContain("second");
    });

    it("continue the turns of a dead node", async () => {
      let claimed = 0;
      const watch = (store: Store): Store => ({
        ...store,
        executeEach: async (selection) => {
          const answers = await store.executeEach(selection);
          if (selection.kind === "claimTurns") claimed += answers.length;
          return answers;
        },
      });
      const { nodes, pass } = await started({ hasBus, watch });
      const [a, b] = nodes as [TestService, TestService];
      const id = newId();
      await a.say(id, "go");
      (await a.model.next()).say("lost");
      await pass(250);
      await until(async () => (await contentOn(b, id))[1] === "agent streaming: lost");
      await a.crash();
      const answer = await followOn(b, id);
      const taken = b.model.next();
      let isTaken = false;
      void taken.then(() => (isTaken = true));
      // The lease must expire first, whatever notifications arrive.
      await pass(9_000);
      expect(isTaken).toBe(false);
      await until(async () => {
        // No time may pass between the claim and the model call, because the lease could expire.
        if (claimed === 0) await pass(1_000);
        return isTaken;
      });
      (await taken).say("again").finish();
      await until(async () => (await contentOn(b, id))[1] === "agent complete: again");
      await until(() => answer.isOver);
      expect(answer.text).toContain('"reset-step"');
      expect(answer.text.split('"reset-step"')[1]).toContain('"delta":"again"');
    });
  });
});
