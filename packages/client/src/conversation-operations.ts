// Operations of a conversation: messages, state and decisions.

import { randomId } from "./random-id.ts";
import type { Abortable, Transport } from "./transport.ts";
import type { Action, ActionClaim, Snapshot, UserState } from "./wire.ts";

export interface MessagesOption {
  /**
   * Number of latest messages in the snapshot, from 0 to 1,000; all if absent. The snapshot always includes
   * queued and streaming messages and all later ones. Its `messages_before` is the number of messages before
   * the first one.
   */
  readonly messages?: number | undefined;
}

export interface WaitOptions extends Abortable, MessagesOption {
  /**
   * `true` waits until the assistant has finished or needs a decision; a number waits at most that many
   * seconds. When absent, the call returns as soon as the message is stored.
   */
  readonly wait?: boolean | number | undefined;
}

/** A tool that a client offers and runs itself. */
export interface ClientTool {
  readonly description: string;
  /** JSON Schema of its input. */
  readonly inputSchema: object;
  /** Milliseconds in which a client must report a call's result; the App's limit for actions when absent. */
  readonly timeoutMs?: number | undefined;
  /** True if another client may run a call after the first client's claim has expired. */
  readonly repeatable?: boolean | undefined;
}

export interface SendOptions extends WaitOptions {
  /** Idempotency key: the service stores one message per key within 24 hours. Random when absent. */
  readonly idempotencyKey?: string | undefined;
  /** Ids of files that were uploaded to the session, at most 10. The text may then be empty. */
  readonly attachments?: readonly string[] | undefined;
  /** Wallet address to bind to the session. */
  readonly publicKey?: string | undefined;
  /** User state to merge into the session's. */
  readonly userState?: UserState | undefined;
  /** Client whose secrets tools may use. */
  readonly clientId?: string | undefined;
  /**
   * Id of a user's message. The new one replaces it, and everything after it is removed; the same text regenerates
   * its answer.
   */
  readonly replaces?: string | undefined;
  /** Model of the App for this message and the next ones. */
  readonly rig?: string | undefined;
  /**
   * While the assistant works: the turn in progress reads the message before its next model call (`steer`), or the
   * message waits for a turn of its own (`enqueue`). The App's `onBusy` when absent, and always if that is `reject`.
   */
  readonly busy?: "steer" | "enqueue" | undefined;
  /**
   * JSON Schema of an object that the answer must match. The answer's message then has it as `data`; after two answers
   * that do not match, the turn fails with `schema_mismatch`.
   */
  readonly responseSchema?: Readonly<Record<string, unknown>> | undefined;
  /** Tools for the answer to this message, by name. Run their calls with `runTools` of a live session. */
  readonly clientTools?: Readonly<Record<string, ClientTool>> | undefined;
}

export interface StateOptions extends WaitOptions {
  /** Id of a message. The snapshot contains the messages directly before it. */
  readonly before?: string | undefined;
  /** User state to merge into the session's. */
  readonly userState?: UserState | undefined;
  readonly clientId?: string | undefined;
}

/** A person's decision, by kind of action (docs/api.md, "Actions"). */
export type Decision =
  | {
      readonly decision: "approve";
      readonly result?: { transaction_hash: string } | { signature: string } | { answer: string } | null;
    }
  | {
      readonly decision: "approve";
      /** The claim of a call of a client tool. */
      readonly claim: string;
      /** `attachments`: ids of files from `uploadFile`, for the model and the conversation. */
      readonly result: { output: unknown; attachments?: readonly string[] | undefined } | { error: string };
    }
  | { readonly decision: "deny"; readonly claim?: string | undefined };

/** Maximum `Prefer: wait` of one request in seconds, below the time-outs of common proxies. */
const LONG_POLL_SECONDS = 20;

export type ConversationOperations = ReturnType<typeof chatOperations> & ReturnType<typeof actionOperations>;

export function conversationOperations(
  transport: Transport,
  app: string | undefined,
): ConversationOperations {
  return { ...chatOperations(transport, app), ...actionOperations(transport) };
}

interface ClaimOptions extends Abortable {
  /** The claim to renew. */
  readonly claim?: string | undefined;
  readonly idempotencyKey?: string | undefined;
}

