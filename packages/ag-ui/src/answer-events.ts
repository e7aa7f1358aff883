import { EventType, type Event } from "@ag-ui/core";
import type { Message, PendingAction, ReasoningDelta } from "@colloquy/protocol";
import { type AnswerEncoder, type AnswerEnd, outcomeOf } from "@colloquy/server/protocol";
import { runError } from "./errors.ts";
import { callIdOf, messageOfNextText, partsOf, resultIdOf, withoutSeparator } from "./ids.ts";
import { resultOf } from "./messages.ts";

/** How the answer ended, and the actions that were pending then. */
export interface Ended {
  readonly how: AnswerEnd;
  readonly pending: readonly PendingAction[];
}

/** Encodes an answer as AG-UI events: yields the difference between each state and what was sent. */
export class AnswerEvents implements AnswerEncoder<Event> {
  readonly separatesMessages = true;
  /** Id of the answer's message in progress; empty before its first state. */
  #answer: string;
  /** Sent text. */
  #text: string;
  /** Number of sent calls. */
  #calls: number;
  /** Indexes of the calls whose results were sent. */
  readonly #results: Set<number>;
  /** Id of the AG-UI message that receives the next text. */
  #message: string;
  /** True while the separator from the text of the previous step must be stripped. */
  #isBlank = false;
  /** Id of the text message whose `TEXT_MESSAGE_END` has not been sent. */
  #open: string | null = null;
  /** Sent reasoning of the latest step that has any. */
  #reasoned = { step: 0, text: "" };
  /** Id of the reasoning message whose `REASONING_END` has not been sent. */
  #openReasoning: string | null = null;
  /** Number of reasoning messages of the step in `#reasoned`. */
  #reasoningMessages = 0;
  #ended: Ended | null = null;
  #isRerun = false;

