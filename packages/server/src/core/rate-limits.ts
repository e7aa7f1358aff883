// How often clients may ask where the service is public (contract section 6). The configuration file may change each number.

/** What an App may have of its own. Messages of an App without a key count by address. */
export interface AppRateLimits {
  /** Messages a minute of one caller: an address, an App key, or behind a trusted proxy one client or session of an App key. */
  readonly chatsPerMinute: number;
  /** Messages a minute of one App key, where they are counted for each of its clients or sessions. */
  readonly keyChatsPerMinute: number;
}

export interface RateLimits extends AppRateLimits {
  /** By address. */
  readonly newSessionsPerMinute: number;
  /** Requests of any kind under `/api`, by address. */
  readonly readsPerMinute: number;
  /** The same, by session. */
  readonly sessionReadsPerMinute: number;
  /** Requests that change something, without messages, by address. */
  readonly writesPerMinute: number;
  /** The same, by session. */
  readonly sessionWritesPerMinute: number;
  /** Open at the same time, by address. */
  readonly streamsPerAddress: number;
  /** Open at the same time, by session. */
  readonly streamsPerSession: number;
  /** Open at the same time, by address; those of trusted proxies are not counted. */
  readonly connectionsPerAddress: number;
}

export const DEFAULT_RATE_LIMITS: RateLimits = {
  chatsPerMinute: 60,
  keyChatsPerMinute: 6_000,
  // An office behind one address: 120 people may open the service within a minute. What they leave empty goes after an hour.
  newSessionsPerMinute: 120,
  // 50 tabs that poll twice a second are 6,000 a minute.
  readsPerMinute: 30_000,
  sessionReadsPerMinute: 12_000,
  // At most 8 KiB of user state each, in the session and in its events.
  writesPerMinute: 1_200,
  sessionWritesPerMinute: 240,
  streamsPerAddress: 100,
  streamsPerSession: 10,
  connectionsPerAddress: 256,
};
