import type { JsonObject } from "../json.ts";
import { walletOf } from "../session-access.ts";
import type { SessionRecord } from "../session.ts";
import { type TurnOptions } from "../turn-options.ts";
import { providerOf, type StartedTurn } from "../turn.ts";
import { enqueueTurn, startTurn, type TurnClaim, useAvailableModel } from "./turns.ts";
import { define, dispositionOf, type PartialText } from "./command.ts";
import type { SessionDraft } from "./draft.ts";
import { interruptOpenTurns } from "./interrupt.ts";
import { removeTail, replaceRejection, type ReplaceRejection } from "./replace.ts";

/** Effect of a chat on a processing session (contract section 3). */
export type OnBusy = "enqueue" | "reject" | "interrupt";

export interface ChatInput {
  readonly app: string;
  readonly messageId: string;
  /** True if the client chose `messageId`, so that it may be a repeat or in conflict. */
  readonly isClientsId: boolean;
  /** Id of the user message that this one replaces, together with all later messages; `null` appends. */
  readonly replaces: string | null;
  /** One of `models`, for this and later turns; `null` keeps the session's model. */
  readonly rig: string | null;
  /** Text of the message as sent, 1 to 32,768 characters. */
  readonly text: string;
  readonly publicKey: string | null;
  /** Ids of the wallets that the sender has proved to hold. */
  readonly provedWallets: readonly string[];
  readonly userState: JsonObject | null;
  readonly clientId: string | null;
  readonly options: TurnOptions;
  readonly onBusy: OnBusy;
  /** Maximum turns of a session behind the running one. */
  readonly maxQueued: number;
  /** Maximum UTF-8 bytes of a session's messages as JSON. */
  readonly maxMessageBytes: number;
  /** The App's models, its default first. */
  readonly models: readonly string[];
  /** Set if this process reserved a slot to run the turn at once. */
  readonly claim: TurnClaim | null;
  /** Providers at their limit of running turns. */
  readonly fullProviders: readonly string[];
  /** Streamed text of the running turn in this process; for `onBusy: "interrupt"`. */
  readonly streamed: PartialText | null;
  readonly idempotency: IdempotencyKey | null;
}

/** An `Idempotency-Key` and a digest of its chat. */
export interface IdempotencyKey {
  readonly key: string;
  readonly digest: string;
}

/** Lifetime of an idempotency key in milliseconds. */
export const IDEMPOTENCY_KEPT_MS = 24 * 60 * 60 * 1000;

export type ChatRejection =
  | "app_mismatch"
  | "session_busy"
  | "queue_full"
  | "session_full"
  | ReplaceRejection
  /** The session has a message with this id and another text. */
  | "message_exists"
  | "user_state_too_large"
  | "idempotency_key_reused";

export type ChatOutcome =
  | {
      readonly kind: "accepted";
      readonly turn: number;
      /** The started turn, if it starts at once. */
      readonly started: StartedTurn | null;
      /** True if the turn waits for a slot; false if it waits behind another turn of its session. */
      readonly runnable: boolean;
      /** True if a title must be generated from this message. */
      readonly wantsTitle: boolean;
    }
  | { readonly kind: "replayed"; readonly turn: number }
  | { readonly kind: "rejected"; readonly reason: ChatRejection };

