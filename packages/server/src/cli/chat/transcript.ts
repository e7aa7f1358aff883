// What a person has been shown of a conversation, and what is to be shown next. It is told by comparing snapshots, so that it does not matter
// whether events came one by one, were missed, or came from a service that began an answer again.

import { messageParts, type SessionUpdate } from "@colloquy/client";
import type { Message, PendingAction, Snapshot, SystemEvent, ToolCall, ToolResult } from "@colloquy/protocol";
import { harmlessLine, harmlessText, visibleJson } from "../harmless-text.ts";

/** How a line is meant. */
export type Tone = "user" | "tool" | "quiet" | "warning" | "error";

export type Piece =
  /** Goes on where the text stands. */
  | { readonly kind: "text"; readonly text: string }
  /** On lines of its own. */
  | { readonly kind: "line"; readonly tone: Tone; readonly text: string };

interface ShownMessage {
  text: string;
  /** Whether nothing can come any more. */
  isOver: boolean;
  readonly called: Set<string>;
  readonly answered: Set<string>;
}

/** Messages of an older conversation that are shown when it is gone on with. */
const HISTORY = 10;
/** Characters of what a tool is given, answers or tells. */
const LONGEST = 400;

export class Transcript {
  readonly #messages = new Map<string, ShownMessage>();
  readonly #events = new Set<string>();
  readonly #actions = new Map<string, PendingAction>();
  /** What was typed here and is on the screen already. */
  readonly #typed: string[] = [];

  /** The person sees this message, because it was typed here. */
  typed(text: string): void {
    this.#typed.push(text.trim());
  }

  /** It did not get there. */
  untyped(): void {
    this.#typed.pop();
  }

  /** The end of a conversation that is gone on with. What happened beside its messages is not told again. */
  begin(snapshot: Snapshot): readonly Piece[] {
    for (const { id } of snapshot.system_events) this.#events.add(id);
    const left = Math.max(0, snapshot.messages.length - HISTORY);
    for (const message of snapshot.messages.slice(0, left)) this.#message(message);
    const before =
      left === 0 ? [] : [line("quiet", left === 1 ? "(1 earlier message)" : `(${left} earlier messages)`)];
    return [...before, ...this.take(snapshot)];
  }

