// Plans a summary: selects the turns to cover, builds the utility model's input, and validates its answer.

import type { Attachment } from "@colloquy/protocol";
import { cleanText, type JsonObject, type JsonValue } from "../core/json.ts";
import type { PromptRules } from "../core/ports/driven/model.ts";
import type { PastTurn } from "../core/ports/driven/store.ts";
import { withoutThinking } from "../core/thinking-tags.ts";
import { entriesOf, HistoryWindow, newestSummaryIn, SUMMARY_SHARE, tokensIn } from "./history.ts";
import { type Entry, NO_RESULT, promptOf } from "./prompt.ts";
import type { CallResult } from "./tool-calls.ts";

/**
 * Share of the history's budget below which nothing is summarized. Exceeds the share of a new summary and the
 * kept turns together.
 */
const WORTH_SHARE = 0.6;
/** Share of the history's budget for the latest turns, which are not summarized. */
const KEPT_SHARE = 0.3;
/** Share of the history's budget to request as the summary's length. `SUMMARY_SHARE` is the maximum. */
const ASKED_SHARE = 0.2;
const MAX_SUMMARY_BYTES = 24 * 1024;
/** Estimated UTF-8 bytes per word, sufficient for languages with long words. */
const BYTES_PER_WORD = 12;
/** A budget with room for fewer words is not worth a summary. */
const MIN_WORDS = 100;

/** Maximum bytes of a text, and of a call's arguments or result, in the utility model's input. */
const MAX_TEXT = 8_000;
const MAX_VALUE = 2_000;
/** Maximum share of the utility model's input for one such part. */
const PART_SHARE = 1 / 8;
/** Maximum share for the previous summary. Exceeds `SUMMARY_SHARE`, so that it loses nothing. */
const PREVIOUS_SHARE = 1 / 3;

export interface SummaryPlan {
  /** Id of the last message that the summary covers. */
  readonly messageId: string;
  /** The conversation for the utility model, as JSON lines. */
  readonly transcript: string;
  readonly maxWords: number;
  /** Bytes that the summary replaces in prompts. */
  readonly replacedBytes: number;
  /** Maximum bytes of the summary in prompts. */
  readonly maxBytes: number;
  /** True if further turns, which do not fit into the utility model's input, are to be summarized afterwards. */
  readonly hasMore: boolean;
}

export interface SummaryBounds {
  /** Rules of the session's model. */
  readonly rules: PromptRules;
  /** Budget of the history in bytes, for the session's model. */
  readonly budget: number;
  /** Maximum bytes of the transcript. */
  readonly inputBytes: number;
  /** Each attempt after the first has half the input of the one before, beside the previous summary. */
  readonly attempt: number;
}

/** Plans the next summary of ended turns (`TurnStore.ended`). Returns `null` if no summary is needed. */
export function planSummary(turns: readonly PastTurn[], bounds: SummaryBounds): SummaryPlan | null {
  const { rules, budget, inputBytes, attempt } = bounds;
  if (budget * ASKED_SHARE < MIN_WORDS * BYTES_PER_WORD) return null;
  const history = new HistoryWindow(turns, rules, budget, true);
  if (history.bytes <= budget * WORTH_SHARE) return null;
  const carrier = newestSummaryIn(turns);
  const later = turns.slice(carrier + 1);
  const old = later.slice(0, later.length - keptTurns(history.turnBytes, budget * KEPT_SHARE));
  const former = turns[carrier]?.agentMessage?.summary?.text;
  const lines =
    former === undefined
      ? []
      : [lineOf({ from: "summary", text: cutText(former, inputBytes * PREVIOUS_SHARE) })];
  let left = Math.floor((inputBytes - bytesOf(lines)) / 2 ** (attempt - 1));
  const limit = partLimit(left);
  let covered = 0;
  let hasAnswer = false;
  for (const [index, turn] of old.entries()) {
    const own = entriesOf(turn).map((entry) => lineOfEntry(entry, limit));
    // If the first turn with an answer exceeds the transcript, omit lines from its middle.
    const fitting = hasAnswer ? own : withoutMiddle(own, left);
    if (bytesOf(fitting) > left) break;
    lines.push(...fitting);
    left -= bytesOf(fitting);
    covered = index + 1;
    hasAnswer ||= turn.agentMessage !== null;
  }
  // A summary is stored with an agent message, and some turns have none.
  const last = old.slice(0, covered).findLastIndex(({ agentMessage }) => agentMessage !== null);
  const message = old[last]?.agentMessage;
  if (message === undefined || message === null) return null;
  const replaced = history.turnBytes
    .slice(0, last + 1)
    .reduce((sum, bytes) => sum + bytes, history.summaryBytes);
  // The next summary's input has to include this one.
  const room = Math.min(budget, inputBytes);
  return {
    messageId: message.id,
    transcript: lines.join("\n"),
    maxWords: Math.floor(Math.min(MAX_SUMMARY_BYTES, room * ASKED_SHARE) / BYTES_PER_WORD),
    replacedBytes: replaced,
    maxBytes: Math.floor(room * SUMMARY_SHARE),
    hasMore: covered < old.length,
  };
}

