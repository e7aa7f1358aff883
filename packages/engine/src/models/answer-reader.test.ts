import { expect, it } from "vitest";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import { AnswerReader } from "./answer-reader.ts";

it("lets timers and other requests have their turn between the pieces of an answer that has arrived", async () => {
  const pieces = 50;
  const chunk = { choices: [{ index: 0, delta: { content: "x" }, finish_reason: null }] };
  const sent = new TextEncoder().encode(`data: ${JSON.stringify(chunk)}\n\n`);
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (let n = 0; n < pieces; n += 1) controller.enqueue(sent);
      controller.enqueue(new TextEncoder().encode("data: [DONE]\n\n"));
      controller.close();
    },
  });
  const { fetch } = new AnswerReader({
    protocol: "chat",
    fetch: () => Promise.resolve(new Response(body)),
    clock: new ManualClock(),
    timeoutMs: undefined,
    onWarning: () => undefined,
  });
  let turns = 0;
  let isRead = false;
  const count = (): void => {
    turns += 1;
    if (!isRead) setImmediate(count);
  };
  setImmediate(count);
  const response = await fetch("http://model.example.test");
  const text = await response.text();
  isRead = true;
  expect(text.match(/"x"/g)).toHaveLength(pieces);
  expect(turns).toBeGreaterThanOrEqual(pieces);
});
