// Kills the process in the middle of a stream, and resumes the stream on the next process.

import OpenAI from "openai";
import { afterEach, describe, expect, it } from "vitest";
import { startProgramWithProvider } from "../held-provider.ts";

type Event = OpenAI.Responses.ResponseStreamEvent;

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function startProgram() {
  const { provider, program } = await startProgramWithProvider(cleanups);
  const client = () =>
    new OpenAI({ baseURL: `${program.url}/v1`, apiKey: "any", maxRetries: 0, logLevel: "off" });
  return { provider, program, client };
}

/** Reads events until one contains the text, then kills the process. */
async function killedAfter(text: string) {
  const { provider, program, client } = await startProgram();
  const streaming = client().responses.create({ model: "default", input: "count", stream: true });
  const call = await provider.next();
  call.say(text);
  const events: Event[] = [];
  const stream = await streaming;
  const broken = (async () => {
    for await (const event of stream) {
      events.push(event);
      if (event.type === "response.output_text.delta") await program.stop("SIGKILL");
    }
  })();
  await expect(broken).rejects.toThrow();
  await program.run();
  const { id } = (events[0] as OpenAI.Responses.ResponseCreatedEvent).response;
  const last = events.at(-1)!;
  return { provider, client, id, events, after: last.sequence_number };
}

describe("a process that is killed in the middle of a response", () => {
  it("is replaced by one that resumes the text with the same ids and sequence numbers", async () => {
    const { provider, client, id, events, after } = await killedAfter("one two");
    const resuming = client().responses.retrieve(id, { stream: true, starting_after: after });
    const call = await provider.next();
    call.say("one two");
    call.say(" three");
    call.finish();
    const rest: Event[] = [];
    for await (const event of await resuming) rest.push(event);
    const seen = [...events, ...rest];
    const text = seen
      .map((event) => (event.type === "response.output_text.delta" ? event.delta : ""))
      .join("");
    expect(text).toBe("one two three");
    expect(rest.at(-1)).toMatchObject({ type: "response.completed", response: { id, status: "completed" } });
    const whole: Event[] = [];
    for await (const event of await client().responses.retrieve(id, { stream: true })) whole.push(event);
    const fixed = (list: readonly Event[]) =>
      list.filter(({ type }) => type !== "response.output_text.delta");
    expect(fixed(seen)).toEqual(fixed(whole));
    const ids = seen.flatMap((event) => ("item_id" in event ? [event.item_id] : []));
    expect(new Set(ids).size).toBe(1);
  });

  it("is replaced by one that finishes the reasoning with the text of the repeated step", async () => {
    const { provider, program, client } = await startProgram();
    const request = {
      model: "default",
      input: "count",
      stream: true,
      reasoning: { summary: "auto" },
    } as const;
    const streaming = client().responses.create(request);
    (await provider.next()).think("A thought that is lost.");
    const events: Event[] = [];
    const broken = (async () => {
      for await (const event of await streaming) {
        events.push(event);
        if (event.type === "response.reasoning_summary_text.delta") await program.stop("SIGKILL");
      }
    })();
    await expect(broken).rejects.toThrow();
    await program.run();
    const { id } = (events[0] as OpenAI.Responses.ResponseCreatedEvent).response;
    const starting_after = events.at(-1)!.sequence_number;
    const resuming = client().responses.retrieve(id, { stream: true, starting_after });
    const call = await provider.next();
    call.think("Another.");
    call.say("one");
    call.finish();
    const rest: Event[] = [];
    for await (const event of await resuming) rest.push(event);
    const ended = rest.filter(({ type }) => type === "response.reasoning_summary_text.done");
    expect(ended).toMatchObject([{ text: "Another.", output_index: 0, summary_index: 0 }]);
    const whole: Event[] = [];
    for await (const event of await client().responses.retrieve(id, { stream: true })) whole.push(event);
    const isPiece = ({ type }: Event) => /delta$|summary_part.added$/.test(type);
    expect([...events, ...rest].filter((event) => !isPiece(event))).toEqual(
      whole.filter((event) => !isPiece(event)),
    );
  });

  it("makes resuming fail with an error if the step returns another text, and lets the client retrieve it", async () => {
    const { provider, client, id, after } = await killedAfter("one two");
    const resuming = client().responses.retrieve(id, { stream: true, starting_after: after });
    const call = await provider.next();
    call.say("six");
    call.say(" seven eight");
    call.finish();
    const read = async () => {
      for await (const event of await resuming) expect(event.type).not.toBe("response.output_text.delta");
    };
    await expect(read()).rejects.toThrow(/run again/);
    const response = await client().responses.retrieve(id);
    expect(response.output_text).toBe("six seven eight");
  });
});
