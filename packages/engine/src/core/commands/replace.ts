import { changeExtras, firstStepOf, type MessageRecord, wireBytesOf } from "../message.ts";
import type { TurnRecord } from "../turn.ts";
import type { Tail } from "./command.ts";
import { PLACEHOLDER_TITLE } from "../session.ts";
import type { SessionDraft } from "./draft.ts";

export type ReplaceRejection = "message_not_found" | "not_a_user_message";

/** Returns why a chat may not replace the message with this id; `null` if it may. */
export function replaceRejection({ messages }: Tail, id: string): ReplaceRejection | null {
  const replaced = messages.find((message) => message.id === id);
  if (replaced === undefined) return "message_not_found";
  return replaced.role === "user" ? null : "not_a_user_message";
}

/**
 * Removes the message with this id and all that arrived after it. No turn may be open. Removes the turns of
 * removed user messages. An earlier turn that loses its answer becomes one that was interrupted before its start, or
 * keeps the agent messages before the removed ones, with their steps.
 */
export function removeTail(draft: SessionDraft, { messages, turns }: Tail, id: string): void {
  const replaced = messages.find((message) => message.id === id);
  if (replaced === undefined) throw new Error(`Message ${id} is not in the tail that it begins`);
  const { position } = replaced;
  const gone = turns.filter(({ userPosition }) => userPosition >= position);
  const cut = turns
    .filter(({ userPosition }) => userPosition < position)
    .map((turn) => cutOf(draft.changedTurns.get(turn.number) ?? turn, messages, position));
  const removed = messages.filter((message) => message.position >= position);
  const bytes = removed.reduce(
    (sum, message) => sum + wireBytesOf(draft.changedMessages.get(message.position) ?? message),
    0,
  );
  draft.removeMessages(replaced, bytes, {
    turns: gone.map(({ number }) => number),
    cut: cut.map(({ turn, step }) => ({ turn: turn.number, step })),
  });
  if (position === 1) dropGeneratedTitle(draft);
  for (const { turn, step, last, unanswered } of cut) {
    const agentPosition = last?.position ?? null;
    draft.changeTurn({ ...turn, state: "interrupted", agentPosition, steps: step - 1, failure: null });
    for (const message of last === null ? unanswered : [last, ...unanswered]) {
      const from = firstStepOf(message);
      const changed = changeExtras(message, { steps: from === 1 ? undefined : { from } });
      draft.changeMessage(message, { ...changed, status: "interrupted" }, "message_completed");
    }
  }
}

/** The rest of a turn whose answer is truncated at a position. */
interface CutAnswer {
  readonly turn: TurnRecord;
  /** Number of the first removed step. */
  readonly step: number;
  /** The last agent message that stays, or `null`. */
  readonly last: MessageRecord | null;
  /** User messages after it that stay. No model sees them. */
  readonly unanswered: readonly MessageRecord[];
}

function cutOf(turn: TurnRecord, messages: readonly MessageRecord[], position: number): CutAnswer {
  const own = messages.filter((message) => message.turn === turn.number);
  const removed = own.find((message) => message.role === "assistant" && message.position >= position);
  if (removed === undefined) throw new Error(`The answer of turn ${turn.number} was not read`);
  const kept = own.filter((message) => message.position < position);
  const last = kept.findLast(({ role }) => role === "assistant") ?? null;
  const unanswered = kept.filter(({ role, position: at }) => role === "user" && at > (last?.position ?? 0));
  return { turn, step: firstStepOf(removed), last, unanswered };
}

/** A title generated from a removed message may quote it. */
function dropGeneratedTitle(draft: SessionDraft): void {
  if (draft.session.titleSource !== "generated") return;
  draft.update({ title: PLACEHOLDER_TITLE, titleSource: "placeholder" });
  draft.emit({ type: "title_changed", new_title: PLACEHOLDER_TITLE });
}
