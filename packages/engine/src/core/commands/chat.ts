import type { Steering } from "@colloquy/protocol";
import { type FileRecord, toAttachment, usableFiles, usedAt } from "../file.ts";
import type { JsonObject } from "../json.ts";
import type { MessageRecord } from "../message.ts";
import { walletOf } from "../session-access.ts";
import type { SessionRecord } from "../session.ts";
import { type TurnOptions } from "../turn-options.ts";
import { mergeUserState } from "../user-state.ts";
import { type OpenTurn, providerOf, type StartedTurn } from "../turn.ts";
import { enqueueTurn, startTurn, type TurnClaim, useAvailableModel } from "./turns.ts";
import { define, dispositionOf, type PartialText } from "./command.ts";
import type { SessionDraft } from "./draft.ts";
import { interruptOpenTurns } from "./interrupt.ts";
import { removeTail, replaceRejection, type ReplaceRejection } from "./replace.ts";
import { canRead } from "./steering.ts";

/** Effect of a chat on a processing session (contract section 3). */
export type OnBusy = "enqueue" | "reject" | "interrupt" | "steer";

export interface ChatInput {
  readonly app: string;
  readonly messageId: string;
  /** True if the client chose `messageId`, so that it may be a repeat or in conflict. */
  readonly isClientsId: boolean;
  /** Id of the user message that this one replaces, together with all later messages; `null` appends. */
  readonly replaces: string | null;
  /** Required id of the session's last message, unless the chat is a repeat; absent or `null` for no requirement. */
  readonly follows?: string | null;
  /** One of `models`, for this and later turns; `null` keeps the session's model. */
  readonly rig: string | null;
  /** Text of the message as sent, at most 32,768 characters; empty only with attachments. */
  readonly text: string;
  /** Ids of the message's files, without repetitions; absent for none. */
  readonly attachments?: readonly string[];
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
  /** False to generate no title; absent for true. */
  readonly isTitled?: boolean;
}

/** An `Idempotency-Key` and a digest of its chat. */
export interface IdempotencyKey {
  readonly key: string;
  readonly digest: string;
}

/** Maximum length of a title in Unicode characters. */
const TITLE_MAX = 80;
/** Lifetime of an idempotency key in milliseconds. */
export const IDEMPOTENCY_KEPT_MS = 24 * 60 * 60 * 1000;

export type ChatRejection =
  | "app_mismatch"
  | "session_busy"
  | "queue_full"
  | "session_full"
  /** The session has no such file. */
  | "attachment_not_found"
  | "attachment_of_other_app"
  | ReplaceRejection
  /** The session has a message with this id and another text. */
  | "message_exists"
  /** The message in `follows` is not the last one or does not exist. */
  | "message_not_last"
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
  needs: ({ onBusy, idempotency, claim, attachments = [], ...input }: ChatInput) => {
    const { replaces, follows = null, messageId, isClientsId } = input;
    const interrupts = onBusy === "interrupt" || replaces !== null;
    const tail = replaces ?? follows ?? (isClientsId ? messageId : null);
    return {
      turnCount: true,
      openTurns: interrupts || onBusy === "steer",
      checkpointed: interrupts,
      idempotencyKey: idempotency?.key ?? null,
      tail,
      // A batch may contain several chats with the same message id or the same `follows`.
      removal: tail !== null,
      epochs: (interrupts ? 1 : 0) + (claim === null ? 0 : 1),
      files: attachments,
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
    const { replaces, follows = null } = input;
    const known =
      replaces === null ? facts.tail().messages.find(({ id }) => id === input.messageId) : undefined;
    if (known !== undefined) {
      const isSame = known.role === "user" && known.content === input.text && hasSameFiles(known, input);
      return isSame ? { kind: "replayed", turn: known.turn } : rejected("message_exists");
    }
    if (follows !== null && facts.tail().messages.at(-1)?.id !== follows) return rejected("message_not_last");
    if (replaces === null && isFull(draft.session, input)) return rejected("session_full");
    const files = usableFiles(facts.files(), input.attachments ?? [], { app: input.app, at: draft.at });
    if (typeof files === "string") return rejected(files);
    const reason = replaces === null ? null : replaceRejection(facts.tail(), replaces);
    if (reason !== null) return rejected(reason);
    const { openTurns, waits } = facts.turnCount();
    if (openTurns > 0 && input.onBusy === "reject") return rejected("session_busy");
    const ahead = input.onBusy === "interrupt" || replaces !== null ? 0 : openTurns;
    if (ahead > input.maxQueued) return rejected("queue_full");

    const [reader] = input.onBusy === "steer" && ahead > 0 ? facts.openTurns() : [];
    const steering = reader === undefined ? undefined : steeringOf(draft, reader, input);
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
    return accept(draft, input, files, { ahead, waits, steering });
  },
  disposition: (outcome) => (outcome.kind === "rejected" ? dispositionOf(outcome.reason) : "commit"),
});

