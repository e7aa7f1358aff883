import type { RateCounters } from "../../core/ports/rate-counters.ts";

/** Counters that let everything through, or what `answer` says, when `gate` lets them answer; they keep what they were asked. */
export class GatedCounters implements RateCounters {
  readonly asked: string[] = [];
  gate: Promise<void> = Promise.resolve();
  /** Milliseconds that every key has to wait; 0 lets it through. */
  waitMs = 0;
  /** Keys that have no place left. */
  readonly full = new Set<string>();

  async take(key: string): Promise<number> {
    this.asked.push(`take ${key}`);
    await this.gate;
    return this.waitMs;
  }

  async hold(key: string): Promise<boolean> {
    this.asked.push(`hold ${key}`);
    await this.gate;
    return this.waitMs === 0 && !this.full.has(key);
  }

  release(key: string): void {
    this.asked.push(`release ${key}`);
  }

  async close(): Promise<void> {}
}
