// Streams a response as server-sent events.
//
// `sequence_number` is derived only from stored data, so that every node computes the same number, before and after a
// crash. It is `position * 65,536 + hash`. The position counts events, and each UTF-16 code unit of text as one event.
// The 16-bit hash covers the text up to the position: it detects that a text was generated again since the client
// received the event in `starting_after`.

import type { Message, ReasoningDelta, UpdateEvent } from "@colloquy/protocol";
import { ServiceError } from "@colloquy/engine";
import type { ProtocolConversation, StreamFollower } from "@colloquy/server/protocol";
import { type Item, itemsOf } from "./answer-part.ts";
import { FollowedAnswer, readTurn, type TurnRead } from "./followed-answer.ts";
import { itemId, responseId } from "./ids.ts";
import type { JsonObject } from "./json.ts";
import { outputItem, outputText, summaryItem, summaryPart } from "./output-items.ts";
import { SummaryDeltas } from "./summary-deltas.ts";
import {
  asksForSummary,
  emptyResponse,
  reasoningIn,
  reasoningOf,
  summaryOf,
  responseObject,
  type StoredResponse,
  type ResponseStatus,
} from "./response-object.ts";

const HASHES = 65_536;

const LAST_EVENTS: Readonly<Record<ResponseStatus, string>> = {
  queued: "response.incomplete",
  in_progress: "response.incomplete",
  completed: "response.completed",
  incomplete: "response.incomplete",
  failed: "response.failed",
  cancelled: "response.incomplete",
};

/** Decoded `starting_after`: the last event that the client has. */
interface ResumePoint {
  readonly position: number;
  readonly hash: number;
}

export interface ResponseStreamOptions {
  readonly conversation: ProtocolConversation;
  readonly read: TurnRead;
  readonly stored: StoredResponse;
  /** `sequence_number` of the last event that the client has; `null` for all events. */
  readonly startingAfter: number | null;
  /** Called with the ended response before the stream closes. */
  readonly onEnd: (ended: StoredResponse) => Promise<void>;
}

export class ResponseStream implements StreamFollower {
  readonly after: string;
  readonly conversationId: string;
  readonly #options: ResponseStreamOptions;
  readonly #followed: FollowedAnswer;
  /** True for a turn with a response schema: its text may be rejected, so it is sent only when it is complete. */
  readonly #buffersText: boolean;
  /** Streamed reasoning; `null` if the request did not ask for it. */
  readonly #summary: SummaryDeltas | null;
  #resumePoint: ResumePoint | null;
  #position = 0;
  #hash = 0;
  /** Number of items that were sent in full. */
  #done = 0;
  /** Start offset and sent text of the current text item; `null` if there is none. */
  #open: { readonly start: number; text: string } | null = null;
  #isRerun = false;
  #isOver = false;

  constructor(options: ResponseStreamOptions) {
    const { read, startingAfter } = options;
    this.#options = options;
    this.#followed = new FollowedAnswer(read, { stopsForApprovals: true });
    this.after = read.snapshot.last_event_id;
    this.conversationId = options.conversation.id;
    this.#buffersText = buffersText(read);
    // A resuming client may already have part of the reasoning: it would append the same text again.
    const { turn } = options.stored;
    this.#summary = asksForSummary(turn) ? new SummaryDeltas({ isResumed: startingAfter !== null }) : null;
    this.#resumePoint =
      startingAfter === null
        ? null
        : { position: Math.floor(startingAfter / HASHES), hash: startingAfter % HASHES };
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get includesReasoning(): boolean {
    return this.#summary?.isLive ?? false;
  }

  /** Index of the next output item. The reasoning summary is the first item. */
  get #outputIndex(): number {
    return this.#done + (this.#summary === null ? 0 : 1);
  }

