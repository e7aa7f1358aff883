// Converts the states of a conversation to session updates of the Agent Client Protocol. One object per session.

import type { SessionUpdate, ToolCallContent } from "@agentclientprotocol/sdk";
import { messageParts } from "@colloquy/client";
import type { Attachment, Message, ReasoningDelta, ToolCall } from "@colloquy/protocol";

/** Sent before the text of a turn's later messages: not all editors separate messages. */
const SEPARATOR = "\n\n";
/** Sent before a repeated answer: sent text cannot be retracted. */
const AGAIN = "\n\n(The assistant began this answer again.)\n\n";

/** Sent parts of an answer. */
interface Sent {
  text: string;
  /** Ids of calls. */
  readonly calls: Set<string>;
  /** Ids of calls whose results were sent. */
  readonly results: Set<string>;
}

interface Thought {
  /** Contains the message id and the step. */
  readonly id: string;
  readonly text: string;
  /** Number of times that its text was replaced. */
  readonly restarts: number;
}

export class SessionUpdates {
  /** State of the answers in progress, by message. */
  readonly #sent = new Map<string, Sent>();
  /** Messages that were sent and no longer change. */
  readonly #ended = new Set<string>();
  /** Messages of earlier turns are older than the first update. */
  #firstTurn = 0;
  #thought: Thought = { id: "", text: "", restarts: 0 };

  /** True if the editor has no messages. */
  get isEmpty(): boolean {
    return this.#sent.size === 0 && this.#ended.size === 0;
  }

  /** Marks a conversation as sent up to its current state. `messages` are its last messages. */
  markAllSent(messages: readonly Message[]): void {
    this.#firstTurn = messages.length === 0 ? 0 : Math.min(...messages.map(({ turn = 0 }) => turn));
    this.markSent(messages);
  }

  /** Marks the state of these messages as sent. */
  markSent(messages: readonly Message[]): void {
    for (const { id, content, tool_calls: calls = [], tool_results: results = [], ...rest } of messages) {
      if (!isOpen(rest)) this.#ended.add(id);
      else
        this.#sent.set(id, {
          text: content,
          calls: new Set(calls.map((call) => call.id)),
          results: new Set(results.map((result) => result.call_id)),
        });
    }
  }

  /** Returns true if no update of the message was sent, although it is not older than the first update. */
  isUnsent({ id, turn = 0 }: Message): boolean {
    return turn >= this.#firstTurn && !this.#sent.has(id) && !this.#ended.has(id);
  }

  /** Yields updates for everything in these messages that has not been sent. */
  *ofMessages(messages: readonly Message[]): Iterable<SessionUpdate> {
    for (const message of messages) {
      const { id, sender } = message;
      if (!this.#sent.has(id) && !this.isUnsent(message)) continue;
      if (sender === "agent") yield* this.#ofAnswer(message);
      else yield* this.#ofQuestion(message);
      if (isOpen(message)) continue;
      this.#ended.add(id);
      this.#sent.delete(id);
    }
  }

  *ofReasoning({ message_id: id, step, offset, text: piece }: ReasoningDelta): Iterable<SessionUpdate> {
    const thought = `${id}-reasoning-${step}`;
    const known = this.#thought.id === thought ? this.#thought : { text: "", restarts: 0 };
    // Earlier reasoning was lost. The service resends the whole step when the stream resumes.
    if (offset > known.text.length) return;
    const text = known.text.slice(0, offset) + piece;
    if (known.text.startsWith(text)) return;
    const isReplaced = !text.startsWith(known.text);
    const restarts = known.restarts + (isReplaced ? 1 : 0);
    this.#thought = { id: thought, text, restarts };
    // Sent text cannot be retracted, so start a new thought.
    const messageId = restarts === 0 ? thought : `${thought}-${restarts}`;
    const added = isReplaced ? text : text.slice(known.text.length);
    yield { ...chunk(messageId, added), sessionUpdate: "agent_thought_chunk" };
  }

  *#ofAnswer(answer: Message): Iterable<SessionUpdate> {
    const sent = this.#sentOf(answer.id);
    // An interrupt on another node may store less than was sent.
    const isCut = answer.status === "interrupted" && sent.text.startsWith(answer.content);
    if (!isCut && !answer.content.startsWith(sent.text)) {
      yield* this.#say(answer.id, AGAIN);
      sent.text = "";
    }
    let end = 0;
    for (const part of messageParts(answer)) {
      if (part.kind === "text") {
        yield* this.#resultsOf(answer, sent);
        end += part.text.length;
        const added = answer.content.slice(sent.text.length, end);
        const isFirstText = sent.text === "" && added !== "";
        if (isFirstText && (answer.steps?.from ?? 1) > 1) yield* this.#say(answer.id, SEPARATOR);
        yield* this.#say(answer.id, added);
        sent.text = answer.content.slice(0, Math.max(end, sent.text.length));
      } else if (!sent.calls.has(part.call.id)) {
        sent.calls.add(part.call.id);
        yield { sessionUpdate: "tool_call", ...toolCallOf(part.call), status: "in_progress" };
      }
    }
    yield* this.#resultsOf(answer, sent);
  }

  *#ofQuestion({ id, content, attachments = [] }: Message): Iterable<SessionUpdate> {
    const sessionUpdate = "user_message_chunk";
    for (const file of attachments) yield { sessionUpdate, messageId: id, content: linkOf(file) };
    if (content !== "") yield { ...chunk(id, content), sessionUpdate };
  }

  *#say(id: string, text: string): Iterable<SessionUpdate> {
    if (text !== "") yield { ...chunk(id, text), sessionUpdate: "agent_message_chunk" };
  }

  *#resultsOf(
    { tool_calls: calls = [], tool_results: results = [] }: Message,
    sent: Sent,
  ): Iterable<SessionUpdate> {
    for (const { id, status } of calls) {
      if (!sent.calls.has(id) || sent.results.has(id)) continue;
      const result = results.find(({ call_id }) => call_id === id);
      if (result === undefined && status !== "interrupted") continue;
      sent.results.add(id);
      const output = result?.output ?? "The call was interrupted.";
      yield {
        sessionUpdate: "tool_call_update",
        toolCallId: id,
        status: result === undefined || result.is_error ? "failed" : "completed",
        content: [
          contentOf(typeof output === "string" ? output : JSON.stringify(output, null, 2)),
          ...(result?.attachments ?? []).map((file) => ({ type: "content" as const, content: linkOf(file) })),
        ],
        rawOutput: output,
      };
    }
  }

  #sentOf(id: string): Sent {
    const known = this.#sent.get(id);
    if (known !== undefined) return known;
    const sent: Sent = { text: "", calls: new Set(), results: new Set() };
    this.#sent.set(id, sent);
    return sent;
  }
}

/** Returns true for an answer in progress. Text of the user never changes. */
function isOpen({ sender, status }: Pick<Message, "sender" | "status">): boolean {
  return sender === "agent" && (status === "queued" || status === "streaming");
}

/** Returns the fields of a call that editors show. */
export function toolCallOf({ id, name, title = name, arguments: input }: ToolCall) {
  return { toolCallId: id, title, rawInput: input, kind: "other" as const };
}

function linkOf({ id, name, media_type: mimeType, bytes: size }: Attachment) {
  return { type: "resource_link" as const, uri: `urn:uuid:${id}`, name, mimeType, size };
}

function contentOf(text: string): ToolCallContent {
  return { type: "content", content: { type: "text", text } };
}

function chunk(messageId: string, text: string) {
  return { messageId, content: { type: "text" as const, text } };
}
