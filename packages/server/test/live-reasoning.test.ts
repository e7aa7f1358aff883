// Reasoning while it streams, on one node and on two.

import type { IncludeGroup, ReasoningDelta, UpdateEvent } from "@colloquy/protocol";
import { afterEach, describe, expect, it } from "vitest";
import type { StreamFrame } from "@colloquy/engine/internal/core/ports/driving/services";
import { startNodes, type Nodes } from "./nodes.ts";
import { isWithoutPostgres } from "./postgres-server.ts";
import type { ScriptedCall } from "@colloquy/testing/internal/models/scripted-model";
import { newId, RecordingSink, recordsOf, startService, until, type TestService } from "./service.ts";
import { FOR_ANYBODY } from "./stream-access.ts";
import { usePostgres } from "./use-postgres.ts";

const ALL: readonly IncludeGroup[] = ["tools", "messages", "state", "reasoning"];

/** Folds the reasoning of a stream as docs/api.md says. */
class ReasoningReader extends RecordingSink {
  readonly pieces: ReasoningDelta[] = [];
  readonly steps = new Map<number, string>();
  readonly gaps: ReasoningDelta[] = [];

  override write(frame: StreamFrame): number {
    if (frame.kind === "event") this.#take(frame.event);
    return super.write(frame);
  }

  #take(event: UpdateEvent): void {
    if (event.type !== "reasoning_delta") return;
    this.pieces.push(event);
    const known = this.steps.get(event.step) ?? "";
    if (event.offset > known.length) this.gaps.push(event);
    this.steps.set(event.step, known.slice(0, event.offset) + event.text);
  }

  static async open(
    service: TestService,
    sessionId: string,
    include: readonly IncludeGroup[] = ALL,
  ): Promise<ReasoningReader> {
    const reader = new ReasoningReader();
    const request = { sessionId, access: FOR_ANYBODY, include: new Set(include), lastEventId: null };
    await service.feed.open(request, reader, null);
    await new Promise((resolve) => setImmediate(resolve));
    return reader;
  }
}

function think(call: ScriptedCall, ...texts: string[]): ScriptedCall {
  call.emit({ type: "reasoning-start", id: "r" });
  return more(call, ...texts);
}

function more(call: ScriptedCall, ...texts: string[]): ScriptedCall {
  return call.emit(...texts.map((delta) => ({ type: "reasoning-delta", id: "r", delta }) as const));
}

async function storedReasoning(service: TestService, id: string): Promise<readonly string[]> {
  const records = await recordsOf(service, id, null, 100, null, true);
  return records.flatMap(({ reasoning }) => reasoning?.map(({ text }) => text) ?? []);
}

describe("reasoning of a running call", () => {
  let service: TestService;
  afterEach(() => service.close());

  it("is streamed on request, and equals the stored reasoning", async () => {
    service = await startService();
    const id = newId();
    await service.say(id, "hello");
    const reader = await ReasoningReader.open(service, id);
    const other = await ReasoningReader.open(service, id, ["tools", "messages", "state"]);
    const call = think(await service.model.next(), "The user ", "greets ", "me.\n");
    await until(() => reader.steps.get(1) === "The user greets me.");
    expect(reader.pieces.map(({ offset }) => offset)).toEqual([0, 8, 15]);
    call.say("Hello!").finish();
    await until(async () => !(await service.snapshot(id)).is_processing);
    expect(await storedReasoning(service, id)).toEqual([reader.steps.get(1)]);
    expect(other.pieces).toEqual([]);
  });

  it("is sent in full to a stream that opens during the call", async () => {
    service = await startService();
    const id = newId();
    await service.say(id, "hello");
    const call = think(await service.model.next(), "The user ", "greets ");
    await new Promise((resolve) => setImmediate(resolve));
    const first = await ReasoningReader.open(service, id);
    await until(() => first.steps.get(1) === "The user greets");
    const second = await ReasoningReader.open(service, id);
    more(call, "me.");
    for (const reader of [first, second]) {
      await until(() => reader.steps.get(1) === "The user greets me.");
      expect(reader.gaps).toEqual([]);
    }
    call.say("Hello!").finish();
  });

  it("restarts when the call is retried, and is separate for each step", async () => {
    service = await startService();
    const id = newId();
    await service.say(id, "hello");
    const reader = await ReasoningReader.open(service, id);
    const failed = think(await service.model.next(), "A first thought.");
    await until(() => reader.steps.get(1) === "A first thought.");
    failed.fail(Object.assign(new Error("reset"), { code: "ECONNRESET", isRetryable: true }));
    await service.pass(2_000);
    const call = think(await service.model.next(), "A second.");
    await until(() => reader.steps.get(1) === "A second.");
    call.callTool("get_time", {}).finish("tool-calls");
    think(await service.model.next(), "Now the answer.")
      .say("Noon.")
      .finish();
    await until(async () => !(await service.snapshot(id)).is_processing);
    expect([...reader.steps.values()]).toEqual(["A second.", "Now the answer."]);
    expect(await storedReasoning(service, id)).toEqual([...reader.steps.values()]);
  });

  it("is not published beyond its first piece without a request", async () => {
    service = await startService();
    const id = newId();
    const published: string[] = [];
    service.hub.listen({
      onNotification: (_id, notification) => {
        if (notification.kind === "reasoning") published.push(notification.text);
      },
    });
    await service.say(id, "hello");
    think(await service.model.next(), "The user ", "greets ", "me.")
      .say("Hello!")
      .finish();
    await until(async () => !(await service.snapshot(id)).is_processing);
    expect(published).toEqual(["The user"]);
  });
});

describe.skipIf(await isWithoutPostgres())("reasoning of a call on another node", () => {
  const server = usePostgres();
  let cluster: Nodes;
  afterEach(() => cluster.close());

  /** Starts a turn on the first node. */
  async function started(hasBus = true) {
    cluster = await startNodes(server, { count: 2, hasBus });
    const [first, second] = cluster.nodes as unknown as readonly [TestService, TestService];
    const id = newId();
    await first.say(id, "hello");
    return { id, first, second, call: await first.model.next() };
  }

  it("is streamed, also to a stream that opens during the call", async () => {
    const { id, second, call } = await started();
    const early = await ReasoningReader.open(second, id);
    think(call, "The user ", "greets ");
    await until(() => early.steps.get(1) === "The user greets");
    const late = await ReasoningReader.open(second, id);
    more(call, "me.");
    for (const reader of [early, late]) {
      await until(() => reader.steps.get(1) === "The user greets me.");
      expect(reader.gaps).toEqual([]);
    }
    call.say("Hello!").finish();
  });

  it("restarts after the other node has crashed", async () => {
    const { id, first, second, call } = await started();
    const reader = await ReasoningReader.open(second, id);
    think(call, "A thought that is lost.");
    await until(() => reader.steps.get(1) === "A thought that is lost.");
    await first.crash();
    await cluster.pass(15_000);
    const again = think(await second.model.next(), "Another.");
    await until(() => reader.steps.get(1) === "Another.");
    again.say("Hello!").finish();
    await until(async () => !(await second.snapshot(id)).is_processing);
    expect(await storedReasoning(second, id)).toEqual(["Another."]);
  });
});
