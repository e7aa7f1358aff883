// Sends the requests of one session or user: once, or until they are answered.

import { setTimeout as sleep } from "node:timers/promises";
import type { Answer, HttpClient, RequestOptions } from "./harness/http-request.ts";
import type { Random } from "./harness/random.ts";

export interface RequestContext {
  readonly client: HttpClient;
  /** Aborted when nothing may be sent any more, answered or not. */
  readonly giveUp: AbortSignal;
  /**
   * Whether a request without an answer may take effect after later ones were answered: its server may only
   * be paused.
   */
  readonly isCarriedOutLate: boolean;
  /** Changes with every fault of the server behind a port; `null` during a fault. */
  readonly wholeness: (port: number) => number | null;
}

/** The outcome of one request. */
export interface Tried {
  /** `null` if the connection broke or timed out. */
  readonly answer: Answer | null;
  /** Whether its server had no fault from start to end. */
  readonly metWhole: boolean;
}

export interface Persisted {
  readonly answer: Answer;
  /** Moment at which the answered request was sent. */
  readonly asked: number;
  readonly attempts: number;
  readonly isLate: boolean;
  readonly first: Tried;
}

export class SessionRequests {
  readonly #context: RequestContext;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #random: Random;

  /** `headers` of every request name the session, the user, or both. */
  constructor(context: RequestContext, headers: Readonly<Record<string, string>>, random: Random) {
    this.#context = context;
    this.#headers = headers;
    this.#random = random;
  }

  async once(path: string, options: RequestOptions): Promise<Tried> {
    const { client, giveUp, wholeness } = this.#context;
    giveUp.throwIfAborted();
    let met: { readonly port: number; readonly before: number | null } | null = null;
    const onPort = (port: number): void => {
      met = { port, before: wholeness(port) };
    };
    const headers = { ...this.#headers, ...options.headers };
    const answer = await client.request(path, { ...options, headers, onPort }).catch(() => null);
    return { answer, metWhole: met !== null && stayedWhole(met, wholeness) };
  }

  /**
   * Repeats a request until the answer is something other than "not now". `moment` is taken before each
   * attempt; `onWrong` receives forbidden answers.
   */
  async persist(
    path: string,
    options: RequestOptions,
    moment: () => number,
    onWrong: (answer: Answer) => void,
  ): Promise<Persisted> {
    let first: Tried | null = null;
    let isLate = false;
    for (let attempts = 1; ; attempts += 1) {
      const asked = moment();
      const tried = await this.once(path, options);
      first ??= tried;
      const { answer } = tried;
      if (answer !== null && answer.status >= 500 && answer.status !== 503) onWrong(answer);
      if (answer !== null && answer.status < 500) return { answer, asked, attempts, isLate, first };
      if (answer === null) isLate = this.#context.isCarriedOutLate;
      await sleep(20 + this.#random.next() * 60);
    }
  }
}

function stayedWhole(
  { port, before }: { readonly port: number; readonly before: number | null },
  wholeness: RequestContext["wholeness"],
): boolean {
  return before !== null && wholeness(port) === before;
}