function chatOperations(transport: Transport, app: string | undefined) {
  const waitFor = waiter(transport);
  return {
    /** Sends a message. Retries use the same `Idempotency-Key`, so that it is stored once. */
    async sendMessage(id: string, message: string, options: SendOptions = {}): Promise<Snapshot> {
      const { wait, messages, idempotencyKey = randomId(), signal } = options;
      const budget = new WaitBudget(wait);
      const seconds = budget.next(LONG_POLL_SECONDS);
      const snapshot = await transport.body<Snapshot>({
        method: "POST",
        path: "/api/chat",
        headers: { ...session(id), "Idempotency-Key": idempotencyKey, Prefer: prefer(seconds) },
        body: { message, app, messages: last(messages), ...chatParameters(options) },
        field: "messages",
        repeatable: true,
        longPollMs: seconds * 1000,
        signal,
      });
      return waitFor(id, snapshot, budget, { messages, signal });
    },

    async getState(id: string, options: StateOptions = {}): Promise<Snapshot> {
      const { wait, messages, before, userState, clientId, signal } = options;
      const range = { messages: last(messages), before };
      // Sent without `Prefer`: the service waits for new actions, not for one that is already pending.
      const snapshot = await transport.body<Snapshot>({
        path: "/api/state",
        query: { user_state: userState && JSON.stringify(userState), client_id: clientId, ...range },
        headers: session(id),
        field: "messages",
        repeatable: true,
        signal,
      });
      return waitFor(id, snapshot, new WaitBudget(wait), { messages, before, signal });
    },

    /**
     * Stops the answer in progress and cancels queued messages. Not retried, because a late retry could stop
     * a later answer.
     */
    interrupt(id: string, { messages, signal }: Abortable & MessagesOption = {}): Promise<Snapshot> {
      const query = { messages: last(messages) };
      return transport.body({ method: "POST", path: "/api/interrupt", query, headers: session(id), signal });
    },
  };
}

function chatParameters(options: SendOptions) {
  const { attachments, publicKey, userState, clientId, replaces, rig, busy, responseSchema, clientTools } =
    options;
  return {
    attachments,
    public_key: publicKey,
    user_state: userState,
    client_id: clientId,
    replaces,
    rig,
    busy,
    response_schema: responseSchema,
    client_tools: clientTools,
  };
}

function actionOperations(transport: Transport) {
  return {
    /** Lists pending actions and the last 100 decided ones, oldest first. */
    listActions(id: string, { signal }: Abortable = {}): Promise<Action[]> {
      return transport.body({ path: "/api/actions", headers: session(id), repeatable: true, signal });
    },

    /**
     * Claims a call of a client tool, to run it. With `claim`, renews that claim. Fails with 409 if another
     * client has claimed it. A retry with the same `idempotencyKey` gets the same claim: use a new UUID for
     * each client and call (the default).
     */
    claimAction(
      id: string,
      actionId: string,
      { claim, idempotencyKey = randomId(), signal }: ClaimOptions = {},
    ): Promise<ActionClaim> {
      return transport.body({
        method: "POST",
        path: `/api/actions/${encodeURIComponent(actionId)}/claim`,
        headers: { ...session(id), "Idempotency-Key": idempotencyKey },
        body: { claim },
        repeatable: true,
        signal,
      });
    },

    /**
     * Decides an action. Repeating the same decision returns the same answer; a different one fails with 409.
     */
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

function waiter(transport: Transport) {
  /** Polls until the assistant has finished, needs a decision, or the maximum wait has passed. */
  return async (
    id: string,
    first: Snapshot,
    budget: WaitBudget,
    { messages, before, signal }: Pick<StateOptions, "messages" | "before" | "signal">,
  ): Promise<Snapshot> => {
    let snapshot = first;
    // No request ends at once for an action that appears between two requests, so the first ones are short.
    for (let most = 1; snapshot.is_processing && snapshot.pending_actions.length === 0; most *= 2) {
      const seconds = budget.next(Math.min(most, LONG_POLL_SECONDS));
      if (seconds === 0) break;
      snapshot = await transport.body<Snapshot>({
        path: "/api/state",
        query: { messages: last(messages), before },
        headers: { ...session(id), Prefer: prefer(seconds) },
        field: "messages",
        repeatable: true,
        longPollMs: seconds * 1000,
        signal,
      });
    }
    return snapshot;
  };
}

/** Returns the parameter `messages`; `undefined` for all messages. */
export function last(messages: number | undefined): string | undefined {
  return messages === undefined ? undefined : `last:${messages}`;
}

function session(id: string): { "X-Session-Id": string } {
  return { "X-Session-Id": id };
}

/** Splits a wait into requests short enough for proxies. */
class WaitBudget {
  #left: number;

  constructor(wait: boolean | number = 0) {
    this.#left = wait === true ? Number.POSITIVE_INFINITY : Math.ceil(Number(wait));
  }

  /** Returns the seconds of the next request, at most `most`; 0 when the maximum wait has passed. */
  next(most: number): number {
    const seconds = Math.min(most, Math.max(0, this.#left));
    this.#left -= seconds;
    return seconds;
  }
}

function prefer(seconds: number): string | undefined {
  return seconds === 0 ? undefined : `wait=${seconds}`;
}
