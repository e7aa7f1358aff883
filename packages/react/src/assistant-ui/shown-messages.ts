// What a message is shown with: what is asked and told about its tool calls, and what the service said about it. Pure; a message that
// nothing has changed for is the same object as before, so that only what changed is drawn again.

import { answeredQuestion, type Message, type PendingAction, type SystemEvent } from "@colloquy/client";
import type { Progress } from "../held-session.ts";
import { noticesOf, type Notice } from "../use-notices.ts";

export interface ShownMessage {
  readonly message: Message;
  /** Those that wait for a person, of the message's calls. */
  readonly actions: readonly PendingAction[];
  /** What its running calls have told last, in the order of the calls; `undefined` for one that has told nothing. */
  readonly progress: readonly unknown[];
  /** What was said about it, but for why it failed. */
  readonly notices: readonly Notice[];
  /** Why it failed. */
  readonly failure: Notice | null;
  /** Text of the question that it answers, if other messages stand between the two. */
  readonly inReplyTo: string | null;
}

export interface Shown {
  readonly messages: readonly Message[];
  readonly system_events: readonly SystemEvent[];
  readonly pending_actions: readonly PendingAction[];
  readonly progress: Progress;
}

/** The messages with what belongs to them. `before` is what this answered last. */
export function shownMessages(before: readonly ShownMessage[], shown: Shown): readonly ShownMessage[] {
  const known = new Map(before.map((one) => [one.message.id, one]));
  const told = noticesByMessage(shown);
  const after = shown.messages.map((message, index) => {
    const calls = message.tool_calls ?? [];
    const ids = new Set(calls.map(({ id }) => id));
    const next: ShownMessage = {
      message,
      actions: calls.length === 0 ? [] : shown.pending_actions.filter(({ call_id }) => ids.has(call_id)),
      // What a call told is forgotten a moment after its end is shown: the two come in events of their own.
      progress: calls.map(({ id, status }) => (status === "running" ? shown.progress.get(id) : undefined)),
      notices: told.notices.get(message.id) ?? [],
      failure: told.failures.get(message.id) ?? null,
      inReplyTo: answeredQuestion(shown.messages, index)?.content ?? null,
    };
    const last = known.get(message.id);
    return last !== undefined && isSame(last, next) ? last : next;
  });
  return hasSame(before, after) ? before : after;
}

function isSame(one: ShownMessage, other: ShownMessage): boolean {
  return (
    one.message === other.message &&
    hasSame(one.actions, other.actions) &&
    hasSame(one.progress, other.progress) &&
    one.failure?.id === other.failure?.id &&
    one.inReplyTo === other.inReplyTo &&
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
 * A notice belongs to the message that was the newest when it came. Turns run one after another, and each that fails tells why: the reason
 * of a failed answer is the first failure since that answer began.
 */
function noticesByMessage({ messages, system_events }: Shown): {
  readonly failures: ReadonlyMap<string, Notice>;
  readonly notices: ReadonlyMap<string, readonly Notice[]>;
} {
  const errors = noticesOf(system_events.filter(({ type }) => type === "error"));
  const failures = new Map<string, Notice>();
  for (const { id, status, created_at } of messages) {
    const failure = status === "failed" && errors.find((error) => error.created_at >= created_at);
    if (failure) failures.set(id, failure);
  }
  const reasons = new Set([...failures.values()].map(({ id }) => id));
  const notices = new Map<string, Notice[]>();
  for (const notice of noticesOf(system_events)) {
    const message = messages.findLast(({ created_at }) => created_at <= notice.created_at);
    if (message === undefined || reasons.has(notice.id)) continue;
    notices.set(message.id, [...(notices.get(message.id) ?? []), notice]);
  }
  return { failures, notices };
}
