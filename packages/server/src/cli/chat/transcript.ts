// Tracks the shown parts of a conversation, and computes the next parts to show by comparing snapshots. This
// also handles missed events and restarted answers.

import { answeredQuestion, messageParts, visibleJson, type SessionUpdate } from "@colloquy/client";
import type {
  Attachment,
  Message,
  PendingAction,
  Snapshot,
  SystemEvent,
  ToolCall,
  ToolResult,
} from "@colloquy/protocol";
import { harmlessLine, harmlessText } from "../terminal-text.ts";

/** Kind of a line, which determines its style. */
export type Tone = "user" | "tool" | "quiet" | "warning" | "error";

export type Piece =
  /** Continues the current text. */
  | { readonly kind: "text"; readonly text: string }
  /** Starts on a separate line. */
  | { readonly kind: "line"; readonly tone: Tone; readonly text: string };

interface ShownMessage {
  text: string;
  /** True if the message is final. */
  isOver: boolean;
  readonly called: Set<string>;
  readonly answered: Set<string>;
}

/** Number of messages shown when a conversation is continued. */
const HISTORY = 10;
/** Maximum characters shown of a tool's arguments, result or progress. */
const MAX_TOOL_TEXT = 400;
/** Maximum characters of a question that is repeated before its answer. */
const MAX_QUESTION = 60;

export class Transcript {
  readonly #messages = new Map<string, ShownMessage>();
  readonly #events = new Set<string>();
  readonly #actions = new Map<string, PendingAction>();
  /** Ids of loaded messages before the first one that was shown. */
  readonly #earlier = new Set<string>();
  /** Messages that were typed here and are already on the screen. */
  readonly #typed: string[] = [];

  /** Records a message that was typed here, so that it is not shown again. */
  typed(text: string): void {
    this.#typed.push(text.trim());
  }

  /** Undoes the last `typed`, because sending the message failed. */
  untyped(): void {
    this.#typed.pop();
  }

  /** Returns the last messages of a conversation that is continued. Earlier system events are not repeated. */
  begin(snapshot: Snapshot): readonly Piece[] {
    for (const { id } of snapshot.system_events) this.#events.add(id);
    const left = Math.max(0, snapshot.messages.length - HISTORY);
    this.#skip(snapshot.messages.slice(0, left));
    return [...earlierPieces(snapshot, left), ...this.showSnapshot(snapshot)];
  }

  /** Returns the messages before the first one that was shown. */
  earlier(snapshot: Snapshot): readonly Piece[] {
    const end = this.#firstShown(snapshot);
    const start = Math.max(0, end - HISTORY);
    const { messages } = snapshot;
    for (const { id } of messages.slice(start, end)) this.#earlier.delete(id);
    const shown = new Transcript();
    shown.#skip(messages.slice(0, start));
    return [
      ...earlierPieces(snapshot, start),
      ...shown.replay(messages.slice(0, end)),
      line("quiet", "(end of the earlier messages)"),
    ];
  }

  /** Returns true if the snapshot has messages before the first one that was shown. */
  hasEarlier(snapshot: Snapshot | null): boolean {
    return snapshot !== null && this.#firstShown(snapshot) > 0;
  }

  #firstShown({ messages }: Snapshot): number {
    this.#skipLoaded(messages);
    const first = messages.findIndex(({ id }) => !this.#earlier.has(id));
    return first < 0 ? messages.length : first;
  }

  /** Skips unknown messages before known ones: they are earlier ones that were loaded. */
  #skipLoaded(messages: readonly Message[]): void {
    const known = messages.findIndex(({ id }) => this.#messages.has(id));
    if (known > 0) this.#skip(messages.slice(0, known));
  }

  /** Records messages as known that are not shown. */
  #skip(messages: readonly Message[]): void {
    this.replay(messages);
    for (const { id } of messages) this.#earlier.add(id);
  }

  /** Returns all of these messages. */
  replay(messages: readonly Message[]): readonly Piece[] {
    return messages.flatMap((message, index) => this.#message(message, index, messages));
  }

  /** Returns the new parts of the snapshot. */
  showSnapshot(snapshot: Snapshot): readonly Piece[] {
    for (const action of snapshot.pending_actions) this.#actions.set(action.id, action);
    this.#skipLoaded(snapshot.messages);
    return [
      ...this.replay(snapshot.messages),
      ...snapshot.system_events.flatMap((event) => this.#event(event)),
    ];
  }

  /** Returns the parts of an event that no snapshot contains. */
  showUpdate(update: SessionUpdate): readonly Piece[] {
    if (update.type === "tool_update" && update.progress !== null) {
      const { progress, name } = update;
      const text = typeof progress === "string" ? harmlessLine(progress) : visibleJson(progress);
      return [line("tool", `  ${harmlessLine(name)}: ${shortened(text)}`)];
    }
    if (update.type === "system_notice" && UNSHOWN_NOTICES.has(update.code)) {
      return [line(update.level === "error" ? "error" : "warning", harmlessLine(update.message))];
    }
    return [];
  }

  #message(message: Message, index: number, messages: readonly Message[]): readonly Piece[] {
    const known = this.#messages.get(message.id);
    if (known?.isOver === true) return [];
    const shown = known ?? { text: "", isOver: false, called: new Set(), answered: new Set() };
    this.#messages.set(message.id, shown);
    if (message.sender === "user") return this.#userMessage(message, shown);
    const isOver = message.status !== "streaming" && message.status !== "queued";
    const pieces = [
      ...(known === undefined ? questionPieces(answeredQuestion(messages, index)) : []),
      ...answerPieces(message, isOver, shown),
      ...(isOver ? sourcePieces(message) : []),
      ...(message.status === "interrupted" ? [line("quiet", "(interrupted)")] : []),
    ];
    shown.isOver = isOver;
    return pieces;
  }

  #userMessage({ content, attachments = [] }: Message, shown: ShownMessage): readonly Piece[] {
    shown.isOver = true;
    const at = this.#typed.indexOf(content.trim());
    if (at >= 0) {
      this.#typed.splice(at, 1);
      return [];
    }
    const files = attachments.map(fileLine);
    const text = harmlessText(content).trimEnd();
    return text === "" ? files : [line("user", text.replace(/^/gm, "> ")), ...files];
  }

  #event({ id, type, payload }: SystemEvent): readonly Piece[] {
    if (this.#events.has(id)) return [];
    this.#events.add(id);
    if (type === "notice" || type === "error") {
      const tone = type === "error" ? "error" : "warning";
      return [line(tone, wordOf(payload["message"]))];
    }
    if (type !== "action_resolved") return [];
    const about = this.#actions.get(wordOf(payload["id"]))?.tool ?? "the action";
    return [line("quiet", `(${harmlessLine(about)}: ${wordOf(payload["status"])})`)];
  }
}