/** Returns the number of latest turns whose total size is at most `bytes`. */
function keptTurns(turnBytes: readonly number[], bytes: number): number {
  let left = bytes;
  const first = turnBytes.findLastIndex((size) => {
    left -= size;
    return left < 0;
  });
  return turnBytes.length - 1 - first;
}

/** Returns a function that limits the length of a part by the size of the input. */
function partLimit(inputBytes: number): (most: number) => number {
  return (most) => Math.max(100, Math.min(most, Math.floor(inputBytes * PART_SHARE)));
}

function bytesOf(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
}

/** Encodes each entry as one line of JSON, so that no message can imitate another. */
function lineOf(line: JsonObject): string {
  return JSON.stringify(line);
}

function lineOfEntry(entry: Entry, limit: (most: number) => number): string {
  const text = (value: string) => cutText(value, limit(MAX_TEXT));
  switch (entry.kind) {
    case "user":
      return lineOf({
        from: "user",
        ...(entry.files !== undefined && { files: entry.files.map(nameOfFile) }),
        text: text(entry.text),
      });
    case "summary":
      return lineOf({ from: "summary", text: text(entry.text) });
    case "unfinished":
      return lineOf({ from: "assistant", text: text(entry.text), interrupted: true });
    case "step":
      return lineOfStep(entry, limit);
  }
}

function lineOfStep(
  { parts, results }: Extract<Entry, { kind: "step" }>,
  limit: (most: number) => number,
): string {
  // Omit reasoning: it may be signed, and other providers must not receive it.
  const said = parts.flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text] : []));
  const calls = parts.filter(({ type }) => type === "tool-call");
  const most = MAX_VALUE / Math.max(1, Math.ceil(calls.length / 2));
  const value = (json: JsonValue) =>
    cutText(typeof json === "string" ? json : JSON.stringify(json), limit(most));
  const made = calls.map(({ toolCallId: id = "", toolName: tool = "", input = null }): JsonObject => {
    const {
      output,
      is_error: isError,
      files = [],
    }: CallResult = results.get(typeof id === "string" ? id : "") ?? NO_RESULT;
    const named = files.length > 0 && { files: files.map(nameOfFile) };
    return { tool, arguments: value(input), [isError ? "error" : "result"]: value(output), ...named };
  });
  const text = cutText(said.join("\n\n"), limit(MAX_TEXT));
  return lineOf({ from: "assistant", text, ...(made.length > 0 && { calls: made }) });
}

function nameOfFile({ name, media_type: type }: Attachment): string {
  return `${name} (${type})`;
}

/** Truncates a text in its middle to this size in bytes, beside the note. */
function cutText(text: string, most: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= most) return bytes.toString();
  const tail = Math.floor(most / 4);
  // In stream mode, the decoder omits a character that the end splits.
  const start = new TextDecoder().decode(bytes.subarray(0, most - tail), { stream: true });
  const end = bytes
    .subarray(bytes.length - tail)
    .toString()
    .replace(/^\ufffd+/, "");
  return `${start} [… ${text.length - start.length - end.length} characters left out …] ${end}`;
}

/** Removes lines from the middle until the rest fit. Keeps the first and the last line. */
function withoutMiddle(lines: readonly string[], bytes: number): readonly string[] {
  if (bytesOf(lines) <= bytes) return lines;
  const note = lineOf({ left_out: "messages in the middle of this turn" });
  const head = lines.slice(0, 1);
  const tail: string[] = [];
  let left = bytes - bytesOf([...head, note]);
  for (const line of lines.slice(1).toReversed()) {
    left -= bytesOf([line]);
    if (left < 0) break;
    tail.unshift(line);
  }
  return [...head, note, ...tail];
}

export type ReadSummary =
  | {
      readonly kind: "kept";
      readonly text: string;
      readonly tokensBefore: number;
      readonly tokensAfter: number;
    }
  /**
   * `empty`: no text between the tags, for example a refusal; `cut`: incomplete; `larger`: too large to save
   * tokens.
   */
  | { readonly kind: "empty" | "cut" | "larger" };

/** Validates the utility model's answer to a plan. */
export function readSummary(
  answer: { readonly text: string; readonly finishReason: string },
  { replacedBytes, maxBytes }: Pick<SummaryPlan, "replacedBytes" | "maxBytes">,
  rules: PromptRules,
): ReadSummary {
  if (answer.finishReason === "length" || answer.finishReason === "content-filter") return { kind: "cut" };
  const said = withoutThinking(cleanText(answer.text).trimStart());
  // Without the tags, the model has refused, or has continued the conversation instead of summarizing it.
  const start = said.indexOf(OPENING);
  const end = said.lastIndexOf(CLOSING);
  const text = start < 0 || end < start ? "" : said.slice(start + OPENING.length, end).trim();
  if (text === "") return { kind: "empty" };
  const bytes = Buffer.byteLength(JSON.stringify(promptOf([{ kind: "summary", text }], rules, "native")));
  if (bytes >= replacedBytes || bytes > maxBytes) return { kind: "larger" };
  return { kind: "kept", text, tokensBefore: tokensIn(replacedBytes), tokensAfter: tokensIn(bytes) };
}

const OPENING = "<summary>";
const CLOSING = "</summary>";
