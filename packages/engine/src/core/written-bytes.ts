// What a request stores at most, which is what it is charged (contract section 6): the rows and events of its
// command, in bytes. What models and tools produce for it is bounded by the limits of turns and sessions
// instead. test/written-bytes.test.ts compares both.

import { namedFiles } from "./action.ts";
import { type AppendedTurn, filesIn } from "./commands/append.ts";
import { isJsonObject } from "./json.ts";
import { METADATA_MAX_BYTES } from "./metadata.ts";
import { USER_STATE_MAX_BYTES } from "./user-state.ts";

/** Rows and events of a command, without text of the caller. */
const ROWS = 4 * 1024;
/** A row or event with the session's user state, which may be as large as allowed. */
const STATE = USER_STATE_MAX_BYTES + 512;
/** The session's row, and the event of a changed status, model or user state. */
const STATES_OF_CHANGE = 2;
/** The same for a chat, which may interrupt turns, choose another model and change the user state. */
const STATES_OF_CHAT = 6;
/**
 * An action's result is stored with the action and with the call, and in five events, the last when its turn
 * goes on.
 */
const COPIES_OF_BODY = 7;
/**
 * A message is stored once, and in the event of its arrival and that of its start, or of its end if it never
 * starts.
 */
const COPIES_OF_MESSAGE = 3;
/** A message that may steer has an event more, if its turn ends first. */
const COPIES_OF_STEERING = 4;

/** Bytes of a session that a read creates. */
export const NEW_SESSION_BYTES = ROWS;
/** Bytes of a copy besides the rows that are copied. */
export const COPY_BYTES = ROWS + STATES_OF_CHANGE * STATE + METADATA_MAX_BYTES;

/** A file in a message, with the longest name. */
const FILE_BYTES = 1_024;

export interface WrittenChat {
  readonly message: string;
  /** Ids of its files; absent for none. */
  readonly attachments?: readonly string[];
  /** Options of the chat as sent. */
  readonly options?: object;
  /** True for a message that steers if the session is busy; absent for false. */
  readonly steers?: boolean;
}

/** Returns the bytes of a change with this body, which may be absent. */
export function changeBytes(body: unknown = null): number {
  const files = isJsonObject(body) ? namedFiles(body["result"] ?? null).length : 0;
  return ROWS + STATES_OF_CHANGE * STATE + COPIES_OF_BODY * (jsonBytes(body) + files * FILE_BYTES);
}

/** An appended turn: its row, two messages with an event each, and the session's row. */
const ROWS_OF_TURN = 3 * 1024;
/** An appended text is stored in its message, in the message's event, and twice in its step. */
const COPIES_OF_APPENDED = 5;

/** Returns the bytes of turns that are appended. */
export function appendBytes(turns: readonly AppendedTurn[]): number {
  const files = turns.reduce((count, turn) => count + filesIn(turn).length, 0);
  const texts = jsonBytes(turns) + files * FILE_BYTES;
  return ROWS + STATES_OF_CHANGE * STATE + turns.length * ROWS_OF_TURN + COPIES_OF_APPENDED * texts;
}

/** Returns the bytes of a message, from its arrival to its end. */
export function chatBytes({ message, attachments = [], options = {}, steers = false }: WrittenChat): number {
  const rows = 2 * ROWS + STATES_OF_CHAT * STATE;
  const copies = steers ? COPIES_OF_STEERING : COPIES_OF_MESSAGE;
  return rows + copies * (jsonBytes(message) + attachments.length * FILE_BYTES) + jsonBytes(options);
}

function jsonBytes(value: unknown): number {
  return value === null ? 0 : Buffer.byteLength(JSON.stringify(value));
}
