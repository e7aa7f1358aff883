// Starts and ends turns, for commands of users (chat, interrupt) and of the agent loop.

import type { Attachment, Steering, ToolResult } from "@colloquy/protocol";
import { mayHaveRun } from "../action.ts";
import { isUncertain, type MessageRecord, openCalls, type ToolCallRecord, changeExtras } from "../message.ts";
import { appOf, type SessionRecord } from "../session.ts";
import { type TurnOptions } from "../turn-options.ts";
import {
  MAX_ATTEMPTS,
  NO_USAGE,
  type OpenTurn,
  ranInAttempt,
  type StartedTurn,
  type TurnFailure,
  type TurnRecord,
} from "../turn.ts";
import { OUTCOME_UNKNOWN } from "./asking.ts";
import type { WritingTurn } from "./command.ts";
import type { SessionDraft } from "./draft.ts";
import { isPending, readPending, releasePending } from "./steering.ts";

/** Owner of a starting turn, and the id for its agent message if it has none. */
export interface TurnClaim {
  readonly owner: string;
  readonly agentMessageId: string;
}

/** Adds a turn at the end of the session's queue. */
export function enqueueTurn(
  draft: SessionDraft,
  message: {
    readonly id: string;
    readonly text: string;
    readonly attachments?: readonly Attachment[];
    readonly clientId: string | null;
    readonly options: TurnOptions;
    /** Absent for a message that does not steer. */
    readonly steering?: Steering | undefined;
  },
  place: { readonly isFirst: boolean; readonly startsNow: boolean; readonly behindWaiting: boolean },
): OpenTurn {
  const number = draft.session.turnCount + 1;
  const { attachments = [], steering } = message;
  const userMessage = draft.addMessage({
    id: message.id,
    turn: number,
    role: "user",
    content: message.text,
    status: place.startsNow ? "complete" : "queued",
    toolCalls: [],
    toolResults: [],
    ...((attachments.length > 0 || steering !== undefined) && {
      extras: { ...(attachments.length > 0 && { attachments }), ...(steering !== undefined && { steering }) },
    }),
  });
  const turn = draft.addTurn({
    state: "queued",
    userPosition: userMessage.position,
    agentPosition: null,
    attempts: 0,
    steps: 0,
    ranMs: 0,
    model: null,
    startedAt: null,
    attemptAt: null,
    epoch: 0,
    runnable: place.isFirst,
    behindWaiting: place.behindWaiting,
    clientId: message.clientId,
    options: message.options,
    usage: NO_USAGE,
    failure: null,
    enqueuedAt: draft.at,
    endedAt: null,
  });
  return { turn, userMessage, agentMessage: null, actions: [] };
}

/** Returns the session's rig if its App still has it, else the first of the App's `models`. */
export function availableModel(
  { model, modelChosen }: Pick<SessionRecord, "model" | "modelChosen">,
  models: readonly string[],
): string {
  return modelChosen && models.includes(model) ? model : (models[0] ?? model);
}

/** Moves the session to the available rig, with a notice if its chosen one is gone. */
export function useAvailableModel(draft: SessionDraft, models: readonly string[]): void {
  const { model, modelChosen } = draft.session;
  const available = availableModel(draft.session, models);
  if (available === model) return;
  draft.update({ model: available, modelChosen: false });
  if (modelChosen) {
    draft.addNotice(
      "warning",
      "model_gone",
      `The model ${model} is no longer available here. The conversation goes on with ${available}.`,
    );
  }
  draft.announceState();
}

/**
 * Gives a runnable turn to an owner under a new epoch. A new turn reads the pending steering messages with its own. A
 * turn whose owner is gone, or that waited for a person, continues after its last finished step; after too many
 * attempts it fails, and this returns `null`. `openTurns` are all of the session.
 */
export function startTurn(
  draft: SessionDraft,
  open: OpenTurn,
  claim: TurnClaim,
  openTurns: readonly OpenTurn[],
): StartedTurn | null {
  if (!open.turn.runnable) throw new Error(`Turn ${open.turn.number} cannot be started: it is not runnable`);
  if (open.turn.state === "running" && open.turn.attempts >= MAX_ATTEMPTS) {
    failTurn(draft, open, open.agentMessage?.content ?? "", {
      code: "turn_crashed",
      message: `The assistant stopped ${MAX_ATTEMPTS} times in the middle of this answer. Send your message again.`,
    });
    return null;
  }
  const epoch = draft.raiseEpoch();
  const userMessage =
    open.userMessage.status === "queued"
      ? draft.changeMessage(open.userMessage, { ...open.userMessage, status: "complete" }, "message_updated")
      : open.userMessage;
  if (open.agentMessage === null) readPending(draft, open, openTurns, 1);
  const agentMessage =
    open.agentMessage === null
      ? addAgentMessage(draft, open, claim)
      : reopenAndCloseUncertainCalls(draft, open.agentMessage);
  const isSteered = open.agentMessage !== null && openTurns.some(isPending);
  const turn = draft.changeTurn({
    ...open.turn,
    state: "running",
    agentPosition: agentMessage.position,
    attempts: open.turn.attempts + 1,
    model: draft.session.model,
    startedAt: open.turn.startedAt ?? draft.at,
    attemptAt: draft.at,
    epoch,
    runnable: false,
  });
  draft.lease = { kind: "taken", owner: claim.owner, epoch };
  return describeStartedTurn(draft, turn, { userMessage, agentMessage, isSteered });
}

