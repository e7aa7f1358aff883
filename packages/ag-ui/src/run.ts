// Starts a run, which sends a message, decides actions, or reads the thread. run-stream.ts streams it.

import type { Event } from "@ag-ui/core";
import type { Message, PendingAction, Snapshot } from "@colloquy/protocol";
import {
  FollowedTurn,
  NotFound,
  type ProtocolConversation,
  type ProtocolMessage,
  type ProtocolTurn,
  type SentMessage,
  ServiceError,
  type Start,
  startInProgress,
  startOfAny,
  startOfQueued,
  startOfSent,
  type StreamPosition,
  throwAfterCommit,
  waitsForPerson,
} from "@colloquy/server/protocol";
import { AnswerEvents } from "./answer-events.ts";
import { readFileParts, storeFiles } from "./file-parts.ts";
import { callIdOf } from "./ids.ts";
import { type Asked, readContext, readTools, type RunInput, type ToolAnswer } from "./input.ts";
import { type Decision, readResume, type ResumeEntry } from "./interrupts.ts";

/** A started run, ready to be streamed. */
export interface Run {
  /** Snapshot whose messages are sent first; `null` if the client has them. */
  readonly before: Snapshot | null;
  /** True to send a `STATE_SNAPSHOT` before the messages. */
  readonly sendsState: boolean;
  /** True to clear the client's messages before the snapshot (`usesOtherIds`). */
  readonly clears: boolean;
  /** Turn to stream; `null` if no turn is in progress. */
  readonly followed: Followed | null;
  /** False if the client may already have part of the current step's reasoning: it would append the same text again. */
  readonly includesReasoning: boolean;
}

interface Followed {
  readonly start: Start;
  readonly turn: FollowedTurn<Event>;
  readonly events: AnswerEvents;
}

/**
 * Applies a run to the session, and returns the content of its stream. Throws `ServiceError` 409 `interrupts_open`,
 * 400 `resume_invalid`, 404 `interrupt_not_found` or 410 `interrupt_expired`.
 */
export async function startRun(
  conversation: ProtocolConversation,
  input: RunInput,
  asked: Asked,
): Promise<Run> {
  const resume = input.resume ?? [];
  if (resume.length > 0 || asked.kind === "answers") {
    await conversation.admitChange();
    return await decide(conversation, resume, asked.kind === "answers" ? asked.answers : []);
  }
  return asked.kind === "message" ? await send(conversation, input, asked) : await connect(conversation);
}

async function connect(conversation: ProtocolConversation): Promise<Run> {
  const connected = { sendsState: true, includesReasoning: false };
  if ((await conversation.position()) === null)
    return { ...connected, clears: false, before: null, followed: null };
  const before = await conversation.snapshot();
  const clears = await usesOtherIds(conversation, before.messages.at(-1), before);
  const shown = { ...connected, clears };
  if (!before.is_processing) return { ...shown, before, followed: null };
  const answer = answerInProgress(before);
  const start = answer === null ? nextTurn(before) : startOfAny(before, ({ id }) => id === answer.id);
  return { ...shown, before, followed: start === null ? null : follow(start, answer) };
}

function answerInProgress({ messages }: Snapshot): Message | null {
  return messages.findLast(({ sender, status }) => sender === "agent" && status === "streaming") ?? null;
}

/** Returns the start of the first turn whose answer begins after the snapshot. */
function nextTurn({ pending_actions: pendingActions, last_event_id: lastEventId }: Snapshot): Start {
  return { state: { turn: null, answers: [], pendingActions, isOpen: true, failure: null }, lastEventId };
}

