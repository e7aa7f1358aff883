import { describe, expect, it } from "vitest";
import { run } from "../../../server/test/run-trial.ts";
import type { JsonObject } from "../core/json.ts";
import type { StepRecord } from "../core/turn.ts";
import { NO_USAGE } from "../core/turn.ts";
import { startedTurn } from "./testing/started-turn.ts";
import { splitRejection } from "./structured-answer.ts";

const SCHEMA: JsonObject = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const turn = { options: { responseSchema: SCHEMA } };

/** Accepts objects with a city. */
const mismatch = async (_: JsonObject, value: unknown) =>
  typeof (value as JsonObject)["city"] === "string"
    ? null
    : ({ kind: "wrong", text: "it must have required property 'city'" } as const);

describe("a turn with a response schema", () => {
  it("asks the model for JSON in the schema, with the tools in the same call", async () => {
    const trial = run({ turn, mismatch });
    const call = await trial.model.next();
    expect(call.options.responseFormat).toEqual({ type: "json", schema: SCHEMA });
    expect(call.prompt[0]).toMatch(/^system: Be brief\..* nothing else:\n\{"type":"object"/s);
    call.say('{"city":', '"Oslo"}').finish();
    expect(await trial.end).toBe("complete");
    expect(trial.journal.said).toBe('{"city":"Oslo"}');
    expect(trial.journal.steps).toMatchObject([
      { number: 1, text: '{"city":"Oslo"}', data: { city: "Oslo" } },
    ]);
  });

  it("asks for any text without a schema", async () => {
    const trial = run();
    const call = await trial.model.next();
    expect(call.options.responseFormat).toBeUndefined();
    call.say('{"city":"Oslo"}').finish();
    expect(await trial.end).toBe("complete");
    expect(trial.journal.steps[0]).not.toHaveProperty("data");
  });

  it.each([
    ["prose", "Oslo is nice.", "it is not JSON"],
    ["an array", '["Oslo"]', "it is not a JSON object"],
    ["other JSON", '{"town":"Oslo"}', "it must have required property 'city'"],
    ["deep JSON", `${'{"a":'.repeat(61)}1${"}".repeat(61)}`, "it is nested deeper than 60 levels"],
    ["large JSON", JSON.stringify({ city: "a".repeat(256 * 1024) }), "it has more than 262144 characters"],
    ["nothing", "", "it is not JSON"],
  ])("rejects %s once, and tells the model why", async (_, text, issue) => {
    const trial = run({ turn, mismatch });
    const first = await trial.model.next();
    first.say(text).finish();
    const second = await trial.model.next();
    const messages = second.prompt.slice(1);
    expect(messages[0]).toContain("Hello");
    expect(messages.at(-1)).toMatch(/^user: /);
    expect(messages.at(-1)).toContain(`This answer was rejected: ${issue}.`);
    // Adjacent messages of the user are one message.
    expect(messages.length).toBe(text === "" ? 1 : 3);
    second.say('{"city":"Oslo"}').finish();
    expect(await trial.end).toBe("complete");
    expect(trial.journal.entries).toEqual(["history", "reject 1", "complete 2"]);
    expect(trial.journal.steps).toMatchObject([
      { text: "" },
      { text: '{"city":"Oslo"}', data: { city: "Oslo" } },
    ]);
  });

  it.each(['```json\n{"city":"Oslo"}\n```', '\n```\n{"city":\n"Oslo"}\n ```\n', '~~~\n{"city":"Oslo"}\n~~~'])(
    "accepts one code fence around the answer: %j",
    async (text) => {
      const trial = run({ turn, mismatch });
      (await trial.model.next()).say(text).finish();
      expect(await trial.end).toBe("complete");
      expect(trial.journal.steps).toMatchObject([{ text, data: { city: "Oslo" } }]);
    },
  );

  it.each(['Here:\n```json\n{"city":"Oslo"}\n```', '```\n```json\n{"city":"Oslo"}\n```\n```'])(
    "rejects an answer that is more than one fenced object: %j",
    async (text) => {
      const trial = run({ turn, mismatch });
      (await trial.model.next()).say(text).finish();
      (await trial.model.next()).say(text).finish();
      expect(await trial.end).toBe("failed");
    },
  );

  it("fails after a second answer that does not match", async () => {
    const trial = run({ turn, mismatch });
    (await trial.model.next()).say("one").finish();
    (await trial.model.next()).say("two").finish();
    expect(await trial.end).toBe("failed");
    expect(trial.journal.entries).toEqual(["history", "reject 1", "fail schema_mismatch"]);
  });

  it("fails at the last step, because no step is left for another answer", async () => {
    const trial = run({ turn, mismatch, limits: { maxSteps: 1 } });
    (await trial.model.next()).say("one").finish();
    expect(await trial.end).toBe("failed");
    expect(trial.journal.failure?.code).toBe("schema_mismatch");
  });

  it("does not check steps with calls, also between two answers", async () => {
    const trial = run({ turn, mismatch });
    (await trial.model.next()).say("one").finish();
    (await trial.model.next()).say("I look it up.").callTool("none", {}).finish("tool-calls");
    (await trial.model.next()).say("two").finish();
    expect(await trial.end).toBe("failed");
    expect(trial.journal.entries.at(-1)).toBe("fail schema_mismatch");
    expect(trial.journal.steps.map(({ number }) => number)).toEqual([1, 2]);
  });

  it("gives the second answer after a crash, and no third", async () => {
    const before = run({ turn, mismatch });
    (await before.model.next()).say("one").finish();
    await before.model.next();
    before.controller.abort();
    await before.end;
    const steps = before.journal.steps;

    const resumed = run({ turn: { ...turn, stepsDone: 1 }, steps, mismatch });
    const call = await resumed.model.next();
    expect(call.prompt.slice(2)).toEqual([
      'assistant: [{"type":"text","text":"one"}]',
      expect.stringContaining("This answer was rejected: it is not JSON."),
    ]);
    call.say("two").finish();
    expect(await resumed.end).toBe("failed");
    expect(resumed.journal.failure?.code).toBe("schema_mismatch");
  });

  it("cleans the data as it cleans text", async () => {
    const trial = run({ turn, mismatch });
    (await trial.model.next()).say(String.raw`{"city":"O\u0000s\ud800lo","__proto__":1e999}`).finish();
    await trial.end;
    expect(JSON.stringify(trial.journal.steps[0]?.data)).toBe('{"city":"Os\ufffdlo","__proto__":null}');
  });

  it("shows rejected answers to no later turn", async () => {
    const rejected: StepRecord = {
      number: 1,
      text: "",
      parts: [
        { type: "text", text: "wrong" },
        { type: "rejection", text: "This answer was rejected" },
      ],
      usage: NO_USAGE,
      finishReason: "stop",
    };
    const right = { ...rejected, number: 2, text: "right", parts: [{ type: "text", text: "right" }] };
    const agentMessage = { ...startedTurn().agentMessage, content: "right" };
    const past = { number: 1, state: "complete", userMessage: { content: "one" }, agentMessage } as const;
    const trial = run({ turn: { number: 2 }, before: [{ ...past, steps: [rejected, right] }] });
    const prompt = (await trial.model.next()).prompt.join("\n");
    expect(prompt).toContain("right");
    expect(prompt).not.toMatch(/wrong|rejected/);
    expect(splitRejection(rejected)).toEqual({
      parts: [{ type: "text", text: "wrong" }],
      rejection: "This answer was rejected",
    });
  });
});
