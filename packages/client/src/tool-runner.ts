// Runs a session's client-tool calls: claims a call, renews the claim while the handler runs, and reports the
// handler's result or error. The service decides which client holds the claim, and for how long.

import { ColloquyError, isTransient } from "./colloquy-error.ts";
import type { Decision } from "./conversation-operations.ts";
import type { UploadOptions } from "./file-operations.ts";
import { beforeAbort, linkedAbort, throwIfAborted, type LinkedAbort } from "./linked-abort.ts";
import type { Operations } from "./operations.ts";
import { randomId } from "./random-id.ts";
import { backoff, pause, type Timer, type Timing } from "./timing.ts";
import type { Attachment, PendingAction } from "./wire.ts";

export type ClientToolAction = Extract<PendingAction, { kind: "client_tool" }>;

export interface ToolRun {
  readonly sessionId: string;
  readonly action: ClientToolAction;
  /**
   * Aborts when the call is decided, cancelled or expired, when this client loses its claim, and when the
   * handler is removed. The result of a removed handler is still reported to the service.
   */
  readonly signal: AbortSignal;
  /** Uploads a file as a part of the result. Rejects after ten files. A failed call has no files. */
  attach(file: Blob, options?: Pick<UploadOptions, "name">): Promise<Attachment>;
}

/**
 * Runs a call and returns its output, which must be JSON. The message of a thrown error is sent to the model.
 * `run` is declared as a method because method parameters are bivariant, so that a handler may declare the type
 * of its input.
 */
export type ToolHandler = { run(input: unknown, run: ToolRun): unknown }["run"];

/** Handlers by tool name. */
export type ToolHandlers = Readonly<Record<string, ToolHandler>>;

/** Lifetime of a claim, in milliseconds (docs/api.md, "Tools that run in the client"). */
const LEASE_MS = 30_000;
const RENEW_MS = LEASE_MS / 3;
const BACKOFF_MS = 500;
/** Maximum number of files of a result. */
const FILES_MAX = 10;
const BACKOFF_CEILING_MS = 8_000;
/** Maximum length of an error message in UTF-16 code units. */
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
  /** By action id. */
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

  /** Starts unclaimed calls, and aborts calls that are no longer pending. */
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
      // Another client has claimed the call. Drop the finished run, so that the call can start here if the claim
      // expires.
      else if (call.claim_expires_at !== null && run?.isOver === true) this.#runs.delete(call.id);
    }
  }

  /**
   * Aborts running handlers and starts no more calls. Results of aborted handlers are still reported until their
   * claims expire.
   */
  stop(): void {
    this.#isStopped = true;
    for (const { handler } of this.#runs.values())
      handler.abort(stopped("The client stopped offering this tool."));
  }

  async #run(action: ClientToolAction): Promise<void> {
    const over = linkedAbort(this.#sessionStop);
    const handler = linkedAbort(over.signal);
    const run: Run = { over, handler, isOver: false };
    // Retries use the same key: if only the response was lost, a retry returns the claim instead of a 409.
    const idempotencyKey = randomId();
    this.#runs.set(action.id, run);
    try {
      const { claim } = await this.#retry(handler.signal, () =>
        this.#operations.claimAction(this.#sessionId, action.id, { signal: over.signal, idempotencyKey }),
      );
      void this.#renew(action, claim, run);
      const result = await beforeAbort(over.signal, () =>
        this.#resultOf(action, handler.signal, over.signal),
      );
      await this.#report(action, claim, result, over.signal);
    } catch (error) {
      // Rejected claims and ended calls are expected. Rethrow only bugs.
      if (!over.signal.aborted && !(error instanceof ColloquyError)) throw error;
    } finally {
      this.#end(run);
    }
  }

  #end(run: Run): void {
    run.isOver = true;
    // Release first: a handler that has returned must not see an abort.
    run.handler.release();
    run.over.abort(stopped("The call has ended."));
    run.over.release();
  }

  /**
   * Renews the claim until the handler is aborted. Ends the call if the service rejects the renewal, or does not
   * respond before the claim expires.
   */
  async #renew(action: ClientToolAction, claim: string, { over, handler }: Run): Promise<void> {
    const { signal, release } = linkedAbort(over.signal, handler.signal);
    const lease = (): Timer => this.#timing.after(LEASE_MS, () => over.abort(stopped("The claim expired.")));
    let timer = lease();
    over.signal.addEventListener("abort", () => timer.stop());
    try {
      for (;;) {
        await pause(this.#timing, RENEW_MS, signal);
        await this.#retry(signal, () =>
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

  /** The result of a handler whose `signal` is aborted still counts, with its files, until the call is `over`. */
  async #resultOf(action: ClientToolAction, signal: AbortSignal, over: AbortSignal): Promise<Result> {
    try {
      throwIfAborted(signal);
      let attachments: string[] | undefined;
      let attached = 0;
      const run: ToolRun = {
        sessionId: this.#sessionId,
        action,
        signal,
        attach: async (file, options) => {
          // The service would reject the output of a call that has run.
          if (attached === FILES_MAX) throw new Error(`A result may have at most ${FILES_MAX} files.`);
          attached += 1;
          try {
            const upload = { ...options, signal: over };
            const stored = await this.#operations.uploadFile(this.#sessionId, file, upload);
            (attachments ??= []).push(stored.id);
            return stored;
          } catch (error) {
            attached -= 1;
            throw error;
          }
        },
      };
      const output = await this.#handlers[action.tool]?.(action.request.input, run);
      // `undefined` becomes `null`. Throws if the output cannot be serialized as JSON.
      return { output: JSON.parse(JSON.stringify(output) ?? "null") as unknown, attachments };
    } catch (error) {
      return { error: errorText(error) };
    }
  }

  async #report(action: ClientToolAction, claim: string, result: Result, signal: AbortSignal): Promise<void> {
    const decide = (result: Result) =>
      this.#retry(signal, () =>
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
      // The service rejected the output, for example because it is too large.
      if (!(error instanceof ColloquyError && (error.status === 400 || error.status === 413))) throw error;
      await decide({ error: `The service rejected the output: ${errorText(error)}` });
    }
  }

  /** Retries a request until the service responds. Has no retry limit, unlike the transport. */
  async #retry<Result>(signal: AbortSignal, send: () => Promise<Result>): Promise<Result> {
    for (let failures = 1; ; failures += 1) {
      try {
        return await send();
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
  return wellFormed((message || name).slice(0, MAX_ERROR));
}

/** Removes a high surrogate at the end, which truncation may have split from its pair. */
function wellFormed(text: string): string {
  return /[\uD800-\uDBFF]$/.test(text) ? text.slice(0, -1) : text;
}
