// Messages together with their actions, progress and notices. Pure; an unchanged message stays the same
// object, so that only changes are rendered again.

import {
  answeredQuestion,
  type LiveReasoning,
  type Message,
  type PendingAction,
  type Reasoning,
  type SystemEvent,
} from "@colloquy/client";
import type { Progress } from "../shared-session.ts";
import { noticesOf, type Notice } from "../use-notices.ts";

export interface DisplayMessage {
  readonly message: Message;
  /** Pending actions of the message's calls. */
  readonly actions: readonly PendingAction[];
  /**
   * Latest progress of its running calls, in the order of the calls; `undefined` for a call without progress.
   */
  readonly progress: readonly unknown[];
  /** Notices about it, except the failure. */
  readonly notices: readonly Notice[];
  /** Why it failed. */
  readonly failure: Notice | null;
  /** Text of the question it answers, if other messages are between the two. */
  readonly inReplyTo: string | null;
  /** Reasoning that has streamed since the message is shown; `null` for none. */
  readonly reasoning: readonly Reasoning[] | null;
}

export interface Shown {
  readonly messages: readonly Message[];
  readonly system_events: readonly SystemEvent[];
  readonly pending_actions: readonly PendingAction[];
  readonly progress: Progress;
  /** Reasoning of the answer in progress. */
  readonly reasoning: LiveReasoning | null;
}

/** Returns the messages with their details. `before` is the previous result. */
export function displayMessages(before: readonly DisplayMessage[], shown: Shown): readonly DisplayMessage[] {
  const known = new Map(before.map((one) => [one.message.id, one]));
  const told = noticesByMessage(shown);
  const after = shown.messages.map((message, index) => {
    const calls = message.tool_calls ?? [];
    const ids = new Set(calls.map(({ id }) => id));
    const last = known.get(message.id);
    const next: DisplayMessage = {
      message,
      actions: calls.length === 0 ? [] : shown.pending_actions.filter(({ call_id }) => ids.has(call_id)),
      // Progress is removed by a separate event after completion, so ignore progress of finished calls.
      progress: calls.map(({ id, status }) => (status === "running" ? shown.progress.get(id) : undefined)),
      notices: told.notices.get(message.id) ?? [],
      failure: told.failures.get(message.id) ?? null,
      inReplyTo: answeredQuestion(shown.messages, index)?.content ?? null,
      reasoning: reasoningOf(message.id, shown) ?? last?.reasoning ?? null,
    };
    return last !== undefined && isSame(last, next) ? last : next;
  });
  return hasSame(before, after) ? before : after;
}

/**
 * Inserts the answer in progress if it has only reasoning yet: snapshots omit it. `all` are the messages of the
 * snapshot, `shown` some of them.
 */
export function withPendingAnswer(
  shown: readonly DisplayMessage[],
  all: readonly DisplayMessage[],
  live: LiveReasoning | null,
): readonly DisplayMessage[] {
  if (live === null || all.some(({ message }) => message.id === live.messageId)) return shown;
  let at = shown.length;
  while (shown[at - 1]?.message.status === "queued") at -= 1;
  const before = shown[at - 1]?.message;
  if (before === undefined) return shown;
  const { created_at } = before;
  const pending: DisplayMessage = {
    message: { id: live.messageId, sender: "agent", content: "", created_at, status: "streaming" },
    actions: [],
    progress: [],
    notices: [],
    failure: null,
    inReplyTo: null,
    reasoning: live.steps,
  };
  return [...shown.slice(0, at), pending, ...shown.slice(at)];
}

function reasoningOf(id: string, { reasoning }: Shown): readonly Reasoning[] | null {
  return reasoning?.messageId === id ? reasoning.steps : null;
}

function isSame(one: DisplayMessage, other: DisplayMessage): boolean {
  return (
    one.message === other.message &&
    hasSame(one.actions, other.actions) &&
    hasSame(one.progress, other.progress) &&
    one.failure?.id === other.failure?.id &&
    one.inReplyTo === other.inReplyTo &&
    one.reasoning === other.reasoning &&
    hasSame(
      one.notices.map(({ id }) => id),
      other.notices.map(({ id }) => id),
    )
  );
}

function hasSame(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((item, at) => Object.is(item, other[at]));
}

/**
 * Assigns a notice to the newest message at the time of its arrival, and a failure to the answer of its turn. Failures
 * from an older service have no turn: the first one after the start of an answer is assigned to it.
 */
function noticesByMessage({ messages, system_events }: Shown): {
  readonly failures: ReadonlyMap<string, Notice>;
  readonly notices: ReadonlyMap<string, readonly Notice[]>;
} {
  const errors = noticesOf(system_events.filter(({ type }) => type === "error"));
  const failures = new Map<string, Notice>();
  for (const { id, status, turn, created_at } of messages) {
    const isOf = (error: Notice): boolean =>
      error.turn === undefined ? error.created_at >= created_at : error.turn === turn;
    const failure = status === "failed" && errors.find(isOf);
    if (failure) failures.set(id, failure);
  }
  const reasons = new Set([...failures.values()].map(({ id }) => id));
  const notices = new Map<string, Notice[]>();
  for (const notice of noticesOf(system_events)) {
    const message = messages.filter(({ created_at }) => created_at <= notice.created_at).at(-1);
    if (message === undefined || reasons.has(notice.id)) continue;
    notices.set(message.id, [...(notices.get(message.id) ?? []), notice]);
  }
  return { failures, notices };
}