function hasSameFiles({ extras }: MessageRecord, { attachments = [] }: ChatInput): boolean {
  const before = extras?.attachments ?? [];
  return before.length === attachments.length && before.every(({ id }, index) => id === attachments[index]);
}

/**
 * Returns the steering state of a message. It waits for its own turn if its options differ from the reading
 * turn's.
 */
function steeringOf({ session }: SessionDraft, reader: OpenTurn, input: ChatInput): Steering {
  // The turn in progress has the state and the wallet of its start.
  const changesState =
    input.userState !== null && mergeUserState(session.userState, input.userState) !== session.userState;
  const bindsWallet = input.publicKey !== null && session.publicKey === null;
  const canSteer = !changesState && !bindsWallet && canRead(reader, input, session);
  return { status: canSteer ? "pending" : "own_turn" };
}

interface Place {
  /** Number of turns before this one. */
  readonly ahead: number;
  /** True if one of them waits for a person. */
  readonly waits: boolean;
  readonly steering: Steering | undefined;
}

/** Adds the message and its turn. */
function accept(
  draft: SessionDraft,
  input: ChatInput,
  files: readonly FileRecord[],
  { ahead, waits, steering }: Place,
): ChatOutcome {
  const isFirstMessage = draft.session.messageCount === 0;
  const mayStart = ahead === 0 && !input.fullProviders.includes(providerOf(draft.session.model));
  const claim = mayStart ? input.claim : null;
  const message = {
    id: input.messageId,
    text: input.text,
    attachments: files.map(toAttachment),
    clientId: input.clientId,
    options: input.options,
    steering,
  };
  const place = { isFirst: ahead === 0, startsNow: claim !== null, behindWaiting: ahead > 0 && waits };
  const open = enqueueTurn(draft, message, place);
  for (const file of files) draft.changedFiles.set(file.id, usedAt(file, open.userMessage.position));
  const started = claim === null ? null : startTurn(draft, open, claim, []);
  draft.moveStatus("chat");
  const lacksTitle =
    isFirstMessage && draft.session.titleSource === "placeholder" && input.isTitled !== false;
  const [file] = files;
  if (lacksTitle && input.text === "" && file !== undefined) titleAfter(draft, file);
  else draft.wantsTitle = lacksTitle;
  if (input.idempotency !== null) draft.rememberKey(input.idempotency, open.turn.number);
  const runnable = started === null && open.turn.runnable;
  return { kind: "accepted", turn: open.turn.number, started, runnable, wantsTitle: draft.wantsTitle };
}

/** Titles a message without text after its first file. */
function titleAfter(draft: SessionDraft, { name }: FileRecord): void {
  const title = Array.from(name).slice(0, TITLE_MAX).join("");
  draft.update({ title, titleSource: "generated" });
  draft.emit({ type: "title_changed", new_title: title });
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

/**
 * Returns true if the sender has proved only other wallets at the session's address, which are contracts on
 * other chains.
 */
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
