// When text that streams is stored: in time for whoever looks at it elsewhere, which a slow store has to be asked sooner for.

/** Text that streams is on disk at most so many milliseconds after it was said (contract section 3). */
const WITHIN_MS = 250;
/** Its commit begins sooner where the one before took long, but a store that cannot keep up is not asked ever more often. */
const MOST_MS = 200;
const LEAST_MS = 100;
const SPARE_MS = 10;

/** Milliseconds after which text is to be checkpointed, where the checkpoint before took `tookMs`. */
export function checkpointAfter(tookMs: number): number {
  return Math.max(LEAST_MS, Math.min(MOST_MS, WITHIN_MS - SPARE_MS - tookMs));
}
