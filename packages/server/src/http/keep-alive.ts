/** Milliseconds for which a connection is kept for the next request: longer than the 60 s after which common proxies drop theirs. */
export const KEEP_ALIVE_MS = 72_000;
