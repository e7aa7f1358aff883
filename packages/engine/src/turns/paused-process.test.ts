// A process that is alone keeps its turns when it could not renew their leases (it was stopped, its machine
// was paused, its disk was full), because no other process can have taken them.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import { lines, newId, startService, until, type TestService } from "../../../server/test/service.ts";
import { Unavailable } from "../core/errors.ts";

const id = newId();
let clock: ManualClock;
let service: TestService;
let isFull = false;

beforeEach(async () => {
  clock = new ManualClock();
  isFull = false;
  const beforeCall = (method: string): undefined => {
    const isOfTurn = method.startsWith("turns.") || (!method.includes(".") && method !== "open");
    if (isFull && isOfTurn) throw new Unavailable(503, "store_unavailable", "Wait.", 1);
  };
  service = await startService({ clock, beforeCall });
});
afterEach(() => service.close());

const idle = async (): Promise<boolean> => !(await service.snapshot(id)).is_processing;
const shown = async (): Promise<string[]> => lines((await service.snapshot(id)).messages);

describe("turn of a single process", () => {
  it("continues after any number of pauses, whichever timer fires first afterwards", async () => {
    await service.say(id, "go");
    const call = await service.model.next();
    for (const [index, word] of ["one", " two", " three", " four"].entries()) {
      clock.pause(12_000);
      if (index % 2 === 0) await service.pass(1_000);
      call.say(word);
      await service.pass(4_000);
    }
    expect(await shown()).toEqual(["user complete: go", "agent streaming: one two three four"]);
    clock.pause(60_000);
    call.finish();
    await until(idle);
    expect(await shown()).toEqual(["user complete: go", "agent complete: one two three four"]);
    expect(service.model.waitingCalls).toBe(0);
  });

  it("continues where it was after the disk was full for longer than a lease", async () => {
    await service.say(id, "go");
    const call = await service.model.next();
    for (const word of ["one", " two", " three", " four"]) {
      call.say(word);
      isFull = true;
      await service.pass(13_000);
      isFull = false;
      await service.pass(2_000);
    }
    isFull = true;
    call.finish();
    await service.pass(30_000);
    isFull = false;
    await service.pass(10_000);
    await until(idle);
    expect(await shown()).toEqual(["user complete: go", "agent complete: one two three four"]);
    expect(service.model.waitingCalls).toBe(0);
  });
});