async function send(
  conversation: ProtocolConversation,
  input: RunInput,
  asked: Extract<Asked, { kind: "message" }>,
): Promise<Run> {
  const { id, text, files } = asked;
  const position = await conversation.position();
  const repeated = position?.isProcessing === true ? await repeat(conversation, asked, input.runId) : null;
  if (repeated !== null) return repeated;
  readResume(position?.pendingActions ?? [], []);
  // Cancel pending client calls: the message would be queued behind them until they expire.
  const cancels = position !== null && waitsForClient(position);
  if (cancels) await conversation.interrupt();
  const message: ProtocolMessage = {
    text,
    attachments: await storeFiles(conversation, files),
    messageId: id,
    userState: input.state ?? null,
    options: {
      clientTools: readTools(input),
      instructions: readContext(input),
      note: { "ag-ui": { run: input.runId, ...(asked.sentId !== id && { message: asked.sentId }) } },
    },
  };
  const sent = await sendOrReplace(conversation, message, input.runId);
  const { turn } = sent;
  const begun = cancels ? null : startOfSent(sent);
  if (begun !== null) return newTurn(begun);
  const snapshot = await conversation.snapshot().catch(throwAfterCommit);
  const start = startOfAny(snapshot, (one) => one.turn === turn) ?? startOfQueued(sent.position, turn);
  if (!sent.isRepeat && !cancels) return newTurn(start);
  const run = await repeatedTurn(conversation, snapshot, start);
  if (sent.isRepeat) return run;
  // The snapshot has the results of the cancelled calls, which clients would append after the new message.
  return { ...run, clears: true, includesReasoning: true };
}

function newTurn(start: Start): Run {
  const rest = { before: null, sendsState: false, clears: false, includesReasoning: true };
  return { ...rest, followed: follow(start, null) };
}

/** Returns a run that sends a snapshot without the turn's answer, then replays the turn from its start. */
async function repeatedTurn(
  conversation: ProtocolConversation,
  snapshot: Snapshot,
  start: Start,
): Promise<Run> {
  const { turn } = start.state;
  // Omit the answer: the replay sends it in full, and the client may have part of it.
  const messages = snapshot.messages.filter((one) => one.sender === "user" || one.turn !== turn);
  const clears = await usesOtherIds(conversation, messages.at(-1), snapshot);
  const before = { ...snapshot, messages };
  return { before, sendsState: false, clears, includesReasoning: false, followed: follow(start, null) };
}

/**
 * Returns a run that replays the turn of a message; `null` if the turn has ended or another run sent the
 * message.
 */
async function repeat(
  conversation: ProtocolConversation,
  { id, text, files }: Extract<Asked, { kind: "message" }>,
  runId: string,
): Promise<Run | null> {
  const snapshot = await conversation.snapshot();
  const ids = [...new Set(files.map((file) => file.id))].join();
  const question = snapshot.messages.find(
    ({ id: known, content, attachments = [] }) =>
      known === id && content === text && attachments.map((file) => file.id).join() === ids,
  );
  if (question?.turn === undefined) return null;
  const turn = await conversation.turn(question.turn, snapshot);
  if (turn === null || turn.endedAt !== null || noteIn(turn).run !== runId) return null;
  const start = startOfAny(snapshot, (message) => message.id === id);
  return start === null ? null : await repeatedTurn(conversation, snapshot, start);
}

/** Note of a turn, under the key `ag-ui`. */
interface Note {
  /** `runId` of the run that sent the message. */
  readonly run?: string;
  /** The client's id of the message; absent if it equals the stored id. */
  readonly message?: string;
}

function noteIn({ note }: Pick<ProtocolTurn, "note">): Note {
  return (note["ag-ui"] ?? {}) as Note;
}

/**
 * Returns true if the client's id of this turn's user message differs from the stored one. Its messages must
 * then be cleared before a snapshot: clients keep known messages in place and append the others, so the
 * user's message would follow its answer.
 */
export async function usesOtherIds(
  conversation: ProtocolConversation,
  message: Message | null | undefined,
  snapshot: Snapshot,
): Promise<boolean> {
  const turn = message?.turn === undefined ? null : await conversation.turn(message.turn, snapshot);
  return turn !== null && noteIn(turn).message !== undefined;
}

/** Returns true if the turn in progress waits only for results of client tools. Assumes that no interrupt is open. */
function waitsForClient({ isProcessing, streaming, pendingActions }: StreamPosition): boolean {
  return isProcessing && streaming !== null && waitsForPerson(streaming.answer.message, pendingActions);
}

/**
 * Sends a message. If its id is stored with another text, or another run has answered it, replaces the stored message
 * and everything after it: clients edit and regenerate in this way.
 */
