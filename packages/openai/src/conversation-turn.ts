// Starts or continues the turn of a request, in both APIs.

import type { Snapshot } from "@colloquy/protocol";
import { ServiceError } from "@colloquy/engine";
import { mayUserDecide } from "@colloquy/protocol/may-user-decide";
import {
  type AppendedTurn,
  NO_USAGE,
  type ProtocolConversation,
  type ProtocolMessage,
  type ProtocolTurn,
} from "@colloquy/server/protocol";
import { actionsIn, decideAll, decodeAnswers, type DecodedAnswer } from "./answers.ts";
import { partAfter } from "./answer-part.ts";
import { invalid } from "./errors.ts";
import { readTurn, type TurnRead } from "./followed-answer.ts";
import { type DecodedFile, decodeFiles, storeFiles } from "./input-files.ts";
import type { Request, SentTurn } from "./transcript.ts";

type AppendedStep = AppendedTurn["steps"][number];
type AppendedCall = AppendedStep["calls"][number];

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
  /** True if an equal earlier request stored the message. */
  readonly isRepeat: boolean;
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
  const { message } = request;
  const files = decodeFiles(request.files);
  const answers = decodeAnswers(request.answers);
  if (message === null) return async (conversation) => await continueTurn(conversation, answers, field);
  const send: Send = async (conversation, follows = null) => {
    const sent = await sendMessage(
      conversation,
      { ...request, answers, message, files, field },
      { ...more, follows },
    );
    return { conversation, ...sent };
  };
  return async (requested, place = (placed) => placed(requested)) => {
    const { conversation, turn, isRepeat } = await place(send);
    const read = isRepeat
      ? await readExistingTurn(conversation, turn)
      : await readNewTurn(conversation, turn, more.options?.note ?? {});
    return { conversation, read, from: 0 };
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
  }: Omit<Request, "answers" | "message" | "files"> & {
    readonly answers: readonly DecodedAnswer[];
    readonly message: string;
    readonly files: readonly DecodedFile[];
    readonly field: string;
  },
  { options = {}, ...more }: Omit<ProtocolMessage, "text">,
): Promise<Pick<PlacedTurn, "turn" | "isRepeat">> {
  const exists = (await conversation.position()) !== null;
  if (exists && answers.length > 0) {
    assertAllAnswered((await conversation.snapshot()).pending_actions, actionsIn(answers), field);
    await decideAll(conversation, answers);
  }
  if (history.length > 0 && (!exists || (await conversation.snapshot()).messages.length === 0))
    await appendTurns(conversation, history);
  const attachments = await storeFiles(conversation, files);
  return await conversation.send({
    ...more,
    text: message,
    attachments,
    options: { ...options, instructions },
  });
}

/** Appends finished turns with their files. */
export async function appendTurns(
  conversation: ProtocolConversation,
  turns: readonly SentTurn[],
): Promise<void> {
  const decoded = turns.map(({ files, steps, ...turn }) => ({
    ...turn,
    files: decodeFiles(files),
    steps: steps.map(({ text, calls }) => ({
      text,
      calls: calls.map((call) => ({ ...call, files: decodeFiles(call.files ?? []) })),
    })),
  }));
  const stored: AppendedTurn[] = [];
  for (const { files, steps, ...turn } of decoded) {
    const attachments = await storeFiles(conversation, files);
    const storedSteps: AppendedStep[] = [];
    for (const { text, calls } of steps)
      storedSteps.push({ text, calls: await storeOutputs(conversation, calls) });
    stored.push({ ...turn, steps: storedSteps, ...(attachments.length > 0 && { attachments }) });
  }
  await conversation.append(stored);
}

async function storeOutputs(
  conversation: ProtocolConversation,
  calls: readonly (AppendedCall & { readonly files: readonly DecodedFile[] })[],
): Promise<readonly AppendedCall[]> {
  const stored: AppendedCall[] = [];
  for (const { files, ...call } of calls) {
    const attachments = await storeFiles(conversation, files);
    stored.push({ ...call, ...(attachments.length > 0 && { attachments }) });
  }
  return stored;
}

async function continueTurn(
  conversation: ProtocolConversation,
  answers: readonly DecodedAnswer[],
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

/**
 * Returns the turn of a message that has just been stored. Saves the read of the turn unless it has called a tool or
 * ended in the meantime.
 */
async function readNewTurn(
  conversation: ProtocolConversation,
  number: number,
  note: ProtocolTurn["note"],
): Promise<TurnRead> {
  const snapshot = await conversation.snapshot();
  const ofTurn = snapshot.messages.filter(({ turn }) => turn === number);
  const user = ofTurn.find(({ sender }) => sender === "user");
  const [answer = null, ...others] = ofTurn.filter(({ sender }) => sender === "agent");
  const isNew =
    answer === null
      ? snapshot.is_processing
      : answer.status === "streaming" && answer.tool_calls === undefined;
  if (user === undefined || !isNew || others.length > 0) return await readExistingTurn(conversation, number);
  const turn: ProtocolTurn = {
    number,
    state: answer === null ? "queued" : "running",
    model: snapshot.model ?? null,
    usage: NO_USAGE,
    failure: null,
    isCut: false,
    acceptedAt: Date.parse(user.created_at),
    endedAt: null,
    note,
    stepOfCall: {},
    reasoning: [],
    actions: [],
    user,
    answer,
    reason: null,
  };
  return { snapshot, turn };
}

async function readExistingTurn(conversation: ProtocolConversation, turn: number): Promise<TurnRead> {
  const read = await readTurn(conversation, turn);
  if (read !== null) return read;
  throw new ServiceError(409, "turn_replaced", "Another message has replaced this one. Send it again.");
}
