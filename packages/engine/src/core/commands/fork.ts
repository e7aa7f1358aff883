import { usedAt } from "../file.ts";
import { filesOf, type MessageRecord } from "../message.ts";
import {
  hiddenFrom,
  ownerOfNew,
  provedWallets,
  type HiddenReason,
  type SessionAccess,
} from "../session-access.ts";
import { copiedOf, DEFAULT_APP, isEmptySession } from "../session.ts";
import type { TurnRecord } from "../turn.ts";
import { define, dispositionOf, type Origin } from "./command.ts";
import type { SessionDraft } from "./draft.ts";

export interface ForkInput {
  /** Id of the session that is copied. */
  readonly origin: string;
  /** The copy ends with the turn of this message; `null` for the last finished turn. */
  readonly through: string | null;
  /** Copies no turn after this number, because its bytes were not counted; absent for no limit. */
  readonly lastTurn?: number;
  /** The caller's access. */
  readonly access: SessionAccess;
  /** A new UUID. Its last 12 digits are incremented for the ids of the copied messages. */
  readonly messageId: string;
}

export type ForkRejection =
  | "unknown_origin"
  | "session_not_empty"
  | "message_not_found"
  | "turn_not_finished";

/**
 * Copies the finished turns of another session, with its App, model, title, owner, user state and wallet,
 * into an empty one.
 */
export const fork = define({
  target: "session",
  needs: ({ origin }: ForkInput) => ({ origin }),
  decide: (draft, facts, input): "ok" | HiddenReason | ForkRejection => {
    const origin = facts.origin();
    if (origin === null) return "unknown_origin";
    const hidden = hiddenFrom(origin.session, input.access);
    if (hidden !== null) return hidden;
    const { publicKey: wallet, walletId } = draft.session;
    const isSame = walletId === null || walletId === (origin.session.walletId ?? walletId);
    const isFree = wallet === null || (wallet === origin.session.publicKey && isSame);
    if (!isEmptySession(draft.session) || !isFree) return "session_not_empty";
    const last = input.through === null ? Infinity : turnOf(origin, input.through);
    if (last === null) return "message_not_found";
    const { lastTurn: counted = Infinity } = input;
    const turns = origin.turns.filter(
      ({ number, endedAt }) => endedAt !== null && number <= Math.min(last, counted),
    );
    if (input.through !== null && turns.at(-1)?.number !== last) return "turn_not_finished";

    copySettings(draft, origin, input.access);
    copyTurns(draft, origin, turns, input.messageId.slice(0, 24));
    draft.wantsTitle = turns.length > 0 && draft.session.titleSource === "placeholder";
    return "ok";
  },
  disposition: dispositionOf,
});

function turnOf({ messages }: Origin, id: string): number | null {
  return messages.find((message) => message.id === id)?.turn ?? null;
}

function copySettings(draft: SessionDraft, { session: origin }: Origin, access: SessionAccess): void {
  const { app, title, titleSource } = origin;
  draft.update({ ...copiedOf(origin), walletId: origin.walletId ?? draft.session.walletId });
  draft.update({ walletProved: draft.fixWallet(provedWallets(app ?? DEFAULT_APP, access)) });
  const owner = origin.owner ?? ownerOfNew(app, access.user);
  if (owner !== draft.session.owner) draft.changeOwner(owner);
  if (titleSource !== "placeholder") draft.emit({ type: "title_changed", new_title: title });
  draft.announceState();
}

/** Copies turns, without gaps between the positions of their messages. */
function copyTurns(
  draft: SessionDraft,
  { messages, steps, files }: Origin,
  turns: readonly TurnRecord[],
  idPrefix: string,
): void {
  const numbers = new Set(turns.map(({ number }) => number));
  const copied = messages.filter(({ turn }) => numbers.has(turn));
  const positions = new Map(copied.map(({ position }, index) => [position, index + 1]));
  draft.copyTurns(
    copied.map(
      // Feedback stays with the original, so that reports count it once.
      ({ feedback: _, ...message }, index): MessageRecord => ({
        ...message,
        id: idPrefix + index.toString(16).padStart(12, "0"),
        position: index + 1,
      }),
    ),
    turns.map((turn) => ({
      ...turn,
      userPosition: positions.get(turn.userPosition) ?? 0,
      agentPosition: turn.agentPosition === null ? null : (positions.get(turn.agentPosition) ?? null),
    })),
    steps.filter(({ turn }) => numbers.has(turn)),
    files.flatMap((file) => {
      const first = copied.find((message) => filesOf(message).some(({ id }) => id === file.id));
      const position = first === undefined ? undefined : positions.get(first.position);
      return position === undefined ? [] : [usedAt({ ...file, position: null }, position)];
    }),
  );
}
