import type { Outcome, RecordedCall, RecordedRequest } from "./recorded-request.ts";

/** Calls that are kept. */
const LONGEST = 300;

/** The last calls that were made, newest last. Fits `useSyncExternalStore`. */
export class RequestLog {
  #requests: readonly RecordedRequest[] = [];
  #made = 0;
  readonly #listeners = new Set<() => void>();

  readonly getSnapshot = (): readonly RecordedRequest[] => this.#requests;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** Answers the call's number. */
  begin(call: RecordedCall, startedAt: number): number {
    this.#made += 1;
    const request = { ...call, number: this.#made, startedAt, outcome: null };
    this.#set([...this.#requests, request].slice(-LONGEST));
    return request.number;
  }

  /** A call that is not kept any more is none's business. */
  end(number: number, outcome: Outcome): void {
    this.#set(
      this.#requests.map((request) => (request.number === number ? { ...request, outcome } : request)),
    );
  }

  clear(): void {
    this.#set([]);
  }

  #set(requests: readonly RecordedRequest[]): void {
    this.#requests = requests;
    for (const listener of this.#listeners) listener();
  }
}
