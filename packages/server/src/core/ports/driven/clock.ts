// The clock of the service. All code that waits or reads the time takes a `Clock`, so that tests can advance
// it past a deadline instead of sleeping. Implemented by `createSystemClock` (wiring/clock.ts).

export interface Clock {
  /** Wall-clock time in milliseconds since the Unix epoch. */
  now(): number;
  /** Milliseconds on a clock that never goes back; only differences between values are meaningful. */
  monotonic(): number;
  /** Calls `callback` once after `ms` milliseconds. The timer keeps no process alive. */
  after(ms: number, callback: () => void): Timer;
  /** Calls `callback` every `ms` milliseconds until stopped. The timer keeps no process alive. */
  every(ms: number, callback: () => void): Timer;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason when it is aborted before. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export interface Timer {
  stop(): void;
}