async function sendOrReplace(
  conversation: ProtocolConversation,
  message: ProtocolMessage,
  runId: string,
): Promise<SentMessage> {
  const replace = (): Promise<SentMessage> =>
    conversation.send({ ...message, replaces: message.messageId ?? null });
  let sent: SentMessage;
  try {
    sent = await conversation.send(message);
  } catch (error) {
    if (error instanceof ServiceError && error.code === "message_exists") return await replace();
    throw error;
  }
  if (!sent.isRepeat) return sent;
  const turn = await conversation.turn(sent.turn);
  const isOther = turn !== null && turn.endedAt !== null && noteIn(turn).run !== runId;
  return isOther ? await replace() : sent;
}

/** Applies the decisions in `resume` and the results of client tools, then follows the turn. */
async function decide(
  conversation: ProtocolConversation,
  resume: readonly ResumeEntry[],
  answers: readonly ToolAnswer[],
): Promise<Run> {
  const before = await conversation.snapshot();
  const { pending_actions: pending } = before;
  if (resume.length > 0) await assertKnown(conversation, resume);
  const resumed = resume.length > 0 ? readResume(pending, resume) : [];
  const answer = answerOf(before, pending);
  const sent = answers.flatMap(({ callId, result, parts }) => {
    const index = answer?.tool_calls?.findIndex((_call, at) => callIdOf(answer.id, at) === callId) ?? -1;
    const call = answer?.tool_calls?.[index];
    const action = pending.find(({ kind, call_id }) => kind === "client_tool" && call_id === call?.id);
    // Clients resend results of earlier runs.
    return action === undefined
      ? []
      : [{ action: action.id, result, files: readFileParts(parts, action.id) }];
  });
  // Check and upload before the first decision: a rejected file must reject the whole run.
  for (const { files } of sent)
    for (const { id, upload } of files) if (upload === undefined) await conversation.openFile(id);
  const results: Decision[] = [];
  for (const { action, result, files } of sent) {
    const attachments = [...(await storeFiles(conversation, files))];
    const withFiles = { ...result, ...(attachments.length > 0 && { attachments }) };
    results.push({ action, decision: "approve", result: withFiles });
  }
  for (const { action, decision, result } of [...results, ...resumed])
    await conversation.decide(action, { decision, result }).catch(ignoreDecided);
  if (answer === null) return await connect(conversation);
  const position = await conversation.position();
  const isIt = ({ id }: Message): boolean => id === answer.id;
  const begun = position === null ? null : startInProgress(position, isIt);
  const start = begun ?? startOfAny(await conversation.snapshot(), isIt);
  if (start === null)
    throw new NotFound(
      "message_not_found",
      "Another message has replaced this answer. Connect to the thread again to read it.",
    );
  const clears = await usesOtherIds(conversation, answer, before);
  // Send no state: only runs with a message store it, so the client's may be newer.
  return { before, sendsState: false, clears, includesReasoning: true, followed: follow(start, answer) };
}

/** Returns the newest message with a call that has a pending action; `null` if there is none. */
export function answerOf({ messages }: Snapshot, pending: readonly PendingAction[]): Message | null {
  const ids = new Set(pending.map(({ call_id }) => call_id));
  return messages.findLast(({ tool_calls: calls = [] }) => calls.some(({ id }) => ids.has(id))) ?? null;
}

/** Throws `ServiceError` 404 for an unknown interrupt, or 410 for an expired one. */
async function assertKnown(
  conversation: ProtocolConversation,
  resume: readonly ResumeEntry[],
): Promise<void> {
  const actions = new Map((await conversation.actions()).map((action) => [action.id, action]));
  for (const { interruptId } of resume) {
    const action = actions.get(interruptId);
    if (action === undefined)
      throw new NotFound(
        "interrupt_not_found",
        `The thread has no interrupt ${interruptId}. Connect to the thread again to read the open interrupts.`,
      );
    if (action.status === "expired")
      throw new ServiceError(
        410,
        "interrupt_expired",
        `The interrupt ${interruptId} has expired, and its call was denied. Connect to the thread again to continue.`,
      );
  }
}

/** Ignores conflicts with an earlier decision, expiry or cancellation: the stream has the result of the call. */
function ignoreDecided(error: unknown): void {
  if (!(error instanceof ServiceError) || ![409, 410].includes(error.status)) throw error;
}

/** Follows a turn. `known` is the client's state of the answer, or `null`. */
function follow(start: Start, known: Message | null): Followed {
  const events = new AnswerEvents(known);
  return { start, events, turn: new FollowedTurn(start.state, events) };
}