  /** `known` is the state of the answer that the client already has, or `null`. */
  constructor(known: Message | null) {
    this.#answer = known?.id ?? "";
    const last = known === null ? undefined : [...partsOf(known)].at(-1);
    this.#message = known === null ? "" : messageOfNextText(known);
    this.#isBlank = last?.kind === "call";
    this.#text = known?.content ?? "";
    const calls = known?.tool_calls ?? [];
    this.#calls = calls.length;
    this.#results = new Set(
      calls.flatMap((call, index) => (known !== null && outcomeOf(call, known) !== null ? [index] : [])),
    );
  }

  get textLength(): number {
    return this.#text.length;
  }

  /** `null` while the answer is in progress. An answer that waits for a decision has ended. */
  get ended(): Ended | null {
    return this.#ended;
  }

  /** True if a repeated step returned different text or calls: AG-UI cannot retract what was sent. */
  get isRerun(): boolean {
    return this.#isRerun;
  }

  *next(answer: Message): Iterable<Event> {
    if (this.#isRerun) return;
    if (this.#answer !== "" && this.#answer !== answer.id) yield* this.#beginMessage(answer.id);
    this.#answer = answer.id;
    const calls = answer.tool_calls?.length ?? 0;
    // A repeated step starts with less text than was sent. Wait until its text catches up.
    const mayContinue = answer.status === "streaming" && calls === this.#calls;
    if (mayContinue && this.#text.length > answer.content.length && this.#text.startsWith(answer.content))
      return;
    if (!answer.content.startsWith(this.#text) || calls < this.#calls) {
      this.#isRerun = true;
      yield* this.#closeParts();
      yield runError(
        "After a crash, a step was run again and its text differs. Connect to the thread again to read it.",
        "step_rerun",
      );
      return;
    }
    let end = 0;
    for (const part of partsOf(answer)) {
      if (part.kind === "text") {
        yield* this.#resultsOf(answer);
        end += part.text.length;
        if (end <= this.#text.length) continue;
        this.#enter(part.message);
        yield* this.grow(answer.content.slice(this.#text.length, end));
      } else if (part.index >= this.#calls) {
        this.#calls = part.index + 1;
        yield* this.#closeParts();
        const toolCallId = callIdOf(answer.id, part.index);
        const { name: toolCallName, arguments: input } = part.call;
        yield { type: EventType.TOOL_CALL_START, toolCallId, toolCallName, parentMessageId: part.message };
        yield { type: EventType.TOOL_CALL_ARGS, toolCallId, delta: JSON.stringify(input) };
        yield { type: EventType.TOOL_CALL_END, toolCallId };
      }
    }
    yield* this.#resultsOf(answer);
    this.#enter(messageOfNextText(answer));
  }

  /** Continues the turn in another message after a steering message. */
  *#beginMessage(id: string): Iterable<Event> {
    yield* this.#closeParts();
    this.#text = "";
    this.#calls = 0;
    this.#results.clear();
    this.#message = id;
    this.#isBlank = false;
  }

  #enter(message: string): void {
    if (message === this.#message) return;
    this.#message = message;
    this.#isBlank = message !== this.#answer;
  }

  *grow(delta: string): Iterable<Event> {
    if (delta === "" || this.#isRerun) return;
    const messageId = this.#message;
    this.#text += delta;
    const shown = this.#isBlank ? withoutSeparator(delta) : delta;
    if (shown === "") return;
    this.#isBlank = false;
    if (this.#open !== messageId) {
      yield* this.#closeParts();
      this.#open = messageId;
      yield { type: EventType.TEXT_MESSAGE_START, messageId, role: "assistant" };
    }
    yield { type: EventType.TEXT_MESSAGE_CONTENT, messageId, delta: shown };
  }

  /** Starts another reasoning message if the model call is repeated: sent reasoning cannot be replaced. */
  *reason({ step, offset, text }: Pick<ReasoningDelta, "step" | "offset" | "text">): Iterable<Event> {
    const known = this.#reasoned.step === step ? this.#reasoned.text : "";
    if (offset > known.length || this.#isRerun) return;
    const grown = known.slice(0, offset) + text;
    const continues = grown.startsWith(known);
    const delta = continues ? grown.slice(known.length) : grown;
    if (this.#reasoned.step !== step || !continues) yield* this.#closeParts();
    if (this.#reasoned.step !== step) this.#reasoningMessages = 0;
    this.#reasoned = { step, text: grown };
    if (delta === "") return;
    if (this.#openReasoning === null) {
      yield* this.#closeParts();
      // Use the same id for a step in every run: clients append to a message with a known id.
      const messageId = [this.#answer, "reasoning", step, this.#reasoningMessages].join("-");
      this.#reasoningMessages += 1;
      this.#openReasoning = messageId;
      yield { type: EventType.REASONING_START, messageId };
      yield { type: EventType.REASONING_MESSAGE_START, messageId, role: "reasoning" };
    }
    yield { type: EventType.REASONING_MESSAGE_CONTENT, messageId: this.#openReasoning, delta };
  }

  *end(how: AnswerEnd, pending: readonly PendingAction[]): Iterable<Event> {
    this.#ended = { how, pending };
    if (!this.#isRerun) yield* this.#closeParts();
  }

  *#resultsOf(answer: Message): Iterable<Event> {
    for (const [index, call] of (answer.tool_calls ?? []).entries()) {
      if (index >= this.#calls || this.#results.has(index)) continue;
      const result = resultOf(call, answer);
      if (result === null) continue;
      this.#results.add(index);
      yield* this.#closeParts();
      yield {
        type: EventType.TOOL_CALL_RESULT,
        messageId: resultIdOf(answer.id, index),
        toolCallId: callIdOf(answer.id, index),
        role: "tool",
        content: result.content,
      };
    }
  }

  *#closeParts(): Iterable<Event> {
    if (this.#open !== null) yield { type: EventType.TEXT_MESSAGE_END, messageId: this.#open };
    this.#open = null;
    if (this.#openReasoning === null) return;
    yield { type: EventType.REASONING_MESSAGE_END, messageId: this.#openReasoning };
    yield { type: EventType.REASONING_END, messageId: this.#openReasoning };
    this.#openReasoning = null;
  }
}