/** Codes of notices that end the stream and are in no snapshot. */
const UNSHOWN_NOTICES: ReadonlySet<string> = new Set(["session_deleted", "app_key_invalid"]);

/** Returns a line with the number of messages before the one at `index`, if there are any. */
function earlierPieces({ messages_before: left = 0 }: Snapshot, index: number): readonly Piece[] {
  const count = left + index;
  if (count === 0) return [];
  return [line("quiet", count === 1 ? "(1 earlier message)" : `(${count} earlier messages)`)];
}

/** Returns text and tool calls in order. A result follows its call if it is available. */
function answerPieces(message: Message, isOver: boolean, shown: ShownMessage): readonly Piece[] {
  const { content, tool_results: results = [] } = message;
  const pieces: Piece[] = [];
  let length = 0;
  for (const part of messageParts(message)) {
    if (part.kind === "call") pieces.push(...calledPieces(part.call, shown));
    else {
      const before = results.filter(({ call_id: id }) => shown.called.has(id));
      length += part.text.length;
      pieces.push(
        ...before.flatMap((result) => resultPieces(result, shown)),
        ...textPieces(content.slice(0, length), isOver || length < content.length, shown),
      );
    }
  }
  return [...pieces, ...results.flatMap((result) => resultPieces(result, shown))];
}

/** Returns a line with the question of an answer that does not directly follow it. */
function questionPieces(question: Message | null): readonly Piece[] {
  if (question === null) return [];
  return [line("quiet", `In reply to: ${shortened(harmlessLine(question.content), MAX_QUESTION)}`)];
}

/** Returns a line for each source of an answer. */
function sourcePieces({ sources = [] }: Message): readonly Piece[] {
  return sources.map(({ url, title }) =>
    line("quiet", `Source: ${title === undefined ? "" : `${harmlessLine(title)} `}${harmlessLine(url)}`),
  );
}

function calledPieces(call: ToolCall, { called }: ShownMessage): readonly Piece[] {
  if (called.has(call.id)) return [];
  called.add(call.id);
  return [line("tool", `* ${harmlessLine(call.name)} ${shortened(visibleJson(call.arguments))}`)];
}

function resultPieces(result: ToolResult, { answered }: ShownMessage): readonly Piece[] {
  if (answered.has(result.call_id)) return [];
  answered.add(result.call_id);
  const { name, output, is_error: isError, duration_ms: ms, attachments = [] } = result;
  const summary = shortened(typeof output === "string" ? harmlessLine(output) : visibleJson(output));
  const state = isError ? "failed" : "done";
  const text = `  ${harmlessLine(name)} ${state} in ${seconds(ms)}: ${summary}`;
  return [line(isError ? "warning" : "tool", text), ...attachments.map(fileLine)];
}

function fileLine({ name }: Attachment): Piece {
  return line("quiet", `File: ${harmlessLine(name)}`);
}

/**
 * Returns the new part of the text, or the whole text if it differs from what was shown, as after a crash of
 * the service.
 */
function textPieces(content: string, isOver: boolean, shown: ShownMessage): readonly Piece[] {
  // Hold back half of a surrogate pair or of a CRLF until the rest arrives.
  const text = isOver ? content : content.replace(/[\uD800-\uDBFF\r]$/, "");
  if (text.startsWith(shown.text)) {
    const more = text.slice(shown.text.length);
    shown.text = text;
    return more === "" ? [] : [{ kind: "text", text: harmlessText(more) }];
  }
  // The service streams the same text again and has not reached the shown length yet.
  if (shown.text.startsWith(text)) return [];
  shown.text = text;
  return [line("quiet", "(the answer restarts)"), { kind: "text", text: harmlessText(text) }];
}

function wordOf(value: unknown): string {
  return typeof value === "string" ? harmlessLine(value) : visibleJson(value);
}

function line(tone: Tone, text: string): Piece {
  return { kind: "line", tone, text };
}

function shortened(text: string, max = MAX_TOOL_TEXT): string {
  return text.length <= max ? text : `${text.slice(0, max).toWellFormed()}…`;
}

function seconds(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