/** Adds a message with its turn, which starts at once if the process has a slot. It may replace an earlier one. */
export const chat = define({
  target: "session",
  needs: ({ onBusy, idempotency, claim, replaces, messageId, isClientsId }: ChatInput) => {
    const interrupts = onBusy === "interrupt" || replaces !== null;
    return {
      turnCount: true,
      openTurns: interrupts,
      checkpointed: interrupts,
      idempotencyKey: idempotency?.key ?? null,
      tail: replaces ?? (isClientsId ? messageId : null),
      // One batch may contain two chats with the same message id.
      removal: replaces !== null || isClientsId,
      epochs: (interrupts ? 1 : 0) + (claim === null ? 0 : 1),
    };
  },
  decide: (draft, facts, input): ChatOutcome => {
    // Check this first, even for a replay: every other outcome shows the session, and the caller's key may
    // open only this App.
    if (draft.session.app !== null && draft.session.app !== input.app) return rejected("app_mismatch");
    const previous = facts.idempotencyKey();
    if (previous !== null && previous.at > draft.at - IDEMPOTENCY_KEPT_MS) {
      return previous.digest === input.idempotency?.digest
        ? { kind: "replayed", turn: previous.turn }
        : rejected("idempotency_key_reused");
    }
    const { replaces } = input;
    const known =
      replaces === null ? facts.tail().messages.find(({ id }) => id === input.messageId) : undefined;
    if (known !== undefined) {
      const isSame = known.role === "user" && known.content === input.text;
      return isSame ? { kind: "replayed", turn: known.turn } : rejected("message_exists");
    }
    if (replaces === null && isFull(draft.session, input)) return rejected("session_full");
    const reason = replaces === null ? null : replaceRejection(facts.tail(), replaces);
    if (reason !== null) return rejected(reason);
    const { openTurns, waits } = facts.turnCount();
    if (openTurns > 0 && input.onBusy === "reject") return rejected("session_busy");
    const ahead = input.onBusy === "interrupt" || replaces !== null ? 0 : openTurns;
    if (ahead > input.maxQueued) return rejected("queue_full");

    if (draft.session.app === null) bindApp(draft, input.app);
    if (ahead < openTurns) {
      interruptOpenTurns(draft, facts.openTurns(), [input.streamed, facts.checkpointed()]);
    } else if (replaces !== null) {
      draft.raiseEpoch();
    }
    if (replaces !== null) {
      removeTail(draft, facts.tail(), replaces);
      if (isFull(draft.session, input)) return rejected("session_full");
    }
    bindWallet(draft, input);
    if (input.rig !== null) chooseModel(draft, input.rig);
    useAvailableModel(draft, input.models);
    if (input.userState !== null && draft.mergeUserState(input.userState) === "too_large") {
      return rejected("user_state_too_large");
    }
    return accept(draft, input, ahead, waits);
  },
  disposition: (outcome) => (outcome.kind === "rejected" ? dispositionOf(outcome.reason) : "commit"),
});

/** Adds the message and its turn. `ahead` is the number of turns before it. */
function accept(draft: SessionDraft, input: ChatInput, ahead: number, waits: boolean): ChatOutcome {
  const isFirstMessage = draft.session.messageCount === 0;
  const mayStart = ahead === 0 && !input.fullProviders.includes(providerOf(draft.session.model));
  const claim = mayStart ? input.claim : null;
  const message = {
    id: input.messageId,
    text: input.text,
    clientId: input.clientId,
    options: input.options,
  };
  const place = { isFirst: ahead === 0, startsNow: claim !== null, behindWaiting: ahead > 0 && waits };
  const open = enqueueTurn(draft, message, place);
  const started = claim === null ? null : startTurn(draft, open, claim);
  draft.moveStatus("chat");
  draft.wantsTitle = isFirstMessage && draft.session.titleSource === "placeholder";
  if (input.idempotency !== null) draft.rememberKey(input.idempotency, open.turn.number);
  const runnable = started === null && open.turn.runnable;
  return { kind: "accepted", turn: open.turn.number, started, runnable, wantsTitle: draft.wantsTitle };
}

function chooseModel(draft: SessionDraft, rig: string): void {
  const { model } = draft.session;
  draft.update({ model: rig, modelChosen: true });
  if (model !== rig) draft.announceState();
}

function isFull({ messageBytes }: SessionRecord, { text, maxMessageBytes }: ChatInput): boolean {
  return messageBytes !== null && messageBytes + Buffer.byteLength(text) > maxMessageBytes;
}

/**
 * Binds the session to its first wallet. A chat with another wallet continues under the first one, with a
 * notice (contract section 4).
 */
function bindWallet(
  draft: SessionDraft,
  { publicKey, provedWallets }: Pick<ChatInput, "publicKey" | "provedWallets">,
): void {
  const bound = draft.session.publicKey ?? publicKey;
  if (bound === null) return;
  if (bound !== draft.session.publicKey) draft.update({ publicKey: bound });
  if (draft.fixWallet(provedWallets)) draft.update({ walletProved: true });
  if (publicKey === null || (publicKey === bound && !isOtherContract(draft.session, provedWallets))) return;
  draft.addNotice(
    "warning",
    "wallet_differs",
    "This conversation belongs to another wallet and goes on under it. Start a new conversation to use this wallet.",
  );
}

/** Returns true if the sender has proved only other wallets at the session's address, which are contracts on other chains. */
function isOtherContract({ publicKey, walletId }: SessionRecord, provedWallets: readonly string[]): boolean {
  return (
    walletId !== null &&
    walletOf({ publicKey, walletId }, provedWallets) === null &&
    walletOf({ publicKey, walletId: null }, provedWallets) !== null
  );
}

/** The first chat binds the session to an App and drops models chosen for another App, without a notice. */
function bindApp(draft: SessionDraft, app: string): void {
  const { modelApp } = draft.session;
  draft.update({ app });
  if (modelApp !== null && modelApp !== app) draft.update({ modelChosen: false, utilityModel: null });
}

function rejected(reason: ChatRejection): ChatOutcome {
  return { kind: "rejected", reason };
}
