// Streams that open while their session is loaded, deleted or created again.

import type { IncludeGroup } from "@colloquy/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FoldingReader } from "../../../server/test/folding-reader.ts";
import type { BeforeCall } from "../../../server/test/intercepted-store.ts";
import { newId, RecordingSink, startService, until, type TestService } from "../../../server/test/service.ts";
import { ANONYMOUS } from "../core/session-access.ts";
import { FOR_ANYBODY } from "../../../server/test/stream-access.ts";

const EVERYTHING: ReadonlySet<IncludeGroup> = new Set(["tools", "messages", "state"]);

let service: TestService;
let id: string;
let before: BeforeCall;
beforeEach(async () => {
  before = () => undefined;
  service = await startService({ beforeCall: (...call) => before(...call) });
  id = newId();
});
afterEach(() => service.close());

async function open(lastEventId: string | null = null) {
  const sink = new RecordingSink();
  const stream = await service.feed.open(
    { sessionId: id, access: FOR_ANYBODY, include: EVERYTHING, lastEventId },
    sink,
    null,
  );
  return { sink, stream };
}

const idle = async (): Promise<boolean> => !(await service.snapshot(id)).is_processing;

async function turn(text: string): Promise<void> {
  await service.say(id, text);
  (await service.model.next()).say("ok").finish();
  await until(idle);
}

/** Blocks the calls of a store method until the returned function is called. */
function hold(method: string): () => void {
  const gate = Promise.withResolvers<void>();
  before = (called) => (called === method ? gate.promise : undefined);
  return () => {
    before = () => undefined;
    gate.resolve();
  };
}

describe("stream being opened", () => {
  it("misses no event committed while its position is read", async () => {
    await turn("one");
    const subscriber = new FoldingReader(service, id);
    await service.snapshot(id);
    const from = (await service.snapshot(id)).last_event_id;
    await turn("two");
    const letGo = hold("events.after");
    const sink = new RecordingSink();
    const opening = service.feed.open(
      { sessionId: id, access: FOR_ANYBODY, include: EVERYTHING, lastEventId: from },
      sink,
      null,
    );
    await turn("three");
    letGo();
    await opening;
    await subscriber.connect();
    const head = (await service.snapshot(id)).last_event_id;
    await until(() => sink.text.includes(`id: ${head}\n`));
    const ids = [...sink.text.matchAll(/^id: .*-(\d+)$/gm)].map(([, number]) => Number(number));
    const first = Number(from.split("-")[1]) + 1;
    expect(ids).toEqual(ids.map((_, index) => first + index));
  });

  it("ends with the `session_deleted` notice when its session is deleted", async () => {
    await turn("one");
    const from = (await service.snapshot(id)).last_event_id;
    await turn("two");
    const letGo = hold("events.after");
    const sink = new RecordingSink();
    const opening = service.feed.open(
      { sessionId: id, access: FOR_ANYBODY, include: EVERYTHING, lastEventId: from },
      sink,
      null,
    );
    await until(() => service.registry.inMemory(id) !== null);
    await service.threads.remove(id, null);
    letGo();
    await opening;
    expect(sink.text).toContain("session_deleted");
    expect(sink.ended).toBe("finish");
    expect(service.feed.openStreams).toBe(0);
  });

  it("leaves nothing behind when its session cannot be opened", async () => {
    before = (method) => (method === "open" ? Promise.reject(new Error("broken")) : undefined);
    await expect(open()).rejects.toThrow("broken");
    before = () => undefined;
    const { sink } = await open();
    await service.threads.rename(id, "Seen", null);
    expect(sink.text).toContain("Seen");
  });

  it("ends at once when the service stops", async () => {
    const letGo = hold("open");
    const sink = new RecordingSink();
    const opening = service.feed.open(
      { sessionId: id, access: FOR_ANYBODY, include: EVERYTHING, lastEventId: null },
      sink,
      null,
    );
    service.feed.stop();
    letGo();
    await opening;
    expect(sink.ended).toBe("finish");
    expect(service.feed.openStreams).toBe(0);
  });
});

describe("streams of one session id in two incarnations", () => {
  it("end with their own incarnation, and the next one starts at its own first event", async () => {
    await turn("one");
    const old = await open();
    await service.threads.remove(id, null);
    expect(old.sink.ended).toBe("finish");
    await service.threads.create(id, null, ANONYMOUS, null);
    const { sink } = await open();
    await turn("new life");
    expect(old.sink.text).not.toContain("new life");
    const head = (await service.snapshot(id)).last_event_id;
    expect(sink.text).toContain(`id: ${head}\n`);
    expect(sink.ended).toBeNull();
  });
});
