/** Messages that a service could answer for, and those of them that it acknowledged. */
export interface Tally {
  asked: number;
  acknowledged: number;
}

/** What became of the messages of all sessions. */
export interface MessageCounts {
  sent: number;
  acknowledged: number;
  /** The session had too many that wait. These are in none of the tallies: nobody is left in doubt about them. */
  refused: number;
  /** Sent once, without an `Idempotency-Key`, whatever came of it. */
  sentOnce: number;
  /** Of these, those of which the answer said that nothing was changed. */
  unchanged: number;
  /** Of these, those of which nobody knows whether they were stored. */
  inDoubt: number;
  /** Those with a key, which are repeated: acknowledged is what was so within `PATIENCE_MS`. */
  readonly withKey: Tally;
  /** First requests of messages, whatever was being done to whom they met. */
  readonly firstTries: Tally;
  /** As above, those that met a server which nothing was being done to. */
  readonly firstTriesAtWhole: Tally;
}

/** People do not wait longer than this for a message to be accepted, in milliseconds. */
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

/** Not a number where nothing was asked. */
export function shareOf({ asked, acknowledged }: Readonly<Tally>): number {
  return acknowledged / asked;
}

/** Shares that several nodes must have acknowledged. */
const LEAST_ACKNOWLEDGED = {
  withKey: 0.9,
  firstTriesAtWhole: 0.9,
  // Clients go on asking nodes that are down, and no balancer spares them that: 65 to 78 % have been seen.
  firstTries: 0.5,
} as const;
const TALLIES = {
  withKey: "messages that were repeated",
  firstTriesAtWhole: "first tries that met a whole node",
  firstTries: "all first tries",
} as const;

/** Says of which messages several nodes have acknowledged fewer than they must. */
export function tooFewAcknowledged(counts: Readonly<MessageCounts>): readonly string[] {
  return (["withKey", "firstTriesAtWhole", "firstTries"] as const).flatMap((name) => {
    const [share, least] = [shareOf(counts[name]), LEAST_ACKNOWLEDGED[name]];
    if (share >= least) return [];
    const was = Number.isNaN(share) ? "none was sent" : `${(share * 100).toFixed(2)} % were`;
    return [`Of ${TALLIES[name]} at least ${least * 100} % have to be acknowledged: ${was}.`];
  });
}
