import type { SessionStatus } from "@colloquy/protocol";
import {
  bigint,
  copierOf,
  type Fields,
  flag,
  initialOf,
  optionalJson,
  type RecordOf,
  text,
  textAs,
} from "./field.ts";
import type { JsonObject } from "./json.ts";
import { metadataFits } from "./metadata.ts";
import { parsePublicKey, withoutWrongTypes } from "./user-state.ts";

export const PLACEHOLDER_TITLE = "New Chat";
export const DEFAULT_APP = "default";

/** The fields of a session. Times are milliseconds since the Unix epoch. */
export const SESSION_FIELDS = {
  /**
   * Primary key of this incarnation; never reused, so that an old incarnation cannot write into a new one.
   */
  key: bigint("key", ({ position }) => position, { fixed: true, computed: true, copied: false }),
  /** Session id in lower case, for comparison and lookup. */
  id: text(
    "id",
    ({ z, protocol }) =>
      z.string().refine((id) => protocol.parseSessionId(id) === id, "must be a session id in lower case"),
    { fixed: true, copied: false },
  ),
  /** Session id in the creator's spelling, used in responses and events; NULL if it is lower case. */
  spelling: textAs(
    "spelling",
    ({ z, protocol }) =>
      z
        .string()
        .refine((spelling) => protocol.parseSessionId(spelling) !== null, "must be a session id")
        .nullable()
        .default(null),
    {
      write: (spelling: string, { id }: { readonly id: string }) => (spelling === id ? null : spelling),
      // Also NULL if a node of an older version created the session.
      read: (cell, { id }: { readonly id: string }) => cell ?? id,
    },
    { fixed: true, copied: false },
  ),
  /** Random prefix of this incarnation's event ids. */
  incarnation: text("life", ({ word }) => word, { fixed: true, computed: true, copied: false }),
  /** App of the first chat; `null` before it (see `appOf`). */
  app: text("app", ({ word }) => word.nullable(), { copied: true, initial: null }),
  title: text("title", ({ word }) => word, { copied: true, initial: PLACEHOLDER_TITLE }),
  /** Origin of the title. A generated title never overwrites the user's. */
  titleSource: text("title_source", ({ z }) => z.enum(["placeholder", "generated", "user"]), {
    copied: true,
    initial: "placeholder",
  }),
  status: text("status", ({ protocol }) => protocol.SessionStatus, { copied: false, initial: "idle" }),
  /** Name of the current rig. */
  model: text("model", ({ word }) => word, { copied: true }),
  /** True if a client chose the rig; otherwise it follows the App's default. */
  modelChosen: flag("model_chosen", ({ bit }) => bit, { copied: true, initial: false }),
  /** App that models chosen before the first chat were validated against. A first chat with another App resets the choice. */
  modelApp: text("model_app", ({ word }) => word.nullable().default(null), { copied: true, initial: null }),
  /** Utility model chosen for this session; `null` for the App's default. */
  utilityModel: text("utility_model", ({ word }) => word.nullable(), { copied: true, initial: null }),
  /** Wallet address that the session is bound to. */
  publicKey: text(
    "public_key",
    ({ z }) =>
      z
        .string()
        .refine((key) => parsePublicKey(key) === key, "must be a wallet address in lower case")
        .nullable(),
    { copied: true, initial: null },
  ),
  /**
   * Id (wallet-id.ts) of the first wallet that a user proved for `publicKey`; never changes afterwards. `null` until
   * then. A fork into an existing session keeps that session's id.
   */
  walletId: text("wallet_id", ({ word }) => word.nullable().default(null), { copied: false, initial: null }),
  /** True if the sender of a message proved the wallet in an App that requires proof. */
  walletProved: flag("wallet_proved", ({ bit }) => bit.default(0), { copied: false, initial: false }),
  /** Pseudonym of the owner; `null` if anyone with the session id may use the session. */
  owner: text("owned_by", ({ word }) => word.nullable().default(null), { copied: false, initial: null }),
  userState: optionalJson(
    "user_state",
    ({ z }) => z.record(z.string(), z.json()).nullable(),
    {
      read: (stored): JsonObject | null => withoutWrongTypes(stored as JsonObject),
      empty: null,
      isEmpty: (state) => state === null,
    },
    { copied: true, initial: null },
  ),
  /** See metadata.ts; NULL if empty. */
  metadata: optionalJson(
    "metadata",
    ({ z }) =>
      z
        .record(z.string(), z.json())
        .refine((metadata) => metadataFits(metadata), "must be at most 4 KiB of JSON, nested at most 16 deep")
        .nullable()
        .default(null),
    {
      read: (stored) => stored as JsonObject,
      empty: {},
      isEmpty: (metadata) => Object.keys(metadata).length === 0,
    },
    { copied: true, initial: {} },
  ),
  pinned: flag("pinned", ({ bit }) => bit.default(0), { copied: false, initial: false }),
  archived: flag("archived", ({ bit }) => bit.default(0), { copied: false, initial: false }),
  /** Number of the last event. */
  head: bigint("head", ({ count }) => count, { copied: false, initial: 0 }),
  messageCount: bigint("message_count", ({ count }) => count, { copied: false, initial: 0 }),
  /** Number of turns, which is also the number of the last turn. */
  turnCount: bigint("turn_count", ({ count }) => count, { copied: false, initial: 0 }),
  /**
   * UTF-8 bytes of the messages as JSON on the wire, limited by `limits.sessionBytes`; `null` until cleanup
   * computes it.
   */
  messageBytes: bigint("message_bytes", ({ count }) => count.nullable(), {
    computed: true,
    copied: false,
    initial: 0,
  }),
  /** UTF-8 bytes of the stored event log; `null` like `messageBytes`. */
  eventBytes: bigint("event_bytes", ({ count }) => count.nullable(), {
    computed: true,
    copied: false,
    initial: 0,
  }),
  /** Fencing token: epoch of the last lease or interrupt. Writes of turns with another epoch fail. */
  epoch: bigint("epoch", ({ count }) => count, { computed: true, copied: false, initial: 0 }),
  createdAt: bigint("created_at", ({ time }) => time, { fixed: true, copied: false }),
  /** Time of the last activity; lists are ordered by it. */
  updatedAt: bigint("updated_at", ({ time }) => time, { copied: false }),
} as const satisfies Fields & Readonly<Record<string, { readonly copied: boolean }>>;

