import type { JsonObject } from "../json.ts";
import { providerOf } from "../rig.ts";
import type { OpenTurn, StartedTurn } from "../turn.ts";
import { mergeUserState, userStateFits } from "../user-state.ts";
import { useAvailableModel } from "./available-model.ts";
import type { SessionDraft } from "./draft.ts";
import { dispositionOf, type Disposition } from "./disposition.ts";
import { interruptOpenTurns, type PartialText } from "./interrupt.ts";
import { enqueueTurn, startTurn, type TurnClaim } from "./turns.ts";

/** What a chat does when the session is working (contract section 3). */
export type OnBusy = "enqueue" | "reject" | "interrupt";

export interface ChatInput {
  readonly app: string;
  readonly messageId: string;
  /** As it was sent, 1 to 32,768 characters. */
  readonly text: string;
  readonly publicKey: string | null;
  readonly userState: JsonObject | null;
  readonly clientId: string | null;
  readonly onBusy: OnBusy;
  /** Messages of a session that may wait behind the running turn. */
  readonly maxQueued: number;
  /** UTF-8 bytes of messages as JSON that a session may hold; a message beyond them is refused. */
  readonly maxMessageBytes: number;
  /** The App's models, its default first. */
  readonly models: readonly string[];
  /** Set when this process has a free place to run the turn at once. */
  readonly claim: TurnClaim | null;
  /** Providers that run as many turns as they may: a turn on one of them waits in the store. */
  readonly fullProviders: readonly string[];
  /** Text of the running turn that this process has streamed; for `onBusy: "interrupt"`. */
  readonly streamed: PartialText | null;
  readonly idempotency: IdempotencyKey | null;
}

/** An `Idempotency-Key` and a digest of the message it was sent with. */
export interface IdempotencyKey {
  readonly key: string;
  readonly digest: string;
}

/** What the store has beside the session itself when a chat arrives. */
export interface ChatFacts {
  /** How many turns of the session have not ended. */
  readonly openTurns: number;
  /** Whether one of them waits for a person. */
  readonly waits: boolean;
  /** Those turns, and the text of the running one as it was checkpointed last; needed where the chat interrupts them, else `null`. */
  readonly interrupted: {
    readonly openTurns: readonly OpenTurn[];
    readonly checkpointed: PartialText | null;
  } | null;
  /** The chat that used the same idempotency key in this session before; its time in milliseconds. */
  readonly previous: { readonly digest: string; readonly turn: number; readonly at: number } | null;
}

/** How long an idempotency key is remembered (contract section 3): 24 hours, in milliseconds. */
export const IDEMPOTENCY_KEPT_MS = 24 * 60 * 60 * 1000;

export type ChatRejection =
  | "app_mismatch"
  | "session_busy"
  | "queue_full"
  | "session_full"
  | "user_state_too_large"
  | "idempotency_key_reused";

export type ChatOutcome =
  | {
      readonly kind: "accepted";
      readonly turn: number;
      /** The turn, when it was claimed and could start at once. */
      readonly started: StartedTurn | null;
      /** Whether the turn waits for nothing but a place, so that it may be claimed; one behind another of its session may not. */
      readonly runnable: boolean;
      /** Whether a title is to be generated from this message. */
      readonly wantsTitle: boolean;
    }
  | { readonly kind: "replayed"; readonly turn: number }
  | { readonly kind: "rejected"; readonly reason: ChatRejection };

/** A message arrives. A rejected one must leave no trace: `chatDisposition`. */
export function decideChat(draft: SessionDraft, facts: ChatFacts, input: ChatInput): ChatOutcome {
  const { openTurns, interrupted, previous } = facts;
  // Before anything else, a replay too: what follows answers with the session, and the caller has shown a key for this App at most.
  if (draft.session.app !== null && draft.session.app !== input.app) return rejected("app_mismatch");
  if (previous !== null && previous.at > draft.at - IDEMPOTENCY_KEPT_MS) {
    return previous.digest === input.idempotency?.digest
      ? { kind: "replayed", turn: previous.turn }
      : rejected("idempotency_key_reused");
  }
  const { messageBytes } = draft.session;
  if (messageBytes !== null && messageBytes + Buffer.byteLength(input.text) > input.maxMessageBytes) {
    return rejected("session_full");
  }
  if (openTurns > 0 && input.onBusy === "reject") return rejected("session_busy");
  const ahead = input.onBusy === "interrupt" ? 0 : openTurns;
  if (ahead > input.maxQueued) return rejected("queue_full");

  if (draft.session.app === null) bindApp(draft, input.app);
  if (ahead < openTurns) {
    if (interrupted === null) throw new Error("A chat that interrupts needs the turns that it ends");
    interruptOpenTurns(draft, interrupted.openTurns, [input.streamed, interrupted.checkpointed]);
  }
  bindWallet(draft, input.publicKey);
  useAvailableModel(draft, input.models);
  if (input.userState !== null && applyUserState(draft, input.userState) === "too_large") {
    return rejected("user_state_too_large");
  }

  const isFirst = draft.session.messageCount === 0;
  const mayStart = ahead === 0 && !input.fullProviders.includes(providerOf(draft.session.model));
  const claim = mayStart ? input.claim : null;
  const message = { id: input.messageId, text: input.text, clientId: input.clientId };
  const place = {
    isFirst: ahead === 0,
    startsNow: claim !== null,
    behindWaiting: ahead > 0 && facts.waits,
  };
  const open = enqueueTurn(draft, message, place);
  const started = claim === null ? null : startTurn(draft, open, claim);
  draft.moveStatus("chat");
  draft.wantsTitle = isFirst && draft.session.titleSource === "placeholder";
  const runnable = started === null && open.turn.runnable;
  return { kind: "accepted", turn: open.turn.number, started, runnable, wantsTitle: draft.wantsTitle };
}

export function chatDisposition(outcome: ChatOutcome): Disposition {
  return outcome.kind === "rejected" ? dispositionOf(outcome.reason) : "commit";
}

/** Binds the first wallet; a chat under another one goes on under the first, with a notice (contract section 4). */
function bindWallet(draft: SessionDraft, publicKey: string | null): void {
  if (publicKey === null || draft.session.publicKey === publicKey) return;
  if (draft.session.publicKey === null) {
    draft.update({ publicKey });
    return;
  }
  draft.notify(
    "warning",
    "wallet_differs",
    "This conversation belongs to another wallet and goes on under it. Start a new conversation to use this wallet.",
  );
}

/** The first chat decides the App of a session. Models that were chosen for another App give way to this one's, without a notice. */
function bindApp(draft: SessionDraft, app: string): void {
  const { modelApp } = draft.session;
  draft.update({ app });
  if (modelApp !== null && modelApp !== app) draft.update({ modelChosen: false, utilityModel: null });
}

/** Merges and announces user state. Answers `too_large` when the result is beyond the limits; the draft is then void. */
export function applyUserState(draft: SessionDraft, patch: JsonObject): "ok" | "too_large" {
  const merged = mergeUserState(draft.session.userState, patch);
  if (merged === draft.session.userState) return "ok";
  if (merged !== null && !userStateFits(merged)) return "too_large";
  draft.update({ userState: merged });
  draft.announceState();
  return "ok";
}

function rejected(reason: ChatRejection): ChatOutcome {
  return { kind: "rejected", reason };
}
