import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { newId, RecordingSink, startService, until, type TestService } from "../../../server/test/service.ts";
import { createTurnMetrics, registerGauges } from "./metrics.ts";
import { FOR_ANYBODY } from "../../../server/test/stream-access.ts";
import { ANONYMOUS } from "../core/session-access.ts";

let service: TestService;
beforeEach(async () => {
  service = await startService();
});
afterEach(() => service.close());

async function values(): Promise<Record<string, number>> {
  const metrics = await service.register.getMetricsAsJSON();
  return Object.fromEntries(
    metrics.flatMap(({ name, values: all }) =>
      all.map(({ labels, value }) => [[name, ...Object.values(labels)].join(" "), value] as const),
    ),
  );
}

describe("the metrics of the service", () => {
  it("show running turns, sessions in memory and streams at each scrape", async () => {
    const id = newId();
    const include = new Set<never>();
    const stream = await service.feed.open(
      { sessionId: id, access: FOR_ANYBODY, include, lastEventId: null },
      new RecordingSink(),
      null,
    );
    await service.say(id, "hello");
    const call = await service.model.next();
    expect(await values()).toMatchObject({
      colloquy_turns_running: 1,
      colloquy_sessions_live: 1,
      colloquy_streams_open: 1,
    });
    expect((await values())["colloquy_snapshot_bytes"]).toBeGreaterThan(4096);
    stream.close();
    call.say("hi").finish();
    await until(async () => (await values())["colloquy_turns_running"] === 0);
    expect(await values()).toMatchObject({
      "colloquy_turns_ended_total complete": 1,
      colloquy_streams_open: 0,
    });
    await service.evict();
    expect(await values()).toMatchObject({ colloquy_sessions_live: 0, colloquy_snapshot_bytes: 0 });
  });

  it("count ended turns by outcome, and reported tokens", async () => {
    const id = newId();
    await service.say(id, "one");
    (await service.model.next()).say("1").finish();
    await until(async () => !(await service.snapshot(id)).is_processing);
    await service.say(id, "two");
    (await service.model.next()).fail(new Error("broken"));
    await until(async () => !(await service.snapshot(id)).is_processing);
    await service.say(id, "three");
    await service.model.next();
    await service.conversations.interrupt(id, ANONYMOUS, null);
    await until(async () => (await values())["colloquy_turns_ended_total stopped"] === 1);
    expect(await values()).toMatchObject({
      "colloquy_turns_ended_total complete": 1,
      "colloquy_turns_ended_total failed": 1,
      "colloquy_tokens_total input": 10,
      "colloquy_tokens_total output": 5,
    });
  });

  it("never contain a session, an App or a wallet", async () => {
    const id = newId();
    await service.say(id, "secret words", { publicKey: "0xsecret" });
    (await service.model.next()).finish();
    const text = await service.register.metrics();
    for (const name of [id, "0xsecret", "secret words", "default"]) expect(text).not.toContain(name);
  });

  it("are registered in the given register", () => {
    const register = new Registry();
    const read = () => 1;
    createTurnMetrics(register);
    registerGauges(register, {
      runningTurns: read,
      waitingTurns: read,
      liveSessions: read,
      snapshotBytes: read,
      openStreams: read,
    });
    expect(
      register
        .getMetricsAsArray()
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual([
      "colloquy_history_refused_total",
      "colloquy_history_tokens_saved_total",
      "colloquy_sessions_live",
      "colloquy_snapshot_bytes",
      "colloquy_streams_open",
      "colloquy_summaries_total",
      "colloquy_tokens_total",
      "colloquy_turns_ended_total",
      "colloquy_turns_running",
      "colloquy_turns_waiting",
    ]);
  });
});
