import { wireBytesOf } from "../message.ts";
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
 * removed user messages. An earlier turn that only loses its answer becomes one that was interrupted before
 * its start.
 */
export function removeTail(draft: SessionDraft, { messages, turns }: Tail, id: string): void {
  const replaced = messages.find((message) => message.id === id);
  if (replaced === undefined) throw new Error(`Message ${id} is not in the tail that it begins`);
  const { position } = replaced;
  const gone = turns.filter(({ userPosition }) => userPosition >= position);
  const unanswered = turns
    .filter(({ userPosition }) => userPosition < position)
    .map((turn) => draft.changedTurns.get(turn.number) ?? turn);
  const removed = messages.filter((message) => message.position >= position);
  const bytes = removed.reduce(
    (sum, message) => sum + wireBytesOf(draft.changedMessages.get(message.position) ?? message),
    0,
  );
  draft.removeMessages(replaced, bytes, {
    turns: gone.map(({ number }) => number),
    unanswered: unanswered.map(({ number }) => number),
  });
  if (position === 1) dropGeneratedTitle(draft);
  for (const turn of unanswered) {
    draft.changeTurn({ ...turn, state: "interrupted", agentPosition: null, steps: 0, failure: null });
    const question = messages.find((message) => message.position === turn.userPosition);
    if (question === undefined) throw new Error(`The question of turn ${turn.number} was not read`);
    draft.changeMessage(question, { ...question, status: "interrupted" }, "message_completed");
  }
}

/** A title generated from a removed message may quote it. */
function dropGeneratedTitle(draft: SessionDraft): void {
  if (draft.session.titleSource !== "generated") return;
  draft.update({ title: PLACEHOLDER_TITLE, titleSource: "placeholder" });
  draft.emit({ type: "title_changed", new_title: PLACEHOLDER_TITLE });
}
