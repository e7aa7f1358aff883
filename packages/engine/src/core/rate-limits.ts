// Rate limits of a public service (contract section 6).

export const DEFAULT_RATE_LIMITS = {
  chatsPerMinute: 60,
  keyChatsPerMinute: 6_000,
  // An office behind one address: 120 people may open the service within a minute. Empty sessions expire after an hour.
  newSessionsPerMinute: 120,
  // 50 tabs that poll twice a second are 6,000 a minute.
  readsPerMinute: 30_000,
  sessionReadsPerMinute: 12_000,
  // Each write may store up to 8 KiB of user state, in the session and in its events.
  writesPerMinute: 1_200,
  sessionWritesPerMinute: 240,
  // Four copies of a conversation of 30 MiB. Nobody makes that many in a minute; messages and changes need much less.
  writtenBytesPerMinute: 128 * 1024 * 1024,
  // Eight such callers, of which four may copy. A short message counts 59 KiB: 17,000 a minute.
  appWrittenBytesPerMinute: 1024 * 1024 * 1024,
  streamsPerAddress: 100,
  streamsPerSession: 10,
  connectionsPerAddress: 256,
  // Three bodies of the largest size at once: a conversation of 16 MiB that useChat sends.
  bodyBytesPerAddress: 64 * 1024 * 1024,
};

/** Limits by setting of the configuration file, which explains each. */
export type RateLimits = Readonly<Record<keyof typeof DEFAULT_RATE_LIMITS, number>>;

/** Limits that an App may override. */
export type AppRateLimits = Pick<
  RateLimits,
  "chatsPerMinute" | "keyChatsPerMinute" | "writtenBytesPerMinute" | "appWrittenBytesPerMinute"
>;
