// The operations of a conversation: what is said, what is shown, and what a person decides.

import { randomId } from "./random-id.ts";
import type { Abortable, Transport } from "./transport.ts";
import type { Action, Snapshot, UserState } from "./wire.ts";

export interface SendOptions extends Abortable {
  /**
   * `true` answers when the assistant has nothing left to do, or asks a person; a number when it has not after so many seconds either.
   * Without it the answer is there as soon as the message is kept.
   */
  readonly wait?: boolean | number;
  /** A message that is sent twice under the same key (24 hours) is kept once. One of its own when absent. */
  readonly idempotencyKey?: string;
  /** Wallet address to bind. */
  readonly publicKey?: string;
  /** Merged into the session's. */
  readonly userState?: UserState;
  /** Whose secrets tools may use. */
  readonly clientId?: string;
}

export interface StateOptions extends Abortable {
  readonly wait?: boolean | number;
  /** Merged into the session's. */
  readonly userState?: UserState;
  readonly clientId?: string;
}

/** What a person decided, by the kind of the action (docs/api.md, "Actions"). */
export type Decision =
  | {
      readonly decision: "approve";
      readonly result?: { transaction_hash: string } | { signature: string } | { answer: string } | null;
    }
  | { readonly decision: "deny" };

/** Seconds that the service is asked to hold an answer at a time: less than what proxies allow. */
const HELD_SECONDS = 20;

export type ConversationOperations = ReturnType<typeof talking> & ReturnType<typeof deciding>;

export function conversationOperations(
  transport: Transport,
  app: string | undefined,
): ConversationOperations {
  return { ...talking(transport, app), ...deciding(transport) };
}

function talking(transport: Transport, app: string | undefined) {
  const waitFor = waiting(transport);
  return {
    /** Sends a message; tried again by itself under one `Idempotency-Key`, so that it is kept once. */
    async sendMessage(id: string, message: string, options: SendOptions = {}): Promise<Snapshot> {
      const { wait, idempotencyKey = randomId(), publicKey, userState, clientId, signal } = options;
      const patience = new Patience(wait);
      const held = patience.next();
      const snapshot = await transport.body<Snapshot>({
        method: "POST",
        path: "/api/chat",
        headers: { ...session(id), "Idempotency-Key": idempotencyKey, Prefer: prefer(held) },
        body: { message, app, public_key: publicKey, user_state: userState, client_id: clientId },
        repeatable: true,
        heldMs: held * 1000,
        signal,
      });
      return waitFor(id, snapshot, patience, signal);
    },

    async getState(id: string, options: StateOptions = {}): Promise<Snapshot> {
      const { wait, userState, clientId, signal } = options;
      const patience = new Patience(wait);
      const held = patience.next();
      const snapshot = await transport.body<Snapshot>({
        path: "/api/state",
        query: { user_state: userState && JSON.stringify(userState), client_id: clientId },
        headers: { ...session(id), Prefer: prefer(held) },
        repeatable: true,
        heldMs: held * 1000,
        signal,
      });
      return waitFor(id, snapshot, patience, signal);
    },

    /** Stops the answer in progress and drops what waits behind it. Not tried again by itself: it could stop a later answer. */
    interrupt(id: string, { signal }: Abortable = {}): Promise<Snapshot> {
      return transport.body({ method: "POST", path: "/api/interrupt", headers: session(id), signal });
    },
  };
}

function deciding(transport: Transport) {
  return {
    /** Actions that wait, and the last 100 that were decided, oldest first. */
    listActions(id: string, { signal }: Abortable = {}): Promise<Action[]> {
      return transport.body({ path: "/api/actions", headers: session(id), repeatable: true, signal });
    },

    /** Decides once: the same decision again is answered alike, another one refused with 409. */
    decideAction(
      id: string,
      actionId: string,
      decision: Decision,
      { signal }: Abortable = {},
    ): Promise<Action> {
      return transport.body({
        method: "POST",
        path: `/api/actions/${encodeURIComponent(actionId)}`,
        headers: session(id),
        body: decision,
        repeatable: true,
        signal,
      });
    },
  };
}

function waiting(transport: Transport) {
  /** Asks on until nothing is left to wait for. */
  return async (
    id: string,
    first: Snapshot,
    patience: Patience,
    signal: AbortSignal | undefined,
  ): Promise<Snapshot> => {
    let snapshot = first;
    while (snapshot.is_processing && snapshot.pending_actions.length === 0) {
      const held = patience.next();
      if (held === 0) break;
      snapshot = await transport.body<Snapshot>({
        path: "/api/state",
        headers: { ...session(id), Prefer: prefer(held) },
        repeatable: true,
        heldMs: held * 1000,
        signal,
      });
    }
    return snapshot;
  };
}

function session(id: string): { "X-Session-Id": string } {
  return { "X-Session-Id": id };
}

/** Divides a wait into pieces that a proxy lets through. */
class Patience {
  #left: number;

  constructor(wait: boolean | number = 0) {
    this.#left = wait === true ? Number.POSITIVE_INFINITY : Math.ceil(Number(wait));
  }

  /** Seconds of the next piece; 0 when nothing is left. */
  next(): number {
    const seconds = Math.min(HELD_SECONDS, Math.max(0, this.#left));
    this.#left -= seconds;
    return seconds;
  }
}

function prefer(seconds: number): string | undefined {
  return seconds === 0 ? undefined : `wait=${seconds}`;
}
