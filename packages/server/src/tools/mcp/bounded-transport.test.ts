import { expect, it } from "vitest";
import { ManualClock } from "../../../test/manual-clock.ts";
import { BoundedTransport } from "./bounded-transport.ts";

it("closes after a second if the server does not end its session", async () => {
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