  begin(): string {
    const response = emptyResponse(this.#options.stored);
    const events =
      this.#event("response.created", { response }) + this.#event("response.in_progress", { response });
    return events + this.#advance();
  }

  encode(event: UpdateEvent): string {
    if (this.#isOver) return "";
    if (event.type === "reasoning_delta") return this.#reason(event);
    this.#followed.apply(event);
    return this.#advance();
  }

  async finish(): Promise<string> {
    const { conversation, stored } = this.#options;
    if (this.#isRerun) return this.#rerun();
    const read = this.#followed.end === "gone" ? null : await readTurn(conversation, stored.turn.number);
    if (read === null) throw new Error("The conversation was deleted while its answer was streamed");
    const range = { ...stored.range };
    // A call that waits for the client may have ended the part during the stream.
    if (range.to === null && this.#followed.end === "waiting")
      range.to = this.#followed.state.answer?.tool_calls?.length ?? null;
    const ended = { ...stored, turn: read.turn, range };
    const response = responseObject(ended);
    let text = this.#summary === null ? "" : this.#endSummary(ended, this.#summary);
    for (const item of this.#summary === null ? reasoningOf(ended) : []) {
      const output_index = this.#outputIndex;
      text += this.#event("response.output_item.added", { output_index, item });
      text += this.#event("response.output_item.done", { output_index, item });
      this.#done += 1;
    }
    text += this.#event(LAST_EVENTS[response["status"] as ResponseStatus], { response });
    if (this.#isRerun || this.#resumePoint !== null) return this.#rerun();
    await this.#options.onEnd(ended);
    return `${text}data: [DONE]\n\n`;
  }

  /** Returns the events for everything new in the answer. */
  #advance(): string {
    const { stored } = this.#options;
    const { state } = this.#followed;
    let text = "";
    if (state.answer !== null) {
      text += this.#beginSummary(state.answer);
      const items = itemsOf(state, stored.range);
      for (let item = items[this.#done]; item !== undefined && !this.#isRerun; item = items[this.#done]) {
        const before = this.#done;
        text += item.kind === "text" ? this.#textItem(item, state.answer) : this.#item(item, state.answer);
        if (this.#done === before) break;
      }
      // If the answer ended before the text that was sent, a step was generated again.
      if (state.isOver && this.#open !== null && !this.#buffersText) this.#isRerun = true;
    }
    this.#isOver = this.#isRerun || state.isOver || stored.range.to !== null;
    return text;
  }

  #textItem(item: Extract<Item, { kind: "text" }>, answer: Message): string {
    if (this.#buffersText && !item.isDone) return "";
    const output_index = this.#outputIndex;
    const { session } = this.#options.stored.ref;
    const whole = outputItem(item, answer, session);
    const common = { item_id: whole["id"] ?? "", output_index, content_index: 0 };
    let events = "";
    if (this.#open === null) {
      this.#open = { start: item.start, text: "" };
      const added = { ...whole, status: "in_progress", content: [] };
      events += this.#event("response.output_item.added", { output_index, item: added });
      events += this.#event("response.content_part.added", { ...common, part: outputText("", null) });
    }
    const { start, text: sent } = this.#open;
    if (item.text.length < sent.length) {
      // The step runs again after a crash. Wait until its text reaches the sent length, unless it is complete.
      this.#isRerun = item.isDone || !sent.startsWith(item.text) || item.start !== start;
      return events;
    }
    if (item.start !== start || !item.text.startsWith(sent)) {
      this.#isRerun = true;
      return events;
    }
    events += this.#delta(item.text.slice(sent.length), common);
    this.#open.text = item.text;
    if (!item.isDone) return events;
    this.#open = null;
    this.#done += 1;
    events += this.#event("response.output_text.done", { ...common, text: item.text, logprobs: [] });
    const part = outputText(item.text, item.isLast ? answer : null);
    events += this.#event("response.content_part.done", { ...common, part });
    return events + this.#event("response.output_item.done", { output_index, item: whole });
  }

  #item(item: Exclude<Item, { kind: "text" }>, answer: Message): string {
    const output_index = this.#outputIndex;
    const whole = outputItem(item, answer, this.#options.stored.ref.session);
    this.#done += 1;
    const added = { ...whole, ...(whole["status"] !== undefined && { status: "in_progress" }) };
    if (item.kind !== "call")
      return (
        this.#event("response.output_item.added", { output_index, item: added }) +
        this.#event("response.output_item.done", { output_index, item: whole })
      );
    const { id = "", arguments: input = "" } = whole;
    const common = { item_id: id, output_index };
    return (
      this.#event("response.output_item.added", { output_index, item: { ...added, arguments: "" } }) +
      this.#event("response.function_call_arguments.delta", { ...common, delta: input }) +
      this.#event("response.function_call_arguments.done", {
        ...common,
        name: item.call.name,
        arguments: input,
      }) +
      this.#event("response.output_item.done", { output_index, item: whole })
    );
  }

  /** Adds the reasoning item, and sends the reasoning of ended steps. */
  #beginSummary(answer: Message): string {
    const summary = this.#summary;
    if (summary === null || summary.isBegun) return "";
    const { stored } = this.#options;
    const item = summaryItem([], { answer, from: stored.ref.from, status: "in_progress" });
    const added = this.#event("response.output_item.added", { output_index: 0, item });
    return added + this.#pieces(summary.begin(itemId("rs", answer.id, stored.ref.from), reasoningIn(stored)));
  }

  #reason(delta: ReasoningDelta): string {
    const isOfTurn = this.#followed.state.answer !== null;
    return isOfTurn && this.#summary !== null ? this.#pieces(this.#summary.grow(delta)) : "";
  }

  /**
   * Returns events that other streams may repeat or omit. They reuse the preceding sequence number, so that
   * the numbers of all other events stay the same.
   */
  #pieces(pieces: readonly (JsonObject & { readonly type: string })[]): string {
    const sequence_number = numberOf(Math.max(0, this.#position - 1), this.#hash);
    return pieces.map(({ type, ...fields }) => sse(type, { sequence_number, ...fields })).join("");
  }

  /** Returns the final events of the reasoning item, with the stored texts. */
  #endSummary(ended: StoredResponse, summary: SummaryDeltas): string {
    const { answer } = ended.turn;
    if (answer === null || !summary.isBegun) return "";
    const steps = reasoningIn(ended);
    let events = this.#pieces(summary.begin(summary.itemId, steps));
    for (const [summary_index, { text }] of steps.entries()) {
      const common = { item_id: summary.itemId, output_index: 0, summary_index };
      events += this.#event("response.reasoning_summary_text.done", { ...common, text });
      events += this.#event("response.reasoning_summary_part.done", { ...common, part: summaryPart(text) });
    }
    const item = summaryOf(ended, answer);
    return events + this.#event("response.output_item.done", { output_index: 0, item });
  }

  /** Returns a delta event with the text that the client does not have yet. */
  #delta(text: string, common: JsonObject): string {
    let from = 0;
    for (let index = 0; index < text.length; index += 1) {
      this.#hash = hashed(this.#hash, text.charCodeAt(index));
      if (this.#isPassed(this.#position + index)) from = index + 1;
    }
    this.#position += text.length;
    if (from === text.length) return "";
    const sequence_number = numberOf(this.#position - 1, this.#hash);
    return sse("response.output_text.delta", {
      sequence_number,
      ...common,
      delta: text.slice(from),
      logprobs: [],
    });
  }

  #event(type: string, fields: JsonObject): string {
    const position = this.#position;
    this.#position += 1;
    const isPassed = this.#isPassed(position);
    return isPassed ? "" : sse(type, { sequence_number: numberOf(position, this.#hash), ...fields });
  }

  /**
   * Returns true if the event at this position must not be sent: the client has it, or the step was run again.
   * Compares the hashes at the resume point.
   */
  #isPassed(position: number): boolean {
    if (this.#resumePoint === null || this.#isRerun) return this.#isRerun;
    if (position < this.#resumePoint.position) return true;
    if (position > this.#resumePoint.position || this.#hash !== this.#resumePoint.hash) this.#isRerun = true;
    this.#resumePoint = null;
    return true;
  }

  #rerun(): string {
    const { ref } = this.#options.stored;
    const message =
      `After a crash, a step of ${responseId(ref)} was run again and its text differs, or starting_after is not a ` +
      "sequence_number of this response. Retrieve the response without starting_after.";
    const sequence_number = numberOf(this.#position, this.#hash);
    return `${sse("error", { sequence_number, code: "step_rerun", message, param: null })}data: [DONE]\n\n`;
  }
}

/** Creates the stream of a response. Throws a `ServiceError` 400 if `startingAfter` is not a safe integer. */
export function streamOf(options: ResponseStreamOptions): ResponseStream {
  const { startingAfter } = options;
  if (startingAfter !== null && !Number.isSafeInteger(startingAfter))
    throw new ServiceError(400, "parameter_invalid", 'The query parameter "starting_after" is too large.');
  return new ResponseStream(options);
}

function buffersText({ turn }: TurnRead): boolean {
  const note = turn.note["openai"];
  const { text } = (typeof note === "object" && note !== null ? note : {}) as {
    text?: { format?: JsonObject };
  };
  return (text?.format?.["type"] ?? "text") !== "text";
}

function numberOf(position: number, hash: number): number {
  return position * HASHES + hash;
}

/** FNV-1a, folded to 16 bits after each character (http://www.isthe.com/chongo/tech/comp/fnv/). */
function hashed(hash: number, character: number): number {
  const mixed = Math.imul((hash ^ character) + 0x9e37, 0x0100_0193);
  return (mixed ^ (mixed >>> 16)) & 0xffff;
}

function sse(type: string, fields: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}
