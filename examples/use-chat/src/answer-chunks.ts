import type { Message, PendingAction, Snapshot } from "@colloquy/client";
import type { UIMessageChunk } from "ai";

/** The data part of what the assistant asks, where that is more than yes or no: `null` once it is decided. */
export type ActionData = PendingAction | null;

/** The chunks that make the AI SDK's message of an answer, state by state. */
export class AnswerChunks {
  #text = "";
  /** Which chunks were given, by kind and id. */
  #given = new Set<string>();
  #block = 0;

  /** What is new in this state of the answer; all of it where it does not go on from the one before, as after a crash of the service. */
  next(message: Message, snapshot: Snapshot): UIMessageChunk[] {
    const chunks: UIMessageChunk[] = [];
    if (this.#isNew("start")) chunks.push({ type: "start", messageId: message.id }, { type: "start-step" });
    if (!message.content.startsWith(this.#text)) {
      chunks.push({ type: "reset-step" });
      this.#text = "";
      this.#given = new Set(["start"]);
    }
    chunks.push(
      ...this.#calls(message),
      ...this.#actions(message, snapshot),
      ...this.#grown(message.content),
    );
    if (isOver(message, snapshot)) chunks.push(...this.#end(message, snapshot));
    return chunks;
  }

  *#calls({ tool_calls = [], tool_results = [] }: Message): Iterable<UIMessageChunk> {
    for (const { id: toolCallId, name: toolName, arguments: input } of tool_calls) {
      if (!this.#isNew(`call ${toolCallId}`)) continue;
      // What is said before and after a call are two texts.
      yield* this.#closeText();
      yield {
        type: "tool-input-available",
        toolCallId,
        toolName,
        input,
        dynamic: true,
        providerExecuted: true,
      };
    }
    for (const { call_id: toolCallId, output, is_error } of tool_results) {
      if (!this.#isNew(`result ${toolCallId}`)) continue;
      const common = { toolCallId, dynamic: true, providerExecuted: true } as const;
      if (is_error) yield { type: "tool-output-error", ...common, errorText: words(output) };
      else yield { type: "tool-output-available", ...common, output };
    }
  }

  *#actions({ tool_calls = [] }: Message, { pending_actions }: Snapshot): Iterable<UIMessageChunk> {
    const calls = new Set(tool_calls.map(({ id }) => id));
    for (const action of pending_actions.filter(({ call_id }) => calls.has(call_id))) {
      const { id, call_id: toolCallId, kind } = action;
      if (!this.#isNew(`action ${id}`)) continue;
      if (kind === "approval") yield { type: "tool-approval-request", approvalId: id, toolCallId };
      else yield { type: "data-action", id, data: action satisfies ActionData };
    }
    const waiting = new Set(pending_actions.map(({ id }) => id));
    for (const given of this.#given) {
      const id = given.startsWith("action ") ? given.slice("action ".length) : null;
      if (id === null || waiting.has(id) || !this.#isNew(`decided ${id}`)) continue;
      yield { type: "data-action", id, data: null satisfies ActionData };
    }
  }

  *#grown(content: string): Iterable<UIMessageChunk> {
    const delta = content.slice(this.#text.length);
    if (delta === "") return;
    const id = `text-${this.#block}`;
    if (this.#isNew(id)) yield { type: "text-start", id };
    yield { type: "text-delta", id, delta };
    this.#text = content;
  }

  *#closeText(): Iterable<UIMessageChunk> {
    const id = `text-${this.#block}`;
    if (!this.#given.has(id)) return;
    yield { type: "text-end", id };
    this.#block += 1;
  }

  *#end(message: Message, { system_events }: Snapshot): Iterable<UIMessageChunk> {
    yield* this.#closeText();
    if (message.status === "failed") {
      yield { type: "error", errorText: words(failureOf(message, system_events)) };
    } else if (message.status === "interrupted") yield { type: "abort" };
    else yield* [{ type: "finish-step" }, { type: "finish" }] as const;
  }

  #isNew(name: string): boolean {
    const isNew = !this.#given.has(name);
    this.#given.add(name);
    return isNew;
  }
}

/** Whether nothing of this answer is to come. Why one has failed comes just after it. */
export function isOver(message: Message, { system_events, is_processing }: Snapshot): boolean {
  if (message.status !== "failed") return message.status !== "streaming";
  return !is_processing || failureOf(message, system_events) !== undefined;
}

function failureOf({ created_at }: Message, events: Snapshot["system_events"]): unknown {
  return events.find((event) => event.type === "error" && event.created_at >= created_at)?.payload["message"];
}

function words(value: unknown): string {
  return typeof value === "string"
    ? value
    : JSON.stringify(value ?? "The assistant could not finish this answer.");
}
