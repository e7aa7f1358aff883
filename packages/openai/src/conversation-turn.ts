// Starts or continues the turn of a request, in both APIs.

import type { Snapshot } from "@colloquy/protocol";
import { ServiceError } from "@colloquy/engine";
import { mayUserDecide } from "@colloquy/protocol/may-user-decide";
import type { AppendedTurn, ProtocolConversation, ProtocolMessage } from "@colloquy/server/protocol";
import { actionsIn, decideAll } from "./answers.ts";
import { partAfter } from "./answer-part.ts";
import { invalid } from "./errors.ts";
import { readTurn, type TurnRead } from "./followed-answer.ts";
import { type DecodedFile, decodeFiles, storeFiles } from "./input-files.ts";
import type { Request, SentTurn } from "./transcript.ts";

export interface StartedTurn {
  /** The conversation of the turn: the requested one or a copy of it. */
  readonly conversation: ProtocolConversation;
  readonly read: TurnRead;
  /** First call index of the part that answers the request (`PartRange`). */
  readonly from: number;
}

/** The conversation and turn of a stored message. */
export interface PlacedTurn {
  readonly conversation: ProtocolConversation;
  readonly turn: number;
}

/** Sends a request's message to a conversation. `follows` is as in `ProtocolMessage`. */
export type Send = (conversation: ProtocolConversation, follows?: string | null) => Promise<PlacedTurn>;

/** Starts the turn of a request. `place` selects the conversation of the message; by default, the requested one. */
export type Start = (
  conversation: ProtocolConversation,
  place?: (send: Send) => Promise<PlacedTurn>,
) => Promise<StartedTurn>;

/**
 * Decodes the files of a request. Returns a function that sends its message or decides the calls that it
 * answers. The function throws a `ServiceError` 400 for `field` if an answered call does not exist or a
 * pending call has no answer.
 */
export function prepareTurn(request: Request, more: Omit<ProtocolMessage, "text">, field: string): Start {
  const { message, answers } = request;
  const files = decodeFiles(request.files);
  if (message === null) return async (conversation) => await continueTurn(conversation, answers, field);
  const send: Send = async (conversation, follows = null) => {
    const turn = await sendMessage(conversation, { ...request, message, files, field }, { ...more, follows });
    return { conversation, turn };
  };
  return async (requested, place = (placed) => placed(requested)) => {
    const { conversation, turn } = await place(send);
    return { conversation, read: await readExistingTurn(conversation, turn), from: 0 };
  };
}

/** Sends the message. First stores the request's history if the conversation has no messages. */
async function sendMessage(
  conversation: ProtocolConversation,
  {
    history,
    answers,
    message,
    files,
    field,
    instructions,
  }: Omit<Request, "message" | "files"> & {
    readonly message: string;
    readonly files: readonly DecodedFile[];
    readonly field: string;
  },
  { options = {}, ...more }: Omit<ProtocolMessage, "text">,
): Promise<number> {
  const exists = (await conversation.position()) !== null;
  if (exists && answers.length > 0) {
    assertAllAnswered((await conversation.snapshot()).pending_actions, actionsIn(answers), field);
    await decideAll(conversation, answers);
  }
  if (history.length > 0 && (!exists || (await conversation.snapshot()).messages.length === 0))
    await appendTurns(conversation, history);
  const attachments = await storeFiles(conversation, files);
  const { turn } = await conversation.send({
    ...more,
    text: message,
    attachments,
    options: { ...options, instructions },
  });
  return turn;
}

/** Appends finished turns with their files. */
export async function appendTurns(
  conversation: ProtocolConversation,
  turns: readonly SentTurn[],
): Promise<void> {
  const decoded = turns.map(({ files, ...turn }) => ({ turn, files: decodeFiles(files) }));
  const stored: AppendedTurn[] = [];
  for (const { files, turn } of decoded) {
    const attachments = await storeFiles(conversation, files);
    stored.push(attachments.length === 0 ? turn : { ...turn, attachments });
  }
  await conversation.append(stored);
}

async function continueTurn(
  conversation: ProtocolConversation,
  answers: Request["answers"],
  field: string,
): Promise<StartedTurn> {
  const ids = actionsIn(answers);
  const exists = ids.length > 0 && (await conversation.position()) !== null;
  const known = exists ? (await conversation.actions()).filter(({ id }) => ids.includes(id)) : [];
  if (known.length === 0)
    throw invalid(
      field,
      "answers a call that is not in this conversation. Send the received call_id, or end with a user message",
    );
  const { pending_actions: pending, messages } = await conversation.snapshot();
  assertAllAnswered(pending, ids, field);
  await decideAll(conversation, answers);
  const calls = known.map(({ call_id: call }) => call);
  const read = await readExistingTurn(conversation, turnOfCalls(messages, calls));
  const from = Math.max(...calls.flatMap((call) => partAfter(read.turn, call) ?? []));
  if (from < 0) throw new Error("The turn's answer lacks a call that has an action");
  return { conversation, read, from };
}

/** Throws a `ServiceError` 400 if some pending calls are answered, and others are not that the client must answer. */
function assertAllAnswered(
  pending: Snapshot["pending_actions"],
  answered: readonly string[],
  field: string,
): void {
  const missing = pending.find((action) => !answered.includes(action.id) && mayUserDecide(action));
  if (missing !== undefined && pending.some(({ id }) => answered.includes(id)))
    throw invalid(field, `must answer all calls: the call of "${missing.tool}" has no answer`);
}

/** Returns the newest turn with one of these calls. */
function turnOfCalls(messages: Snapshot["messages"], callIds: readonly string[]): number {
  const message = messages.findLast(({ tool_calls: calls = [] }) =>
    calls.some(({ id }) => callIds.includes(id)),
  );
  if (message?.turn === undefined) throw new Error("No message has the call of an action");
  return message.turn;
}

async function readExistingTurn(conversation: ProtocolConversation, turn: number): Promise<TurnRead> {
  const read = await readTurn(conversation, turn);
  if (read !== null) return read;
  throw new ServiceError(409, "turn_replaced", "Another message has replaced this one. Send it again.");
}
