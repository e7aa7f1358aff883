import type { SessionStatus } from "@colloquy/protocol";
import type { JsonObject } from "./json.ts";

export const PLACEHOLDER_TITLE = "New Chat";
export const DEFAULT_APP = "default";

/** Origin of a title. A generated title never overwrites the user's. */
export type TitleSource = "placeholder" | "generated" | "user";

/**
 * One incarnation of a session in the store; store/rows.ts maps it to the columns of store/columns.ts. Times
 * are milliseconds since the Unix epoch.
 */
export interface SessionRecord {
  /**
   * Primary key of this incarnation in the store; never reused, so an old incarnation cannot write into a new
   * one.
   */
  readonly key: number;
  /** The id in lower case, for comparison and lookup. */
  readonly id: string;
  /** The id in its creator's spelling, which responses and events use. */
  readonly spelling: string;
  /** Random word of this incarnation, the first part of its event ids. */
  readonly incarnation: string;
  /** App of the first chat; `null` before it, when the session counts as the default App's. */
  readonly app: string | null;
  readonly title: string;
  readonly titleSource: TitleSource;
  readonly status: SessionStatus;
  /** Name of the current rig. */
  readonly model: string;
  /** True if the rig was chosen for this session; otherwise it follows the App's default. */
  readonly modelChosen: boolean;
  /** App that models chosen before the first chat were validated against; a first chat with another App drops the choice. */
  readonly modelApp: string | null;
  /** The utility model chosen for this session, `null` for the App's. */
  readonly utilityModel: string | null;
  /** Address of the wallet that the session is bound to. */
  readonly publicKey: string | null;
  /**
   * Id (wallet-id.ts) of the wallet behind `publicKey`: the first one that a user of the session has proved, and no other
   * afterwards. `null` until then.
   */
  readonly walletId: string | null;
  /** True if the sender of a message has proved the wallet, in an App that requires proof. */
  readonly walletProved: boolean;
  /** Pseudonym of the session's owner; `null` if anyone who knows the session's id may use it. */
  readonly owner: string | null;
  readonly userState: JsonObject | null;
  readonly pinned: boolean;
  /** Number of the last event. */
  readonly head: number;
  readonly messageCount: number;
  /** Number of turns, which is also the number of the last turn. */
  readonly turnCount: number;
  /**
   * UTF-8 bytes of the messages as JSON on the wire, capped by `limits.sessionBytes`; `null` until cleanup
   * has counted them.
   */
  readonly messageBytes: number | null;
  /** UTF-8 bytes of the stored event log; `null` like `messageBytes`. */
  readonly eventBytes: number | null;
  /** Epoch of the last lease or interrupt; a turn writes only while this is its own. */
  readonly epoch: number;
  readonly createdAt: number;
  /** Time of the last activity; lists are ordered by it. */
  readonly updatedAt: number;
}

/** Milliseconds after a delete in which requests that only read do not create the session again. */
export const DELETED_MS = 10 * 60_000;

export interface SessionBirth {
  readonly incarnation: string;
  readonly model: string;
  /** The id in lower case if absent. */
  readonly spelling?: string;
  /** True to create nothing if the session was deleted in the last `DELETED_MS`. */
  readonly unlessDeleted?: boolean;
}

export function newSession(key: number, id: string, birth: SessionBirth, at: number): SessionRecord {
  return {
    key,
    id,
    spelling: birth.spelling ?? id,
    incarnation: birth.incarnation,
    app: null,
    title: PLACEHOLDER_TITLE,
    titleSource: "placeholder",
    status: "idle",
    model: birth.model,
    modelChosen: false,
    modelApp: null,
    utilityModel: null,
    publicKey: null,
    walletId: null,
    walletProved: false,
    owner: null,
    userState: null,
    pinned: false,
    head: 0,
    messageCount: 0,
    turnCount: 0,
    messageBytes: 0,
    eventBytes: 0,
    epoch: 0,
    createdAt: at,
    updatedAt: at,
  };
}

/**
 * Returns true for a session without message, model and title, which expires soon even with a wallet
 * (contract section 1).
 */
export function isEmptySession(
  session: Pick<SessionRecord, "messageCount" | "modelChosen" | "utilityModel" | "titleSource">,
): boolean {
  return (
    session.messageCount === 0 &&
    !session.modelChosen &&
    session.utilityModel === null &&
    session.titleSource === "placeholder"
  );
}

/** Returns the session's App, `default` before its first chat. */
export function appOf(session: Pick<SessionRecord, "app">): string {
  return session.app ?? DEFAULT_APP;
}

export type SessionTrigger = "chat" | "turn_ended_queue_empty" | "turn_ended_queue_not_empty" | "interrupt";

/** The status after each trigger, as in the table of contract section 3. */
const NEXT: Readonly<Record<SessionStatus, Readonly<Record<SessionTrigger, SessionStatus | "impossible">>>> =
  {
    idle: {
      chat: "processing",
      turn_ended_queue_empty: "impossible",
      turn_ended_queue_not_empty: "impossible",
      interrupt: "idle",
    },
    processing: {
      chat: "processing",
      turn_ended_queue_empty: "idle",
      turn_ended_queue_not_empty: "processing",
      interrupt: "interrupted",
    },
    interrupted: {
      chat: "processing",
      turn_ended_queue_empty: "impossible",
      turn_ended_queue_not_empty: "impossible",
      interrupt: "interrupted",
    },
  };

/** Returns the status after `trigger`. Throws on an impossible transition, which is a defect, never caused by input. */
export function nextStatus(status: SessionStatus, trigger: SessionTrigger): SessionStatus {
  const next = NEXT[status][trigger];
  if (next === "impossible") throw new Error(`A session that is ${status} cannot handle "${trigger}"`);
  return next;
}
