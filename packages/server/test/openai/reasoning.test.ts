// Streamed reasoning, for requests with `reasoning.summary`.

import type OpenAI from "openai";
import { describe, expect, it } from "vitest";
import type { ScriptedCall } from "@colloquy/testing/internal/models/scripted-model";
import { useOpenAI } from "./openai-service.ts";

type Event = OpenAI.Responses.ResponseStreamEvent;
const service = useOpenAI();

function think(call: ScriptedCall, ...texts: string[]): ScriptedCall {
  return call.emit(
    { type: "reasoning-start", id: "r" },
    ...texts.map((delta) => ({ type: "reasoning-delta", id: "r", delta }) as const),
  );
}

/** Starts a stream and collects its events. */
async function streamed(more: object = {}) {
  const events: Event[] = [];
  const stream = await service().client.responses.create({
    model: "default",
    input: "hello",
    stream: true,
    reasoning: { summary: "auto" },
    ...more,
  });
  const whole = (async () => {
    for await (const event of stream) events.push(event);
    return events;
  })();
  return { events, whole };
}

const deltasIn = (events: readonly Event[], part = 0): string =>
  events
    .map((event) =>
      event.type === "response.reasoning_summary_text.delta" && event.summary_index === part
        ? event.delta
        : "",
    )
    .join("");
const withoutPieces = (events: readonly Event[]): Event[] =>
  events.filter(
    ({ type }) =>
      !["response.reasoning_summary_part.added", "response.output_text.delta"].includes(type) &&
      type !== "response.reasoning_summary_text.delta",
  );
const idOf = (events: readonly Event[]): string =>
  (events[0] as OpenAI.Responses.ResponseCreatedEvent).response.id;

describe("a response with reasoning.summary", () => {
  it("streams the reasoning as one item before the text, while the model thinks", async () => {
    const { events, whole } = await streamed();
    const call = think(await service().model.next(), "The user ", "greets ");
    await expect.poll(() => deltasIn(events)).toBe("The user greets");
    expect(events.some(({ type }) => type === "response.output_text.delta")).toBe(false);
    call.emit({ type: "reasoning-delta", id: "r", delta: "me." }).say("Hello!").finish();
    await whole;
    expect(deltasIn(events)).toBe("The user greets me.");
    expect(withoutPieces(events).map(({ type }) => type)).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.reasoning_summary_text.done",
      "response.reasoning_summary_part.done",
      "response.output_item.done",
      "response.completed",
    ]);
    const [, , added, message] = withoutPieces(events);
    expect(added).toMatchObject({ output_index: 0, item: { type: "reasoning", summary: [] } });
    expect(message).toMatchObject({ output_index: 1, item: { type: "message" } });
    const { response } = events.at(-1) as OpenAI.Responses.ResponseCompletedEvent;
    expect(response.output).toMatchObject([
      { type: "reasoning", summary: [{ type: "summary_text", text: "The user greets me." }] },
      { type: "message" },
    ]);
    expect(await service().client.responses.retrieve(response.id)).toMatchObject({ output: response.output });
  });

  it("sends events in order, with the same sequence numbers for later readers", async () => {
    const { events, whole } = await streamed();
    think(await service().model.next(), "Hm, ", "well.")
      .say("One ", "two.")
      .finish();
    await whole;
    const again: Event[] = [];
    for await (const event of await service().client.responses.retrieve(idOf(events), { stream: true }))
      again.push(event);
    expect(withoutPieces(again)).toEqual(withoutPieces(events));
    expect(deltasIn(again)).toBe("Hm, well.");
    const numbers = events.map(({ sequence_number }) => sequence_number);
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
  });

  it("resumes after any event, without reasoning deltas but with the complete reasoning at the end", async () => {
    const { events, whole } = await streamed();
    think(await service().model.next(), "Hm, ", "well.")
      .say("One ", "two.")
      .finish();
    await whole;
    for (const [index, { sequence_number: after }] of events.entries()) {
      const rest: Event[] = [];
      const options = { stream: true, starting_after: after } as const;
      for await (const event of await service().client.responses.retrieve(idOf(events), options))
        rest.push(event);
      const expected = withoutPieces(
        events.slice(index + 1).filter((event) => event.sequence_number > after),
      );
      expect(withoutPieces(rest)).toEqual(expected);
      expect(deltasIn(rest)).toBe("");
    }
  });

  it("has a part for each step, and no parts if the model does not reason", async () => {
    const { events, whole } = await streamed();
    const first = think(await service().model.next(), "I look.");
    // A stream that follows only after the step's end does not get its deltas.
    await expect.poll(() => deltasIn(events)).toBe("I look.");
    first.callTool("get_time", {}).finish("tool-calls");
    think(await service().model.next(), "Noon.")
      .say("It is noon.")
      .finish();
    await whole;
    expect([deltasIn(events, 0), deltasIn(events, 1)]).toEqual(["I look.", "Noon."]);
    const { response } = events.at(-1) as OpenAI.Responses.ResponseCompletedEvent;
    expect(response.output[0]).toMatchObject({ summary: [{ text: "I look." }, { text: "Noon." }] });
    const plain = await streamed();
    (await service().model.next()).say("Hello!").finish();
    const last = (await plain.whole).at(-1) as OpenAI.Responses.ResponseCompletedEvent;
    expect(last.response.output).toMatchObject([{ type: "reasoning", summary: [] }, { type: "message" }]);
  });

  it("sends no reasoning deltas unless requested", async () => {
    const { events, whole } = await streamed({ reasoning: null });
    think(await service().model.next(), "Hm.")
      .say("Hello!")
      .finish();
    await whole;
    expect(deltasIn(events)).toBe("");
    const { response } = events.at(-1) as OpenAI.Responses.ResponseCompletedEvent;
    expect(response.output).toMatchObject([
      { type: "message" },
      { type: "reasoning", content: [{ type: "reasoning_text", text: "Hm." }] },
    ]);
  });
});
