// Reads the delay that a provider requests before a retry.

/** Headers with lower-case names, as the SDK returns them. */
type Headers = Readonly<Record<string, string | undefined>>;

/**
 * Returns the requested delay in milliseconds, or `undefined` if there is none: `retry-after-ms` (OpenAI), `Retry-After` in seconds
 * or as a date (RFC 9110 section 10.2.3), or Google's `retryDelay` in the body. A date is relative to the response's own `Date`, so
 * that the clocks need not agree.
 *
 * @param now milliseconds since the Unix epoch, used if the response has no `Date`
 */
export function retryAfter(
  headers: Headers | undefined,
  body: string | undefined,
  now: number,
): number | undefined {
  const milliseconds = readNumber(headers?.["retry-after-ms"]);
  if (milliseconds !== undefined) return Math.ceil(milliseconds);
  const value = headers?.["retry-after"];
  const seconds = readNumber(value) ?? readNumber(/"retryDelay"\s*:\s*"([\d.]+)s"/.exec(body ?? "")?.[1]);
  if (seconds !== undefined) return Math.ceil(seconds * 1_000);
  const date = readDate(value);
  return date === undefined ? undefined : Math.max(0, date - (readDate(headers?.["date"]) ?? now));
}

/** Parses an HTTP date. It must start with a weekday: `Date.parse` also accepts "-5". */
function readDate(value: string | undefined): number | undefined {
  const date = /^\s*[a-z]{3,9},? /i.test(value ?? "") ? Date.parse(value ?? "") : Number.NaN;
  return Number.isNaN(date) ? undefined : date;
}

/** Parses a non-negative decimal number; `Number` alone would also accept "" and "0x10". */
function readNumber(value: string | undefined): number | undefined {
  const text = value?.trim() ?? "";
  return /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : undefined;
}
