import type { LiveSession } from "@colloquy/client";
import { afterEach, beforeEach, expect, it } from "vitest";
import { serve, type Served } from "../../client/test/served.ts";
import { SharedSession } from "./shared-session.ts";

let served: Served;
let session: LiveSession;
let held: SharedSession;

beforeEach(async () => {
  served = await serve();
  session = served.client().session();
  held = new SharedSession(session, new Set(), () => undefined);
});
afterEach(() => served.stop());

const title = (): string | undefined => session.getSnapshot()?.title;
const isLive = (): boolean => session.getConnection().state === "live" && served.proxy.streams === 1;

it("a session stopped while shown is followed again, for its current subscribers and new ones", async () => {
  let told = 0;
  const leave = held.subscribe(() => void (told += 1));
  await served.until(isLive);
  session.stop();
  expect(session.getConnection().state).toBe("idle");
  await served.until(isLive);
  const before = told;
  await served.direct.renameThread(session.id, "After the stop");
  await served.until(() => title() === "After the stop" && told > before);
  // In the same tick, before the loop over its events has ended.
  session.stop();
  const leaveToo = held.subscribe(() => undefined);
  expect(session.getConnection().state).toBe("connecting");
  await served.until(isLive);
  for (const end of [leave, leaveToo]) end();
  await served.until(() => served.proxy.streams === 0);
});
