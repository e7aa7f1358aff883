import {
  messageParts,
  type Message,
  type PendingAction,
  type Snapshot,
  type ToolCall,
  type ToolResult,
} from "@colloquy/client";
import type { UIMessageChunk } from "ai";

/** The data part of an action that is more than yes or no: `null` once it is decided. */
export type ActionData = PendingAction | null;

/** Produces the AI SDK's chunks of an answer, state by state. */
export class AnswerChunks {
  #text = "";
  /** Chunks already produced, by kind and id. */
  #given = new Set<string>();
  #block = 0;

  /**
   * Returns what is new in this state of the answer; all of it if it does not continue the previous state, as
   * after a crash of the service.
   */
  next(message: Message, snapshot: Snapshot): UIMessageChunk[] {
    const chunks: UIMessageChunk[] = [];
    if (this.#isNew("start")) chunks.push({ type: "start", messageId: message.id }, { type: "start-step" });
    if (!message.content.startsWith(this.#text)) {
      chunks.push({ type: "reset-step" });
      this.#text = "";
      this.#given = new Set(["start"]);
    }
    chunks.push(...this.#parts(message), ...this.#actions(message, snapshot));
    if (isOver(message, snapshot)) chunks.push(...this.#end(message, snapshot));
    return chunks;
  }

  /** Yields text and calls in order; results follow once their call was produced. */
  *#parts(message: Message): Iterable<UIMessageChunk> {
    const { content, tool_results: results = [] } = message;
    let said = 0;
    for (const part of messageParts(message)) {
      if (part.kind === "call") {
        yield* this.#called(part.call);
        continue;
      }
      yield* this.#results(results);
      said += part.text.length;
      yield* this.#grown(content.slice(0, said));
    }
    yield* this.#results(results);
  }

  *#called({ id: toolCallId, name: toolName, arguments: input }: ToolCall): Iterable<UIMessageChunk> {
    if (!this.#isNew(`call ${toolCallId}`)) return;
    // Text before and after a call are two parts.
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

  *#results(results: readonly ToolResult[]): Iterable<UIMessageChunk> {
    for (const { call_id: toolCallId, output, is_error } of results) {
      if (!this.#given.has(`call ${toolCallId}`) || !this.#isNew(`result ${toolCallId}`)) continue;
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

/** Returns true if the answer is complete. The reason of a failure arrives just after it. */
export function isOver(message: Message, { system_events, is_processing }: Snapshot): boolean {
  if (message.status !== "failed") return message.status !== "streaming";
  return !is_processing || failureOf(message, system_events) !== undefined;
}

function failureOf({ created_at }: Message, events: Snapshot["system_events"]): unknown {
  return events.find((event) => event.type === "error" && event.created_at >= created_at)?.payload["message"];
}

/** Returns an error as text. */
export function words(value: unknown): string {
  return typeof value === "string"
    ? value
    : JSON.stringify(value ?? "The assistant could not finish this answer.");
}
