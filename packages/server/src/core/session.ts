import type { SessionStatus } from "@colloquy/protocol";
import type { JsonObject } from "./json.ts";

export const PLACEHOLDER_TITLE = "New Chat";
export const DEFAULT_APP = "default";

/** Who a title comes from. What the user set is never overwritten by a generated one. */
export type TitleSource = "placeholder" | "generated" | "user";

/** One life of a session as the store keeps it. Times are milliseconds since the Unix epoch. */
export interface SessionRecord {
  /** The store's own key of this life, never used again: nothing of an old life can write into a new one. */
  readonly key: number;
  /** In lower case: what is compared and looked up. */
  readonly id: string;
  /** The id as the client spelled it who created the session: what answers and events carry. */
  readonly spelling: string;
  /** Random word that differs for every life of an id; the first half of event ids. */
  readonly life: string;
  /** `null` until the first chat; counts as the default App's until then. */
  readonly app: string | null;
  readonly title: string;
  readonly titleSource: TitleSource;
  readonly status: SessionStatus;
  /** The rig in force. */
  readonly model: string;
  /** Whether the rig was chosen for this session; if not it follows the App's default. */
  readonly modelChosen: boolean;
  /**
   * The App that the chosen models were validated against while the session belonged to none; a first chat with another App drops the
   * choice. Says nothing once the session belongs to an App: then the choice is for that one.
   */
  readonly modelApp: string | null;
  /** The utility model chosen for this session, `null` for the App's. */
  readonly utilityModel: string | null;
  readonly publicKey: string | null;
  readonly userState: JsonObject | null;
  /** Number of the last event. */
  readonly head: number;
  /** Position of the last message; the first one has position 1. */
  readonly messageCount: number;
  /** Number of the last turn; the first one has number 1. */
  readonly turnCount: number;
  /** UTF-8 bytes of the messages as JSON on the wire, which `limits.sessionBytes` caps; `null` until the cleanup has counted them. */
  readonly messageBytes: number | null;
  /** UTF-8 bytes of the event log that is kept; `null` as `messageBytes`. */
  readonly eventBytes: number | null;
  /** Epoch of the last lease or interrupt; a turn writes only while this is its own. */
  readonly epoch: number;
  readonly createdAt: number;
  /** Last time something happened in the session; what lists are ordered by. */
  readonly updatedAt: number;
}

/** What a session that does not exist yet begins as. */
export interface SessionBirth {
  readonly life: string;
  readonly model: string;
  /** As in `SessionRecord`; lower case when absent. */
  readonly spelling?: string;
}

export function newSession(key: number, id: string, birth: SessionBirth, at: number): SessionRecord {
  return {
    key,
    id,
    spelling: birth.spelling ?? id,
    life: birth.life,
    app: null,
    title: PLACEHOLDER_TITLE,
    titleSource: "placeholder",
    status: "idle",
    model: birth.model,
    modelChosen: false,
    modelApp: null,
    utilityModel: null,
    publicKey: null,
    userState: null,
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

/** A session with nothing in it (no message, model, title) expires soon, also one bound to a wallet (contract section 1). */
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

/** The App a session counts as: its own, or the default one until it has one. */
export function appOf(session: Pick<SessionRecord, "app">): string {
  return session.app ?? DEFAULT_APP;
}

/** Whether the session counts as one of these Apps; any does where none is named. */
export function countsAs(session: Pick<SessionRecord, "app">, apps: readonly string[] | undefined): boolean {
  return apps === undefined || apps.includes(appOf(session));
}
