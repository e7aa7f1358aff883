// What a request stores at most, which is what it is charged (contract section 6): the rows and events of its command, in bytes. What
// models and tools produce for it is bounded by the limits of turns and sessions instead. test/written-bytes.test.ts compares both.

import { USER_STATE_MAX_BYTES } from "./user-state.ts";

/** Rows and events of a command, without text of the caller. */
const ROWS = 4 * 1024;
/** A row or event with the session's user state, which may be as large as allowed. */
const STATE = USER_STATE_MAX_BYTES + 512;
/** The session's row, and the event of a changed status, model or user state. */
const STATES_OF_CHANGE = 2;
/** The same for a chat, which may interrupt turns, choose another model and change the user state. */
const STATES_OF_CHAT = 6;
/** An action's result is stored with the action and with the call, and in five events, the last when its turn goes on. */
const COPIES_OF_BODY = 7;
/** A message is stored once, and in the event of its arrival and that of its start, or of its end if it never starts. */
const COPIES_OF_MESSAGE = 3;

/** Bytes of a session that a read creates. */
export const NEW_SESSION_BYTES = ROWS;
/** Bytes of a copy besides the rows that are copied. */
export const COPY_BYTES = ROWS + STATES_OF_CHANGE * STATE;

export interface WrittenChat {
  readonly message: string;
  /** Options of the chat as sent. */
  readonly options?: object;
}

/** Returns the bytes of a change with this body, which may be absent. */
export function changeBytes(body: unknown = null): number {
  return ROWS + STATES_OF_CHANGE * STATE + COPIES_OF_BODY * jsonBytes(body);
}

/** Returns the bytes of a message, from its arrival to its end. */
export function chatBytes({ message, options = {} }: WrittenChat): number {
  const rows = 2 * ROWS + STATES_OF_CHAT * STATE;
  return rows + COPIES_OF_MESSAGE * jsonBytes(message) + jsonBytes(options);
}

function jsonBytes(value: unknown): number {
  return value === null ? 0 : Buffer.byteLength(JSON.stringify(value));
}
