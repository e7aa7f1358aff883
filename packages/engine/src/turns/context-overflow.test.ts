// Prompts that the provider refuses as too long, although the service estimates that they fit.

import { APICallError } from "@ai-sdk/provider";
import type { ScriptedCall } from "@colloquy/testing/internal/models/scripted-model";
import { describe, expect, it } from "vitest";
import { run } from "../../../server/test/run-trial.ts";
import type { Tool } from "../core/ports/driven/tool.ts";
import { type PastSpec, pastTurn } from "./testing/past-turn.ts";
import { startedTurn } from "./testing/started-turn.ts";

const TOO_LONG = new APICallError({
  message: "prompt is too long: 212230 tokens > 200000 maximum",
  url: "http://127.0.0.1/",
  requestBodyValues: {},
  statusCode: 400,
  responseBody: "",
  isRetryable: false,
});

const before = (...specs: readonly PastSpec[]) => specs.map((spec, index) => pastTurn(index + 1, spec));
const past = (user: string, bytes = 10_000): PastSpec => ({ user, steps: [["x".repeat(bytes)]] });
const asked = ({ options: { prompt } }: ScriptedCall) =>
  prompt.flatMap(({ role, content }) =>
    role === "user" ? content.map((part) => (part.type === "text" ? part.text : part.type)) : [],
  );

describe("a prompt that the provider refuses as too long", () => {
  it("is sent again with fewer of the oldest turns, until the provider accepts it", async () => {
    const { model, end } = run({
      turn: startedTurn({ number: 5 }),
      before: before(past("one"), past("two"), past("three"), past("four", 5_000)),
    });
    const first = await model.next();
    expect(asked(first)).toEqual(["one", "two", "three", "four", "Hello"]);
    first.fail(TOO_LONG);
    const second = await model.next();
    expect(asked(second)).toEqual(["three", "four", "Hello"]);
    second.fail(TOO_LONG);
    const third = await model.next();
    expect(asked(third)).toEqual(["four", "Hello"]);
    third.say("Hi.").finish();
    expect(await end).toBe("complete");
  });

  it("is sent again with fewer of the oldest steps, and stays short in the next steps", async () => {
    const tool: Tool = {
      name: "tool",
      description: "Returns text",
      effect: "read",
      inputSchema: { type: "object" },
      execute: (input) => Promise.resolve("x".repeat((input as { bytes: number }).bytes)),
    };
    const { model, end } = run({ tools: [tool] });
    const results = ({ options: { prompt } }: ScriptedCall) =>
      prompt.flatMap(({ role, content }) =>
        role === "tool" ? content.map((part) => ("toolCallId" in part ? part.toolCallId : "")) : [],
      );
    for (const [id, bytes] of Object.entries({ a: 5_000, b: 5_000, c: 5_000, d: 1_000 }))
      (await model.next()).callTool("tool", { bytes }, id).finish("tool-calls");
    const fifth = await model.next();
    expect(results(fifth)).toEqual(["a", "b", "c", "d"]);
    fifth.fail(TOO_LONG);
    const again = await model.next();
    expect(results(again)).toEqual(["c", "d"]);
    again.callTool("tool", { bytes: 5_000 }, "e").finish("tool-calls");
    const sixth = await model.next();
    expect(results(sixth)).toEqual(["d", "e"]);
    sixth.say("Done.").finish();
    expect(await end).toBe("complete");
  });

  it("fails the turn if nothing is left to omit", async () => {
    const { model, journal, end } = run({
      before: [pastTurn(1, past("one"))],
      turn: startedTurn({ number: 2 }),
    });
    (await model.next()).fail(TOO_LONG);
    const second = await model.next();
    expect(asked(second)).toEqual(["Hello"]);
    second.fail(TOO_LONG);
    expect(await end).toBe("failed");
    expect(journal.failure?.code).toBe("model_context_overflow");
  });
});
