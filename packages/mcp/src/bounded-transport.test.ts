import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import { ManualClock } from "../../server/test/manual-clock.ts";
import { BoundedTransport } from "./bounded-transport.ts";

it("closes after one second if the server does not respond to the session termination", async () => {
  const clock = new ManualClock();
  let isClosed = false;
  const inner = {
    sessionId: "session-1",
    start: () => Promise.resolve(),
    send: () => Promise.resolve(),
    terminateSession: () => new Promise<void>(() => {}),
    close: () => {
      isClosed = true;
      return Promise.resolve();
    },
  };
  const closing = new BoundedTransport(inner, clock).close();
  await clock.advance(999);
  expect(isClosed).toBe(false);
  await clock.advance(1);
  await closing;
  expect([isClosed, clock.timers]).toEqual([true, 0]);
});

it("treats a call result without a type as complete", async () => {
  const inner: Transport = {
    start: () => Promise.resolve(),
    send: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
  const transport = new BoundedTransport(inner, new ManualClock());
  const { promise, resolve } = Promise.withResolvers<JSONRPCMessage>();
  Object.assign(transport, { onmessage: resolve });
  await transport.start();
  inner.onmessage?.({ jsonrpc: "2.0", id: 1, result: { content: [] } });
  expect(await promise).toMatchObject({ result: { content: [], resultType: "complete" } });
});
