// Runs a session's calls of client tools in this client: claims a call, renews the claim while the handler runs, and
// reports what the handler returns or throws. The service alone decides who holds the claim, and until when.

import { ColloquyError, isTransient } from "./colloquy-error.ts";
import type { Decision } from "./conversation-operations.ts";
import { beforeAbort, linkedAbort, type LinkedAbort } from "./linked-abort.ts";
import type { Operations } from "./operations.ts";
import { randomId } from "./random-id.ts";
import { backoff, pause, type Timer, type Timing } from "./timing.ts";
import type { PendingAction } from "./wire.ts";

export type ClientToolAction = Extract<PendingAction, { kind: "client_tool" }>;

export interface ToolRun {
  readonly sessionId: string;
  readonly action: ClientToolAction;
  /**
   * Aborts when the call is over (decided, cancelled, expired), when this client has lost its claim, and when the handler is
   * removed. In the last case, the result still counts.
   */
  readonly signal: AbortSignal;
}

/**
 * Returns the tool's output as JSON. The model sees the message of a thrown error. Written as a method, so that a handler
 * may declare the type of its input.
 */
export type ToolHandler = { run(input: unknown, run: ToolRun): unknown }["run"];

/** Handlers by tool. */
export type ToolHandlers = Readonly<Record<string, ToolHandler>>;

/** Lifetime of a claim in milliseconds (docs/api.md, "Tools that run in the client"), and the interval of renewals. */
const LEASE_MS = 30_000;
const RENEW_MS = LEASE_MS / 3;
const BACKOFF_MS = 500;
const BACKOFF_CEILING_MS = 8_000;
/** Maximum length of an error's text in UTF-16 code units. */
const MAX_ERROR = 4_096;

type Result = Extract<Decision, { decision: "approve"; claim: string }>["result"];

interface Run {
  /** Aborts when the service no longer accepts a result. */
  readonly over: LinkedAbort;
  /** Aborts the handler. */
  readonly handler: LinkedAbort;
  isOver: boolean;
}

export class ToolRunner {
  readonly #sessionId: string;
  readonly #handlers: ToolHandlers;
  readonly #operations: Operations;
  readonly #timing: Timing;
  /** Aborts when the session is stopped. */
  readonly #sessionStop: AbortSignal;
  /** By action. */
  readonly #runs = new Map<string, Run>();
  #isStopped = false;

  constructor(
    sessionId: string,
    handlers: ToolHandlers,
    operations: Operations,
    timing: Timing,
    sessionStop: AbortSignal,
  ) {
    this.#sessionId = sessionId;
    this.#handlers = handlers;
    this.#operations = operations;
    this.#timing = timing;
    this.#sessionStop = sessionStop;
  }

  /** Starts unclaimed calls, and ends those that are no longer pending. */
  update(pending: readonly PendingAction[]): void {
    if (this.#isStopped) return;
    const calls = pending.filter(
      (action): action is ClientToolAction =>
        action.kind === "client_tool" && Object.hasOwn(this.#handlers, action.tool),
    );
    for (const [id, { over }] of this.#runs) {
      if (calls.some((call) => call.id === id)) continue;
      over.abort(stopped("The call is no longer pending."));
      this.#runs.delete(id);
    }
    for (const call of calls) {
      const run = this.#runs.get(call.id);
      if (call.claim_expires_at === null && run === undefined) void this.#run(call);
      // Try a call again that was not run here if another client's claim expires while the call is pending.
      else if (call.claim_expires_at !== null && run?.isOver === true) this.#runs.delete(call.id);
    }
  }

  /** Starts no more calls and aborts the running handlers. Reports their results until their claims expire. */
  stop(): void {
    this.#isStopped = true;
    for (const { handler } of this.#runs.values())
      handler.abort(stopped("The client stopped offering this tool."));
  }

  async #run(action: ClientToolAction): Promise<void> {
    const over = linkedAbort(this.#sessionStop);
    const handler = linkedAbort(over.signal);
    const run: Run = { over, handler, isOver: false };
    // Retries use the same key: if only the response was lost, they return the claim instead of a conflict.
    const idempotencyKey = randomId();
    this.#runs.set(action.id, run);
    try {
      const { claim } = await this.#insist(handler.signal, () =>
        this.#operations.claimAction(this.#sessionId, action.id, { signal: over.signal, idempotencyKey }),
      );
      void this.#renew(action, claim, run);
      const result = await beforeAbort(over.signal, () => this.#resultOf(action, handler.signal));
      await this.#report(action, claim, result, over.signal);
    } catch {
      // The service refused the claim, or the call is over.
    }
    run.isOver = true;
    // A handler that has returned is not aborted.
    handler.release();
    over.abort(stopped("The call is over."));
    over.release();
  }

  /**
   * Renews the claim until the handler is aborted. Ends the call if the service refuses, or does not answer
   * before the claim expires.
   */
  async #renew(action: ClientToolAction, claim: string, { over, handler }: Run): Promise<void> {
    const { signal, release } = linkedAbort(over.signal, handler.signal);
    const lease = (): Timer => this.#timing.after(LEASE_MS, () => over.abort(stopped("The claim lapsed.")));
    let timer = lease();
    over.signal.addEventListener("abort", () => timer.stop());
    try {
      for (;;) {
        await pause(this.#timing, RENEW_MS, signal);
        await this.#insist(signal, () =>
          this.#operations.claimAction(this.#sessionId, action.id, { signal, claim }),
        );
        timer.stop();
        timer = lease();
      }
    } catch (error) {
      if (!signal.aborted) over.abort(error);
    }
    release();
  }

  async #resultOf(action: ClientToolAction, signal: AbortSignal): Promise<Result> {
    try {
      signal.throwIfAborted();
      const run: ToolRun = { sessionId: this.#sessionId, action, signal };
      const output = await this.#handlers[action.tool]?.(action.request.input, run);
      // `undefined` becomes `null`. Throws if the output is not JSON.
      return { output: JSON.parse(JSON.stringify(output) ?? "null") as unknown };
    } catch (error) {
      return { error: errorText(error) };
    }
  }

  async #report(action: ClientToolAction, claim: string, result: Result, signal: AbortSignal): Promise<void> {
    const decide = (result: Result) =>
      this.#insist(signal, () =>
        this.#operations.decideAction(
          this.#sessionId,
          action.id,
          { decision: "approve", claim, result },
          { signal },
        ),
      );
    try {
      await decide(result);
    } catch (error) {
      // The output is not acceptable, for example because it is too large.
      if (!(error instanceof ColloquyError && (error.status === 400 || error.status === 413))) throw error;
      await decide({ error: `The output was refused: ${errorText(error)}` });
    }
  }

  /** Repeats a request until the service answers it, even longer than the transport does. */
  async #insist<Answer>(signal: AbortSignal, ask: () => Promise<Answer>): Promise<Answer> {
    for (let failures = 1; ; failures += 1) {
      try {
        return await ask();
      } catch (error) {
        if (signal.aborted || !(error instanceof ColloquyError) || !isTransient(error)) throw error;
      }
      const ms = BACKOFF_MS + backoff(this.#timing, failures, BACKOFF_MS, BACKOFF_CEILING_MS);
      await pause(this.#timing, ms, signal);
    }
  }
}

function stopped(message: string): ColloquyError {
  return new ColloquyError(message, { code: "stopped" });
}

/** Returns the error's message, or its name if the message is empty. */
function errorText(error: unknown): string {
  const { message, name } = error instanceof Error ? error : new Error(String(error));
  return (message || name).slice(0, MAX_ERROR).toWellFormed();
}
