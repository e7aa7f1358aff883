import type { RateCounters, WindowCount } from "@colloquy/engine/internal/core/ports/driven/rate-counters";

/** Counters with configured results, which they return when `gate` opens. Record the requests. */
export class GatedCounters implements RateCounters {
  readonly asked: string[] = [];
  gate: Promise<void> = Promise.resolve();
  /** Milliseconds that every key must wait, as if it were over its limit; 0 accepts every request. */
  waitMs = 0;
  /** Keys without a free slot. */
  readonly full = new Set<string>();

  async take(key: string): Promise<WindowCount> {
    this.asked.push(`take ${key}`);
    await this.gate;
    return this.waitMs === 0 ? { count: 1, endsInMs: 60_000 } : { count: Infinity, endsInMs: this.waitMs };
  }

  async peek(key: string): Promise<WindowCount> {
    this.asked.push(`peek ${key}`);
    await this.gate;
    return this.waitMs === 0 ? { count: 0, endsInMs: 60_000 } : { count: Infinity, endsInMs: this.waitMs };
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
