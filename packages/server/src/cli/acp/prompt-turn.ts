// Runs one prompt: sends it, streams the answer to the editor, and requests permissions.

import {
  RequestError,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
  type StopReason,
} from "@agentclientprotocol/sdk";
import { type Client, ColloquyError, mayUserDecide, type Decision, type LiveSession } from "@colloquy/client";
import type { Message, PendingAction, Snapshot } from "@colloquy/protocol";
import { PART } from "./conversation-parts.ts";
import type { PromptContent, PromptFile } from "./prompt-content.ts";
import { type SessionUpdates, toolCallOf } from "./session-updates.ts";

/** The editor's side of the protocol, for one session. */
export interface Editor {
  notify(update: SessionUpdate): Promise<void>;
  /** Requests a permission. Rejects or resolves with the outcome `cancelled` if `withdrawn` aborts. */
  askPermission(
    request: Omit<RequestPermissionRequest, "sessionId">,
    withdrawn: AbortSignal,
  ): Promise<RequestPermissionResponse>;
  /** Adds the conversation to the editor's list, or updates its title there. */
  remember(snapshot: Snapshot): Promise<void>;
}

const PERMISSIONS: RequestPermissionRequest["options"] = [
  { optionId: "approve", name: "Allow", kind: "allow_once" },
  { optionId: "deny", name: "Reject", kind: "reject_once" },
];
const NOT_FOUND = -32_002;
const FAILED = -32_603;

export class PromptTurn {
  readonly #client: Client;
  readonly #session: LiveSession;
  readonly #editor: Editor;
  /** Updates sent to the editor. */
  readonly #shown: SessionUpdates;
  readonly #left = new AbortController();
  /** Permission requests by action id. Aborting a controller withdraws its request. */
  readonly #asked = new Map<string, AbortController>();
  /** Ids of actions that the editor cannot decide and that were reported to it. */
  readonly #told = new Set<string>();
  #isSent = false;
  #isSeen = false;
  #isCancelled = false;
  readonly #stopped = Promise.withResolvers<void>();
  /** The pending interrupt request, or `null` if none was sent. */
  #interruption: Promise<void> | null = null;
  #title: string | null = null;

  constructor(client: Client, sessionId: string, editor: Editor, shown: SessionUpdates) {
    this.#client = client;
    this.#session = client.session(sessionId, { messages: PART });
    this.#editor = editor;
    this.#shown = shown;
  }

  /** Resolves once `cancel` or `leave` was called. */
  get stopped(): Promise<void> {
    return this.#stopped.promise;
  }

