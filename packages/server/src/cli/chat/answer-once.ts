// Answers a single question: the answer goes to standard output, everything else to standard error.

import { type LiveSession, mayUserDecide, type SessionUpdate } from "@colloquy/client";
import type { Snapshot } from "@colloquy/protocol";
import type { CommandParts, ExitCode } from "../command.ts";
import { harmlessJson, harmlessLine } from "../terminal-text.ts";
import { attachFile } from "./attached-file.ts";
import type { ChatContext } from "./chat-context.ts";
import { Screen } from "./screen.ts";
import { Transcript } from "./transcript.ts";

/**
 * Asks, prints the answer and returns the exit code. Rejects with a `ColloquyError` if sending the message
 * fails. `attach` has paths of files that go with the question.
 */
export async function answerOnce(
  parts: CommandParts,
  context: ChatContext,
  session: LiveSession,
  question: string,
  { json = false, attach = [] }: { readonly json?: boolean; readonly attach?: readonly string[] },
): Promise<ExitCode> {
  const { host } = parts;
  const stop = new AbortController();
  let ended: ExitCode | null = null;
  const onSignal = (code: ExitCode) => (): void => {
    // A second signal exits without waiting for the interruption.
    if (ended !== null) return stop.abort();
    ended = code;
    void Promise.allSettled([session.interrupt()]).then(() => stop.abort());
  };
  const [onInterrupt, onEnd] = [onSignal(130), onSignal(143)];
  const listeners = [
    ["SIGINT", onInterrupt],
    ["SIGTERM", onEnd],
    ["SIGHUP", onEnd],
  ] as const;
  for (const [signal, listener] of listeners) host.on(signal, listener);
  try {
    const print = json ? jsonPrinter(parts) : textPrinter(parts);
    const last = await follow(session, { question, attach }, context, print, stop.signal);
    await context.threads.remember(last).catch((error: unknown) => warn(parts, error));
    return ended ?? outcomeOf(parts, last, question);
  } catch (error) {
    if (ended !== null) return ended;
    throw error;
  } finally {
    for (const [signal, listener] of listeners) host.off(signal, listener);
    session.stop();
  }
}

interface Printer {
  begin?(snapshot: Snapshot, question: string): void;
  print(update: SessionUpdate, snapshot: Snapshot): void;
  end?(): void;
}

async function follow(
  session: LiveSession,
  { question, attach }: { readonly question: string; readonly attach: readonly string[] },
  { publicKey }: ChatContext,
  printer: Printer,
  signal: AbortSignal,
): Promise<Snapshot> {
  const before = await session.refresh({ signal });
  printer.begin?.(before, question);
  const updates = session.updates({ signal });
  const attachments: string[] = [];
  for (const path of attach) attachments.push((await attachFile(session, path, signal)).id);
  const sent = await session.send(question, {
    signal,
    ...(publicKey !== null && { publicKey }),
    ...(attachments.length > 0 && { attachments }),
  });
  const own = sent.messages.findLast(({ sender }) => sender === "user")?.id;
  // The message is queued behind a turn that waits for a decision, so no answer will come.
  if (sent.pending_actions.length > 0) return sent;
  let hasArrived = false;
  for await (const update of updates) {
    const snapshot = session.getSnapshot() ?? sent;
    printer.print(update, snapshot);
    // Follow the order of the events, because the snapshot may be ahead of them.
    hasArrived ||= isAbout(update, own, snapshot);
    const isStreaming = session.getConnection().state === "live";
    if (hasArrived && isLast(update, snapshot, isStreaming)) break;
  }
  printer.end?.();
  return session.getSnapshot() ?? sent;
}

/** Returns true if the event shows that the message has arrived. */
function isAbout(update: SessionUpdate, messageId: string | undefined, { messages }: Snapshot): boolean {
  if ("message" in update && typeof update.message === "object") return update.message.id === messageId;
  return isGap(update) && messages.some(({ id }) => id === messageId);
}

/** Returns true if after this event the assistant is done or waits for a decision. */
function isLast(update: SessionUpdate, snapshot: Snapshot, isStreaming: boolean): boolean {
  // A whole turn can pass between two polls without a visible state change.
  if (update.type === "message_completed" && !isStreaming) return !snapshot.is_processing;
  if (update.type === "state_changed") return update.status !== "processing";
  if (update.type === "system_event") return update.item.type === "action_requested";
  return isGap(update) && (!snapshot.is_processing || snapshot.pending_actions.length > 0);
}

function isGap(update: SessionUpdate): boolean {
  return update.type === "system_notice" && update.code === "resync";
}

function textPrinter({ host }: CommandParts): Printer {
  const transcript = new Transcript();
  const [text, notices] = [new Screen(host.stdout), new Screen(host.stderr)];
  const shareTerminal = host.stdout.isTTY && host.stderr.isTTY;
  return {
    begin(snapshot, question) {
      // Earlier messages are not part of the answer.
      transcript.begin(snapshot);
      transcript.typed(question);
    },
    print(update, snapshot) {
      for (const piece of [...transcript.showUpdate(update), ...transcript.showSnapshot(snapshot)]) {
        if (piece.kind === "text") text.write([piece]);
        else if (shareTerminal) text.write([piece]);
        else if (piece.tone !== "tool" && piece.tone !== "user") notices.write([piece]);
      }
    },
    end: () => text.endLine(),
  };
}

function jsonPrinter({ output }: CommandParts): Printer {
  return { print: (update) => output.write(`${harmlessJson(update)}\n`) };
}

function outcomeOf({ errors }: CommandParts, snapshot: Snapshot, question: string): ExitCode {
  const [action] = snapshot.pending_actions;
  if (action !== undefined && !mayUserDecide(action)) {
    errors.write(`Colloquy: ${harmlessLine(action.tool)} waits for an approver.\n`);
    return 1;
  }
  if (action !== undefined) {
    errors.write(
      `Colloquy: The assistant needs a decision about ${harmlessLine(action.tool)}. Continue in a terminal: colloquy chat --session ${harmlessLine(snapshot.session_id)}\n`,
    );
    return 1;
  }
  const asked = snapshot.messages.findLastIndex(
    ({ sender, content }) => sender === "user" && content.trim() === question.trim(),
  );
  const turn = snapshot.messages[asked]?.turn;
  const answer = snapshot.messages
    .slice(asked)
    .findLast((message) => message.sender === "agent" && message.turn === turn);
  return answer?.status === "complete" ? 0 : 1;
}

function warn({ errors }: CommandParts, error: unknown): void {
  errors.write(`Warning: ${harmlessLine(error instanceof Error ? error.message : String(error))}\n`);
}
