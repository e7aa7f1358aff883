/** Messages that the service could answer, and how many it acknowledged. */
export interface Tally {
  asked: number;
  acknowledged: number;
}

/** Outcomes of the messages of all sessions. */
export interface MessageCounts {
  sent: number;
  acknowledged: number;
  /** Rejected because the queue was full; not counted below, because the outcome is certain. */
  refused: number;
  /** Sent once without an `Idempotency-Key`, with any outcome. */
  sentOnce: number;
  /** Of these, reported as not stored. */
  unchanged: number;
  /** Of these, with an unknown outcome. */
  inDoubt: number;
  /** Sent with a key and repeated; acknowledged means within `PATIENCE_MS`. */
  readonly withKey: Tally;
  /** First attempts, whatever state the server was in. */
  readonly firstTries: Tally;
  /** First attempts at a server without a fault. */
  readonly firstTriesAtWhole: Tally;
}

/** Milliseconds after which people no longer wait for a message to be accepted. */
export const PATIENCE_MS = 10_000;

export function countMessages(): MessageCounts {
  return {
    sent: 0,
    acknowledged: 0,
    refused: 0,
    sentOnce: 0,
    unchanged: 0,
    inDoubt: 0,
    withKey: { asked: 0, acknowledged: 0 },
    firstTries: { asked: 0, acknowledged: 0 },
    firstTriesAtWhole: { asked: 0, acknowledged: 0 },
  };
}

export function count(tally: Tally, isAcknowledged: boolean): void {
  tally.asked += 1;
  if (isAcknowledged) tally.acknowledged += 1;
}

/** NaN if nothing was sent. */
export function shareOf({ asked, acknowledged }: Readonly<Tally>): number {
  return acknowledged / asked;
}

/** Minimum shares of acknowledged messages on several nodes. */
const LEAST_ACKNOWLEDGED = {
  withKey: 0.9,
  firstTriesAtWhole: 0.9,
  // Clients keep using failed nodes, without a balancer that avoids them: 65 to 78 % were measured.
  firstTries: 0.5,
} as const;
const TALLIES = {
  withKey: "repeated messages",
  firstTriesAtWhole: "first attempts at a node without a fault",
  firstTries: "all first attempts",
} as const;

/** Returns a sentence for each share below its minimum. */
export function tooFewAcknowledged(counts: Readonly<MessageCounts>): readonly string[] {
  return (["withKey", "firstTriesAtWhole", "firstTries"] as const).flatMap((name) => {
    const [share, least] = [shareOf(counts[name]), LEAST_ACKNOWLEDGED[name]];
    if (share >= least) return [];
    const was = Number.isNaN(share) ? "none was sent" : `${(share * 100).toFixed(2)} % were`;
    return [`At least ${least * 100} % of ${TALLIES[name]} must be acknowledged: ${was}.`];
  });
}
