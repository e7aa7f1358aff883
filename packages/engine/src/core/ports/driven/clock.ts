// The time source of the service. All code that waits or reads the time takes a `Clock`, so that tests
// advance time instead of sleeping. Implemented by `createSystemClock` (wiring/clock.ts).

export interface Clock {
  /** Wall-clock time in milliseconds since the Unix epoch. */
  now(): number;
  /** Monotonic time in milliseconds; only differences between values are meaningful. */
  monotonic(): number;
  /** Calls `callback` once after `ms` milliseconds. The timer does not keep the process alive. */
  after(ms: number, callback: () => void): Timer;
  /** Calls `callback` every `ms` milliseconds until stopped. The timer does not keep the process alive. */
  every(ms: number, callback: () => void): Timer;
  /** Resolves after `ms` milliseconds. Rejects with the signal's reason if the signal aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export interface Timer {
  stop(): void;
}
