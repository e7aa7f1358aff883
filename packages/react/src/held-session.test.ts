import type { LiveSession } from "@colloquy/client";
import { afterEach, beforeEach, expect, it } from "vitest";
import { serve, type Served } from "../../client/test/served.ts";
import { HeldSession } from "./held-session.ts";

let served: Served;
let session: LiveSession;
let held: HeldSession;

beforeEach(async () => {
  served = await serve();
  session = served.client().session();
  held = new HeldSession(session, () => undefined);
});
afterEach(() => served.stop());

const title = (): string | undefined => session.getSnapshot()?.title;
const isLive = (): boolean => session.getConnection().state === "live" && served.proxy.streams === 1;

it("a session that is stopped while it is shown is followed again, for those who show it as for those who come", async () => {
  let told = 0;
  const leave = held.subscribe(() => void (told += 1));
  await served.until(isLive);
  session.stop();
  expect(session.getConnection().state).toBe("idle");
  await served.until(isLive);
  const before = told;
  await served.direct.renameThread(session.id, "After the stop");
  await served.until(() => title() === "After the stop" && told > before);
  // In the same moment, before the loop over its events has ended.
  session.stop();
  const leaveToo = held.subscribe(() => undefined);
  expect(session.getConnection().state).toBe("connecting");
  await served.until(isLive);
  for (const end of [leave, leaveToo]) end();
  await served.until(() => served.proxy.streams === 0);
});