  /** All of these messages. */
  replay(messages: readonly Message[]): readonly Piece[] {
    return messages.flatMap((message) => this.#message(message));
  }

  /** What is new in the snapshot. */
  take(snapshot: Snapshot): readonly Piece[] {
    for (const action of snapshot.pending_actions) this.#actions.set(action.id, action);
    return [
      ...snapshot.messages.flatMap((message) => this.#message(message)),
      ...snapshot.system_events.flatMap((event) => this.#event(event)),
    ];
  }

  /** What an event tells that no snapshot has. */
  pass(update: SessionUpdate): readonly Piece[] {
    if (update.type === "tool_update" && update.progress !== null) {
      const { progress, name } = update;
      const told = typeof progress === "string" ? harmlessLine(progress) : visibleJson(progress);
      return [line("tool", `  ${harmlessLine(name)}: ${shortened(told)}`)];
    }
    if (update.type === "system_notice" && UNSHOWN_NOTICES.has(update.code)) {
      return [line(update.level === "error" ? "error" : "warning", harmlessLine(update.message))];
    }
    return [];
  }

  #message(message: Message): readonly Piece[] {
    const known = this.#messages.get(message.id);
    if (known?.isOver === true) return [];
    const shown = known ?? {
      text: "",
      isOver: false,
      called: new Set<string>(),
      answered: new Set<string>(),
    };
    this.#messages.set(message.id, shown);
    if (message.sender === "user") return this.#ofUser(message, shown);
    const isOver = message.status !== "streaming" && message.status !== "queued";
    const pieces = [
      ...answerPieces(message, isOver, shown),
      ...(message.status === "interrupted" ? [line("quiet", "(interrupted)")] : []),
    ];
    shown.isOver = isOver;
    return pieces;
  }

  #ofUser({ content }: Message, shown: ShownMessage): readonly Piece[] {
    shown.isOver = true;
    const at = this.#typed.indexOf(content.trim());
    if (at < 0) return [line("user", harmlessText(content).trimEnd().replace(/^/gm, "> "))];
    this.#typed.splice(at, 1);
    return [];
  }

  #event({ id, type, payload }: SystemEvent): readonly Piece[] {
    if (this.#events.has(id)) return [];
    this.#events.add(id);
    if (type === "notice" || type === "error") {
      const tone = type === "error" ? "error" : "warning";
      return [line(tone, wordOf(payload["message"]))];
    }
    if (type !== "action_resolved") return [];
    const about = this.#actions.get(wordOf(payload["id"]))?.tool ?? "what was asked";
    return [line("quiet", `(${harmlessLine(about)}: ${wordOf(payload["status"])})`)];
  }
}

/** Codes of notices that end the stream, and stand in no snapshot. */
const UNSHOWN_NOTICES: ReadonlySet<string> = new Set(["session_deleted", "app_key_invalid"]);

/** What was said and done, in order: a call stands where it was made, and its result, when it is there by then, behind it. */
function answerPieces(message: Message, isOver: boolean, shown: ShownMessage): readonly Piece[] {
  const { content, tool_results: results = [] } = message;
  const pieces: Piece[] = [];
  let said = 0;
  for (const part of messageParts(message)) {
    if (part.kind === "call") pieces.push(...calledPieces(part.call, shown));
    else {
      const before = results.filter(({ call_id: id }) => shown.called.has(id));
      said += part.text.length;
      pieces.push(
        ...before.flatMap((result) => resultPieces(result, shown)),
        ...textPieces(content.slice(0, said), isOver || said < content.length, shown),
      );
    }
  }
  return [...pieces, ...results.flatMap((result) => resultPieces(result, shown))];
}

function calledPieces(call: ToolCall, { called }: ShownMessage): readonly Piece[] {
  if (called.has(call.id)) return [];
  called.add(call.id);
  return [line("tool", `* ${harmlessLine(call.name)} ${shortened(visibleJson(call.arguments))}`)];
}

function resultPieces(result: ToolResult, { answered }: ShownMessage): readonly Piece[] {
  if (answered.has(result.call_id)) return [];
  answered.add(result.call_id);
  const { name, output, is_error: isError, duration_ms: ms } = result;
  const told = shortened(typeof output === "string" ? harmlessLine(output) : visibleJson(output));
  const state = isError ? "failed" : "done";
  const text = `  ${harmlessLine(name)} ${state} in ${seconds(ms)}: ${told}`;
  return [line(isError ? "warning" : "tool", text)];
}

/** The text goes on; or it is another one than was shown, after a crash of the service. */
function textPieces(content: string, isOver: boolean, shown: ShownMessage): readonly Piece[] {
  // Half a character, or half a line end, waits for its other half.
  const text = isOver ? content : content.replace(/[\uD800-\uDBFF\r]$/, "");
  if (text.startsWith(shown.text)) {
    const more = text.slice(shown.text.length);
    shown.text = text;
    return more === "" ? [] : [{ kind: "text", text: harmlessText(more) }];
  }
  // It is being said again, and has not come to where it was.
  if (shown.text.startsWith(text)) return [];
  shown.text = text;
  return [line("quiet", "(the answer begins again)"), { kind: "text", text: harmlessText(text) }];
}

function wordOf(value: unknown): string {
  return typeof value === "string" ? harmlessLine(value) : visibleJson(value);
}

function line(tone: Tone, text: string): Piece {
  return { kind: "line", tone, text };
}

function shortened(text: string): string {
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST).toWellFormed()}…`;
}

function seconds(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
