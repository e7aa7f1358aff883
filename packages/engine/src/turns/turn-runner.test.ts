import { NEVER_CHECKED } from "../core/ports/driven/schema-check.ts";
import { describe, expect, it } from "vitest";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import { ScriptedModel } from "@colloquy/testing/internal/models/scripted-model";
import type { AppCatalog, AppDefinition } from "../core/ports/driven/apps.ts";
import { createModelCatalog } from "../models/catalog.ts";
import { fixedTools } from "../tools/testing/fixed-tools.ts";
import { ModelCaller } from "./model-step.ts";
import { type RunEnd, TurnRunner } from "./run.ts";
import { RecordingJournal } from "./testing/recording-journal.ts";
import { startedTurn } from "./testing/started-turn.ts";

function prepare(turn = startedTurn({ app: "shop" })) {
  const clock = new ManualClock();
  const model = new ScriptedModel();
  const journal = new RecordingJournal(turn);
  const ends: RunEnd[] = [];
  const warned: object[] = [];
  const shop = { instructions: "Sell shoes." } as AppDefinition;
  const apps: AppCatalog = { names: () => ["shop"], get: (name) => (name === "shop" ? shop : null) };
  const runner = new TurnRunner({
    apps,
    models: createModelCatalog({ providers: {}, clock, extraModels: { "test/scripted": model } }),
    caller: new ModelCaller(),
    tools: fixedTools({}),
    schemas: NEVER_CHECKED,
    clock,
    limits: { turnMs: 1_000, idleMs: 1_000, maxSteps: 1, toolMs: 1_000, maxModelRetries: 0, actionMs: 1_000 },
    journals: { open: async () => journal },
    hub: { follow: () => ({ ready: Promise.resolve(), stop: () => undefined }) },
    metrics: {
      turnEnded: (end) => void ends.push(end),
      tokensUsed: () => undefined,
      historyRefused: () => undefined,
    },
    logger: { debug() {}, info() {}, error() {}, warn: (fields) => void warned.push(fields) },
  });
  const signal = new AbortController().signal;
  return {
    clock,
    model,
    journal,
    ends,
    warned,
    run: () => runner.run(turn, signal, { workArrived: () => undefined }),
  };
}

describe("turn runner", () => {
  it("runs a turn with its App's instructions, closes its journal, and reports its end", async () => {
    const { model, journal, ends, run } = prepare();
    const running = run();
    const call = await model.next();
    expect(call.prompt[0]).toBe("system: Sell shoes.");
    call.say("Hi").finish();
    await running;
    expect(ends).toEqual(["complete"]);
    expect(journal.isClosed).toBe(true);
  });

  it("logs a failed turn without any content of the conversation", async () => {
    const { model, ends, warned, run } = prepare();
    const running = run();
    const error = Object.assign(new TypeError("the message was: secret"), { statusCode: 401 });
    (await model.next()).fail(error);
    await running;
    expect(ends).toEqual(["failed"]);
    expect(warned).toMatchObject([{ error: "TypeError", status: 401, turn: 1 }]);
    expect(JSON.stringify(warned)).not.toContain("secret");
  });

  it("fails a turn whose App was removed, without a model call", async () => {
    const { model, journal, ends, run } = prepare(startedTurn({ app: "gone" }));
    await run();
    expect(ends).toEqual(["failed"]);
    expect(journal.entries).toEqual(["fail app_gone"]);
    expect(model.waitingCalls).toBe(0);
    expect(journal.isClosed).toBe(true);
  });

  it("closes the journal of a turn with a defect", async () => {
    const { journal, ends, run } = prepare();
    journal.onWrite = () => Promise.reject(new Error("defect"));
    await expect(run()).rejects.toThrow("defect");
    expect(journal.isClosed).toBe(true);
    expect(ends).toEqual([]);
  });

  it("reports the end of a turn whose journal fails to close", async () => {
    const { model, journal, ends, run } = prepare();
    journal.close = () => {
      throw new Error("defect");
    };
    const running = run();
    (await model.next()).say("Hi").finish();
    await expect(running).rejects.toThrow("defect");
    expect(ends).toEqual(["complete"]);
  });
});
