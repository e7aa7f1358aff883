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
  readonly id: string;
  /** Random word that differs for every life of an id; the first half of event ids. */
  readonly life: string;
  /** `null` until the first chat or set-model; counts as the default App's until then. */
  readonly app: string | null;
  readonly title: string;
  readonly titleSource: TitleSource;
  readonly status: SessionStatus;
  /** The rig in force. */
  readonly model: string;
  /** Whether the rig was chosen for this session; if not it follows the App's default. */
  readonly modelChosen: boolean;
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
}

export function newSession(key: number, id: string, birth: SessionBirth, at: number): SessionRecord {
  return {
    key,
    id,
    life: birth.life,
    app: null,
    title: PLACEHOLDER_TITLE,
    titleSource: "placeholder",
    status: "idle",
    model: birth.model,
    modelChosen: false,
    utilityModel: null,
    publicKey: null,
    userState: null,
    head: 0,
    messageCount: 0,
    turnCount: 0,
    epoch: 0,
    createdAt: at,
    updatedAt: at,
  };
}

/** A session with nothing in it (no message, wallet, model, title) expires soon (contract section 1). */
export function isEmptySession(
  session: Pick<SessionRecord, "messageCount" | "publicKey" | "modelChosen" | "utilityModel" | "titleSource">,
): boolean {
  return (
    session.messageCount === 0 &&
    session.publicKey === null &&
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