  /** Interrupts the turn. */
  async cancel(): Promise<void> {
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    this.#stopped.resolve();
    // If the message is not sent yet, `#follow` interrupts the turn later.
    if (this.#isSent) await (this.#interruption = this.#interrupt());
  }

  /** Ends the prompt. The turn continues. */
  leave(): void {
    this.#left.abort();
    this.#stopped.resolve();
  }

  /**
   * Sends the editor the updates since the last prompt, then sends the prompt and streams its answer. With `mayAnswer`,
   * the prompt answers a pending question. Resolves with the stop reason when the turn ends, or waits for an action that
   * the editor cannot decide. Throws `RequestError` if the turn fails.
   */
  async run(content: PromptContent, { mayAnswer }: { readonly mayAnswer: boolean }): Promise<StopReason> {
    if (this.#isCancelled || this.#left.signal.aborted) return "cancelled";
    try {
      return await this.#follow(content, mayAnswer);
    } catch (error) {
      // ACP forbids error responses after a cancellation.
      if (!this.#isCancelled && !this.#left.signal.aborted) throw error;
      return "cancelled";
    } finally {
      // If the turn has completed, a late interrupt would stop the next one.
      await this.#interruption;
    }
  }

  async #follow({ text, files }: PromptContent, mayAnswer: boolean): Promise<StopReason> {
    const { signal } = this.#left;
    // Reading the state of an unknown id would create a session.
    await this.#client.getSession(this.#session.id, { signal });
    const before = await this.#session.refresh({ signal });
    if (this.#isCancelled) return "cancelled";
    if (this.#shown.isEmpty) this.#shown.markAllSent(before.messages);
    else await this.#loadUnsent();
    this.#title = before.title;
    const question = mayAnswer ? questionIn(before) : undefined;
    if (files.length > 0 && question !== undefined)
      throw RequestError.invalidParams(undefined, "The assistant has asked a question. Answer it with text.");
    const attachments = await this.#upload(files);
    if (this.#isCancelled) return "cancelled";
    const updates = this.#session.updates({ signal });
    try {
      const turn =
        question === undefined
          ? await this.#send(text, attachments)
          : await this.#answer(question, before, text);
      this.#isSent = true;
      if (this.#isCancelled) await this.#interrupt();
      for await (const update of updates) {
        if (update.type === "reasoning_delta") await this.#notifyOf(this.#shown.ofReasoning(update));
        // The snapshot may be newer than the update: slow editors receive fewer, larger chunks.
        const snapshot = this.#session.getSnapshot();
        const stopReason = snapshot === null ? null : await this.#report(snapshot, turn);
        if (stopReason !== null) return stopReason;
      }
      if (!signal.aborted) throw new RequestError(NOT_FOUND, "The conversation was deleted.");
      return "cancelled";
    } finally {
      for (const asked of this.#asked.values()) asked.abort();
      await updates.return?.();
    }
  }

  /** Loads messages until the first one was sent. */
  async #loadUnsent(): Promise<void> {
    for (let count = 0; ; ) {
      const { messages } = this.#session.getSnapshot() ?? { messages: [] };
      const [first] = messages;
      if (first === undefined || messages.length === count || !this.#shown.isUnsent(first)) return;
      count = messages.length;
      await this.#session.loadEarlier({ signal: this.#left.signal });
    }
  }

  /** Interrupts the turn without retries: a late interrupt could stop a later answer. */
  async #interrupt(): Promise<void> {
    await this.#session.interrupt({ signal: this.#left.signal }).catch(() => this.leave());
  }

  /** Returns the ids of the uploaded files. */
  async #upload(files: readonly PromptFile[]): Promise<readonly string[]> {
    const ids: string[] = [];
    for (const { content, name } of files)
      ids.push((await this.#session.upload(content, { name, signal: this.#left.signal })).id);
    return ids;
  }

  /** Sends the prompt as a message. Returns the number of its turn. */
  async #send(text: string, attachments: readonly string[]): Promise<number> {
    const { signal } = this.#left;
    // A steering message has no turn of its own, whose end would end the prompt.
    const sent = await this.#session.send(text, { busy: "enqueue", attachments, signal });
    const message = sent.messages.findLast(({ sender, content }) => sender === "user" && content === text);
    // Editors show prompts themselves.
    if (message !== undefined) this.#shown.markSent([message]);
    await this.#editor.remember(sent);
    return turnOf(message);
  }

  /** Sends the prompt as the answer to a question. Returns the number of the turn that asked. */
  async #answer(question: PendingAction, { messages }: Snapshot, text: string): Promise<number> {
    const { signal } = this.#left;
    await this.#session.resolve(question.id, { decision: "approve", result: { answer: text } }, { signal });
    this.#isSeen = true;
    return turnOf(
      messages.find(({ tool_calls: calls = [] }) => calls.some(({ id }) => id === question.call_id)),
    );
  }

  /** Sends updates. Returns the stop reason if the prompt ends with this snapshot; `null` if it continues. */
  async #report(snapshot: Snapshot, turn: number): Promise<StopReason | null> {
    const { messages } = snapshot;
    const last = messages.findLastIndex((message) => message.turn === turn);
    if (last < 0) {
      // If a later turn exists, this turn was stored and has been removed.
      if (!this.#isSeen && !messages.some((message) => (message.turn ?? 0) > turn)) return null;
      throw new RequestError(FAILED, "Another client has replaced or removed this message.");
    }
    this.#isSeen = true;
    // A later message of another client may already have an answer.
    await this.#notifyOf(this.#shown.ofMessages(messages.slice(0, last + 1)));
    if (snapshot.title !== this.#title) await this.#nameSession(snapshot);
    this.#askFor(snapshot);
    const ofTurn = messages.filter((message) => message.turn === turn);
    return await this.#end(snapshot, ofTurn.findLast(({ sender }) => sender === "agent") ?? ofTurn[0]);
  }

  async #end(snapshot: Snapshot, message: Message | undefined): Promise<StopReason | null> {
    if (message?.status === "interrupted") return "cancelled";
    // A steered turn continues in another message.
    if (message?.steps?.to !== undefined) return null;
    if (message?.sender === "agent" && message.status === "complete") return "end_turn";
    if (message?.sender === "agent" && message.status === "failed") {
      const reason = failureOf(message, snapshot);
      // The reason follows in an event of the same commit.
      if (reason === null && snapshot.is_processing) return null;
      throw new RequestError(FAILED, reason ?? "The assistant could not finish this answer.");
    }
    return await this.#endAtAction(snapshot);
  }

  async #nameSession(snapshot: Snapshot): Promise<void> {
    const { title } = snapshot;
    this.#title = title;
    await this.#editor.remember(snapshot);
    await this.#editor.notify({ sessionUpdate: "session_info_update", title });
  }

  /**
   * Requests permission for pending approvals, including those of earlier turns that the prompt waits for.
   * Withdraws requests for actions that were decided elsewhere.
   */
  #askFor({ pending_actions: pending, messages }: Snapshot): void {
    for (const [id, asked] of this.#asked) if (!pending.some((action) => action.id === id)) asked.abort();
    for (const action of pending) {
      if (!isAsked(action) || this.#asked.has(action.id)) continue;
      const withdrawal = new AbortController();
      this.#asked.set(action.id, withdrawal);
      const call = messages
        .flatMap(({ tool_calls: calls = [] }) => calls)
        .findLast(({ id }) => id === action.call_id);
      const toolCall =
        call === undefined ? { toolCallId: action.call_id, title: action.tool } : toolCallOf(call);
      const withdrawn = AbortSignal.any([withdrawal.signal, this.#left.signal]);
      this.#decide(action, toolCall, withdrawn)
        // The permission request or the decision failed: the action stays pending.
        .catch(() => (withdrawn.aborted ? undefined : this.#tell(action)))
        // The editor has disconnected.
        .catch(() => this.leave());
    }
  }

  async #decide(
    { id }: PendingAction,
    toolCall: RequestPermissionRequest["toolCall"],
    withdrawn: AbortSignal,
  ): Promise<void> {
    const { outcome } = await this.#editor.askPermission({ toolCall, options: PERMISSIONS }, withdrawn);
    if (withdrawn.aborted) return;
    // ACP requires the outcome `cancelled` when the editor cancels the prompt. It is not a decision.
    if (outcome.outcome === "cancelled") return await this.cancel();
    const decision: Decision =
      outcome.optionId === "approve" ? { decision: "approve" } : { decision: "deny" };
    await this.#session.resolve(id, decision, { signal: withdrawn }).catch((error: unknown) => {
      const isDecidedElsewhere = error instanceof ColloquyError && [404, 409].includes(error.status ?? 0);
      if (!isDecidedElsewhere) throw error;
    });
  }

  /**
   * Ends the prompt at an action that the editor cannot decide. The action may belong to an earlier turn that
   * the prompt waits for.
   */
  async #endAtAction({ pending_actions: pending, messages }: Snapshot): Promise<StopReason | null> {
    const action = pending.find((one) => !isAsked(one));
    if (this.#isCancelled || action === undefined || pending.some(isAsked)) return null;
    const waiting = messages.find(({ tool_calls: calls = [] }) =>
      calls.some(({ id }) => id === action.call_id),
    );
    if (waiting === undefined || hasRunningCall(waiting, pending)) return null;
    await this.#tell(action);
    return "end_turn";
  }

  /** Reports an action that the editor cannot decide. */
  async #tell(action: PendingAction): Promise<void> {
    if (this.#told.has(action.id)) return;
    this.#told.add(action.id);
    const text =
      action.kind === "question"
        ? questionOf(action)
        : mayUserDecide(action)
          ? `${action.tool} needs a decision. Open this conversation in the console.`
          : `${action.tool} waits for an approver.`;
    await this.#editor.notify({
      sessionUpdate: "agent_message_chunk",
      messageId: `action-${action.id}`,
      content: { type: "text", text: `\n\n${text}` },
    });
  }

  async #notifyOf(updates: Iterable<SessionUpdate>): Promise<void> {
    for (const update of updates) await this.#editor.notify(update);
  }
}

/** Returns true if the editor can ask its user to decide the action. */
function isAsked(action: PendingAction): boolean {
  return action.kind === "approval" && mayUserDecide(action);
}

function turnOf(message: Message | undefined): number {
  if (message?.turn === undefined) throw new Error("The snapshot lacks the message, or its turn");
  return message.turn;
}

function questionIn({ pending_actions: pending }: Snapshot) {
  return pending.find(({ kind }) => kind === "question");
}

function questionOf({ request }: Extract<PendingAction, { kind: "question" }>): string {
  const choices = request.choices.map((choice) => `\n- ${choice}`).join("");
  return `${request.question}${choices}`;
}

/** Returns the error message of a failed turn; `null` if its event has not arrived. */
function failureOf({ turn }: Message, { system_events: events }: Snapshot): string | null {
  const event = events.findLast(({ type, payload }) => type === "error" && payload["turn"] === turn);
  const message = event?.payload["message"];
  return typeof message === "string" ? message : null;
}

/** Returns true if a call of the message has no result and waits for no decision. */
function hasRunningCall(
  { tool_calls: calls = [], tool_results: results = [] }: Message,
  pending: readonly PendingAction[],
): boolean {
  const settled = new Set([...results, ...pending].map(({ call_id }) => call_id));
  return calls.some(({ id }) => !settled.has(id));
}