/** One incarnation of a session in the store. */
export type SessionRecord = RecordOf<typeof SESSION_FIELDS>;

/** Milliseconds after a delete during which read requests do not recreate the session. */
export const DELETED_MS = 10 * 60_000;

export interface SessionBirth {
  readonly incarnation: string;
  readonly model: string;
  /** Defaults to the id in lower case. */
  readonly spelling?: string;
  /** True to create no session within `DELETED_MS` after its delete. */
  readonly unlessDeleted?: boolean;
}

const INITIAL = initialOf(SESSION_FIELDS);

export function newSession(key: number, id: string, birth: SessionBirth, at: number): SessionRecord {
  const { incarnation, model, spelling = id } = birth;
  return { ...INITIAL, key, id, spelling, incarnation, model, createdAt: at, updatedAt: at };
}

/** Returns the fields that a fork copies. */
export const copiedOf = copierOf(SESSION_FIELDS);

/**
 * Returns true if the session has no messages, chosen model or title. Such a session expires early, even with a
 * wallet (contract section 1).
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

/** Status transitions (contract section 3). */
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

/** Returns the status after `trigger`. Throws on an impossible transition, which indicates a defect. */
export function nextStatus(status: SessionStatus, trigger: SessionTrigger): SessionStatus {
  const next = NEXT[status][trigger];
  if (next === "impossible") throw new Error(`A session that is ${status} cannot handle "${trigger}"`);
  return next;
}
