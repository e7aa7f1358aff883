// Streaming text of a turn on another node: which deltas are published, and which text subscribers receive.

import type { IncludeGroup, MessageDelta, UpdateEvent } from "@colloquy/protocol";
import { afterEach, describe, expect, it } from "vitest";
import type { StreamFrame } from "@colloquy/engine/internal/core/ports/driving/services";
import { startNodes, type Nodes } from "./nodes.ts";
import { isWithoutPostgres } from "./postgres-server.ts";
import { newId, RecordingSink, until, type TestService } from "./service.ts";
import { FOR_ANYBODY } from "./stream-access.ts";
import { usePostgres } from "./use-postgres.ts";

const ALL: readonly IncludeGroup[] = ["tools", "messages", "state"];

/** Records the text deltas of a stream. */
class TextReader extends RecordingSink {
  readonly deltas: Pick<MessageDelta, "offset" | "text">[] = [];

  override write(frame: StreamFrame): number {
    if (frame.kind === "event") this.#take(frame.event);
    return super.write(frame);
  }

  #take(event: UpdateEvent): void {
    if (event.type === "message_delta") this.deltas.push({ offset: event.offset, text: event.text });
    // A stream that opens during an answer begins with the whole message.
    if (event.type === "message_updated") this.deltas.push({ offset: 0, text: event.message.content });
  }

  /** The folded text. Throws if a delta leaves a gap. */
  get content(): string {
    return this.deltas.reduce((known, { offset, text }) => {
      if (offset > known.length) throw new Error(`A gap before ${offset}`);
      return offset === 0 ? text : known.slice(0, offset) + text;
    }, "");
  }

  static async open(service: TestService, sessionId: string, include = ALL): Promise<TextReader> {
    const reader = new TextReader();
    const request = { sessionId, access: FOR_ANYBODY, include: new Set(include), lastEventId: null };
    await service.feed.open(request, reader, null);
    return reader;
  }
}

describe.skipIf(await isWithoutPostgres())("text of a turn on another node", () => {
  const server = usePostgres();
  let cluster: Nodes;
  afterEach(() => cluster.close());

  /**
   * Returns the texts and the ends of answers that a node without an open stream receives for the session.
   */
  async function watch(service: TestService, id: string): Promise<readonly string[]> {
    const published: string[] = [];
    await service.hub.follow(id).ready;
    service.hub.listen({
      onNotification: (_id, notification) => {
        if (notification.kind === "delta") published.push(notification.text);
        if (notification.kind === "events")
          for (const { event } of notification.events) {
            // Notifications of the first turn may arrive late.
            if (event.type === "message_created" && event.message.turn === 2) published.length = 0;
            if (event.type === "message_completed" && event.message.turn === 2) published.push("END");
          }
      },
    });
    return published;
  }

  async function started(
    open: (service: TestService, id: string) => Promise<unknown> = async () => null,
    isWatched = false,
  ) {
    cluster = await startNodes(server, { count: 3 });
    const [first, second, third] = cluster.nodes as unknown as readonly [
      TestService,
      TestService,
      TestService,
    ];
    const id = newId();
    await first.say(id, "one");
    (await first.model.next()).say("1").finish();
    await until(async () => !(await first.snapshot(id)).is_processing);
    const reader = await open(second, id);
    const published = isWatched ? await watch(third, id) : [];
    await first.say(id, "two");
    return { id, first, second, third, reader, published, call: await first.model.next() };
  }

  it("is published only on request after its first delta", async () => {
    const { published, call } = await started(undefined, true);
    call.say("Let ", "me ", "see.").finish();
    await until(() => published.includes("END"));
    expect(published).toEqual(["Let ", "END"]);
  });

  it("reaches a stream that is already open exactly once", async () => {
    const { reader, call } = await started((service, id) => TextReader.open(service, id));
    const early = reader as TextReader;
    call.say("Let ");
    await until(() => early.content === "Let ");
    call.say("me ", "see.");
    await until(() => early.content === "Let me see.");
    expect(early.deltas.map(({ text }) => text).join("")).toBe("Let me see.");
    call.finish();
  });

  it("reaches streams that open during the answer, without repeating it to others", async () => {
    const { id, second, third, reader, call } = await started((service, session) =>
      TextReader.open(service, session),
    );
    const early = reader as TextReader;
    call.say("Let ", "me ");
    await until(() => early.content === "Let me ");
    const late = [await TextReader.open(third, id), await TextReader.open(second, id)];
    call.say("see", ".");
    for (const one of [early, ...late]) await until(() => one.content === "Let me see.");
    expect(early.deltas.map(({ text }) => text).join("")).toBe("Let me see.");
    call.finish();
  });

  it("reaches streams in every message of a steered turn, even a stream that opens during the last message", async () => {
    const { id, first, third, reader, call } = await started((service, session) =>
      TextReader.open(service, session),
    );
    const early = reader as TextReader;
    call.say("First", " part.");
    await until(() => early.content === "First part.");
    await first.say(id, "faster", { busy: "steer" });
    call.callTool("get_time", {}).finish("tool-calls");
    const next = await first.model.next();
    next.say("Second");
    await until(() => early.content === "Second");
    const late = await TextReader.open(third, id);
    next.say(" ", "part.");
    for (const one of [early, late]) await expect.poll(() => one.content).toBe("Second part.");
    next.finish();
  });

  it("is not requested by a stream without messages", async () => {
    const { published, call } = await started(
      (service, session) => TextReader.open(service, session, ["state"]),
      true,
    );
    call.say("Let ", "me ", "see.").finish();
    await until(() => published.includes("END"));
    expect(published).toEqual(["Let ", "END"]);
  });
});