/** Ends a turn as interrupted; `text` is the content of its agent message. */
export function interruptTurn(draft: SessionDraft, open: OpenTurn, text: string): void {
  const { userMessage, agentMessage } = open;
  if (agentMessage === null) {
    const unread = changeExtras(userMessage, { steering: undefined });
    draft.changeMessage(userMessage, { ...unread, status: "interrupted" }, "message_completed");
  } else {
    sealMessage(draft, { ...open, agentMessage }, { content: text, status: "interrupted" });
  }
  endTurn(draft, open, { state: "interrupted" });
}

/** Ends a turn as failed, with a notice. */
export function failTurn(draft: SessionDraft, open: OpenTurn, text: string, failure: TurnFailure): void {
  const { agentMessage } = open;
  if (agentMessage !== null)
    sealMessage(draft, { ...open, agentMessage }, { content: text, status: "failed" });
  endTurn(draft, open, { state: "failed", failure: failure.code });
  draft.addNotice("error", failure.code, failure.message, open.turn.number);
}

/**
 * Records the end of a turn, drops its options and cancels its actions. The caller updates the session's
 * status and queue.
 */
export function endTurn(draft: SessionDraft, { turn, actions }: OpenTurn, end: Partial<TurnRecord>): void {
  for (const action of actions) draft.resolveAction(action, "cancelled", null);
  const ranMs = turn.ranMs + ranInAttempt(turn, null, draft.at);
  const { note } = turn.options;
  const options = note === undefined ? {} : { note };
  const ended = { ranMs, runnable: false, behindWaiting: false, options, endedAt: draft.at };
  draft.changeTurn({ ...turn, ...end, ...ended });
  draft.obsoleteCheckpoints.add(turn.number);
}

/** Makes the next turn runnable after one has ended by itself, or makes the session idle. */
export function advanceQueue(draft: SessionDraft, ended: TurnRecord, openTurns: readonly OpenTurn[]): void {
  draft.lease = { kind: "released" };
  releasePending(draft, openTurns);
  const next = openTurns.find((open) => open.turn.number !== ended.number);
  if (next !== undefined) draft.changeTurn({ ...next.turn, runnable: true });
  draft.moveStatus(next === undefined ? "turn_ended_queue_empty" : "turn_ended_queue_not_empty");
}

function addAgentMessage(draft: SessionDraft, open: OpenTurn, claim: TurnClaim): MessageRecord {
  return draft.addMessage({
    id: claim.agentMessageId,
    turn: open.turn.number,
    role: "assistant",
    content: "",
    status: "streaming",
    toolCalls: [],
    toolResults: [],
  });
}

/**
 * Emits the message as of the last finished step, because subscribers may have seen later text, and gives
 * started unsafe calls a result. An approved call has not started and stays open.
 */
function reopenAndCloseUncertainCalls(draft: SessionDraft, message: MessageRecord): MessageRecord {
  draft.obsoleteCheckpoints.add(message.turn);
  return draft.changeMessage(
    message,
    closeCalls(message, { closes: isUncertain, isUnknown: isUncertain }),
    "message_updated",
  );
}

function sealMessage(
  draft: SessionDraft,
  { agentMessage, actions }: WritingTurn,
  end: Pick<MessageRecord, "content" | "status">,
): void {
  const claimed = new Set(actions.filter(mayHaveRun).map(({ callId }) => callId));
  const isUnknown = (call: ToolCallRecord): boolean => isUncertain(call) || claimed.has(call.id);
  draft.changeMessage(
    agentMessage,
    { ...closeCalls(agentMessage, { closes: () => true, isUnknown }), ...end },
    "message_completed",
  );
}

function describeStartedTurn(
  draft: SessionDraft,
  turn: TurnRecord,
  {
    userMessage,
    agentMessage,
    isSteered,
  }: { readonly userMessage: MessageRecord } & Pick<StartedTurn, "agentMessage" | "isSteered">,
): StartedTurn {
  const session = draft.session;
  return {
    sessionId: session.id,
    sessionKey: session.key,
    number: turn.number,
    epoch: turn.epoch,
    incarnation: session.incarnation,
    app: appOf(session),
    model: session.model,
    attempt: turn.attempts,
    stepsDone: turn.steps,
    ranMs: turn.ranMs,
    userText: userMessage.content,
    ...(userMessage.extras?.attachments !== undefined && { attachments: userMessage.extras.attachments }),
    agentMessage,
    isSteered,
    openCalls: openCalls(agentMessage).filter(({ phase }) => phase !== "asked"),
    clientId: turn.clientId,
    options: turn.options,
    publicKey: session.publicKey,
    walletId: session.walletId,
    walletProved: session.walletProved,
    userState: session.userState,
  };
}

type CallTest = (call: ToolCallRecord) => boolean;

/**
 * Adds missing results (contract section 2): `outcome unknown` if a tool with side effects had started, else
 * `interrupted`.
 */
function closeCalls(
  message: MessageRecord,
  { closes, isUnknown }: { readonly closes: CallTest; readonly isUnknown: CallTest },
): MessageRecord {
  const closing = new Set(openCalls(message).filter(closes));
  if (closing.size === 0) return message;
  const results = Array.from(closing, (call): ToolResult => {
    const output = isUnknown(call) ? OUTCOME_UNKNOWN : "interrupted";
    return { call_id: call.id, name: call.name, output, is_error: true, duration_ms: 0 };
  });
  return {
    ...message,
    toolCalls: message.toolCalls.map((call) =>
      closing.has(call) ? { ...call, status: "interrupted" } : call,
    ),
    toolResults: [...message.toolResults, ...results],
  };
}
