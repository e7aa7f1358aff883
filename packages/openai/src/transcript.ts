// Converts the messages, calls and outputs of both APIs to one format, and splits them into history and new input.

import type { AppendedTurn } from "@colloquy/server/protocol";
import { readMessage } from "@colloquy/server/protocol";
import { invalid } from "./errors.ts";
import { assertFileCount, type InputFile } from "./input-files.ts";
import { type JsonValue, jsonOrText } from "./json.ts";

/** An item of a request. */
export type Entry =
  | { readonly kind: "instructions"; readonly text: string }
  | { readonly kind: "user"; readonly text: string; readonly files: readonly InputFile[] }
  | { readonly kind: "assistant"; readonly text: string }
  | { readonly kind: "call"; readonly id: string; readonly name: string; readonly arguments: string }
  | {
      readonly kind: "output";
      readonly callId: string;
      readonly output: string;
      /** Absent for none. */
      readonly files?: readonly InputFile[];
    }
  | { readonly kind: "decision"; readonly requestId: string; readonly approve: boolean };

/** A client's answer to a call or an approval request. */
export type CallAnswer = Extract<Entry, { readonly kind: "output" | "decision" }>;

/** A finished turn with files to store. */
export interface SentTurn extends Omit<AppendedTurn, "attachments" | "steps"> {
  readonly files: readonly InputFile[];
  readonly steps: readonly SentStep[];
}

interface SentStep {
  readonly text: string;
  readonly calls: readonly (Omit<AppendedTurn["steps"][number]["calls"][number], "attachments"> & {
    /** Files of the output; absent for none. */
    readonly files?: readonly InputFile[] | undefined;
  })[];
}

export interface Request {
  /** Instructions for this turn; `null` for none. */
  readonly instructions: string | null;
  /** Finished turns before the message. */
  readonly history: readonly SentTurn[];
  /** Answers to the calls of the last turn. */
  readonly answers: readonly CallAnswer[];
  /** The user's new message; `null` if the request only answers calls. */
  readonly message: string | null;
  /** Files of the message. */
  readonly files: readonly InputFile[];
}

/**
 * Splits a client's items into history and new input. Throws a `ServiceError` 400 for `field` if no user message or
 * answer follows the last assistant item, and 400 or 413 if the new message is blank or too long.
 */
export function readRequest(entries: readonly Entry[], field: string): Request {
  const instructions = entries.flatMap((entry) => (entry.kind === "instructions" ? [entry.text] : []));
  const items = entries.filter(({ kind }) => kind !== "instructions");
  const end = items.findLastIndex(({ kind }) => kind === "assistant" || kind === "call") + 1;
  const last = items.slice(end);
  const users = last.filter((entry) => entry.kind === "user");
  const files = users.flatMap((entry) => entry.files);
  assertFileCount(files);
  // Clients may send each call with its output, so earlier outputs of the turn may precede its last call.
  const begin = items.slice(0, end).findLastIndex(({ kind }) => kind === "user") + 1;
  const answers = items.slice(begin).filter((entry) => entry.kind === "output" || entry.kind === "decision");
  if (last.length === 0) throw invalid(field, "must end with a user message or with outputs of calls");
  const before = items.filter((entry, index) => index < end || entry.kind !== "user");
  return {
    instructions: instructions.length === 0 ? null : instructions.join("\n\n"),
    history: users.length === 0 ? [] : turnsOf(before),
    answers,
    message: users.length === 0 ? null : readMessage(joined(users), files.length > 0),
    files,
  };
}

/** Joins the texts of messages. Messages with only files have no text. */
function joined(messages: readonly { readonly text: string }[]): string {
  return messages.flatMap(({ text }) => (text === "" ? [] : [text])).join("\n\n");
}

interface Step {
  text: string;
  readonly calls: {
    id: string;
    name: string;
    arguments: JsonValue;
    output: JsonValue | undefined;
    files?: readonly InputFile[] | undefined;
  }[];
}

/** Groups items into finished turns. Each user message starts a turn. */
export function turnsOf(entries: readonly Entry[]): SentTurn[] {
  /** Ids that the client sent. Calls of a turn may share one, but are stored with distinct ids. */
  const sentIds = new Map<Step["calls"][number], string>();
  const turns: { user: string; readonly files: readonly InputFile[]; readonly steps: Step[] }[] = [];
  for (const entry of entries) {
    if (entry.kind === "instructions" || entry.kind === "decision") continue;
    if (entry.kind === "user") {
      assertFileCount(entry.files);
      turns.push({ user: entry.text, files: entry.files, steps: [] });
      continue;
    }
    if (turns.length === 0) turns.push({ user: "", files: [], steps: [] });
    const { steps } = turns.at(-1) as (typeof turns)[number];
    const step = steps.at(-1);
    if (entry.kind === "output") {
      const isAnswered = (call: Step["calls"][number]): boolean =>
        sentIds.get(call) === entry.callId && call.output === undefined;
      const call = steps.findLast(({ calls }) => calls.some(isAnswered))?.calls.find(isAnswered);
      if (call === undefined) continue;
      call.output = jsonOrText(entry.output);
      // Clients resend results of the App's tools, whose files are of another conversation.
      call.files = entry.files?.filter(({ kind }) => kind === "data");
    } else if (entry.kind === "assistant") {
      steps.push({ text: entry.text, calls: [] });
    } else {
      const made = steps.flatMap(({ calls }) => calls);
      const call = {
        id: made.some(({ id }) => id === entry.id) ? `${entry.id}-${made.length}` : entry.id,
        name: entry.name,
        arguments: jsonOrText(entry.arguments),
        output: undefined,
      };
      sentIds.set(call, entry.id);
      // All calls of a step precede its outputs.
      if (step === undefined || step.calls.some(({ output }) => output !== undefined))
        steps.push({ text: "", calls: [call] });
      else step.calls.push(call);
    }
  }
  return turns;
}
