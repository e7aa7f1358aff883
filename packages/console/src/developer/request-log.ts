import type { Outcome, RecordedCall, RecordedRequest } from "./recorded-request.ts";

/** Maximum number of requests kept. */
const LONGEST = 300;

/** The latest requests, newest last. Fits `useSyncExternalStore`. */
export class RequestLog {
  #requests: readonly RecordedRequest[] = [];
  #made = 0;
  readonly #listeners = new Set<() => void>();

  readonly getSnapshot = (): readonly RecordedRequest[] => this.#requests;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** Returns the request's number. */
  begin(call: RecordedCall, startedAt: number): number {
    this.#made += 1;
    const request = { ...call, number: this.#made, startedAt, outcome: null };
    this.#set([...this.#requests, request].slice(-LONGEST));
    return request.number;
  }

  /** Ignores requests that are no longer kept. */
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
