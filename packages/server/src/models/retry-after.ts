// How long a provider asks to wait before the next try.

/** Headers with their names in lower case, as the SDK gives them. */
type Headers = Readonly<Record<string, string | undefined>>;

/**
 * Milliseconds that a failed answer asks to wait, `undefined` when it does not say: `retry-after-ms` (OpenAI), `Retry-After` in
 * seconds or as a date (RFC 9110 section 10.2.3; a date is taken against the answer's own `Date`, so that clocks need not agree), or
 * Google's `retryDelay` in the body.
 *
 * @param now milliseconds since the Unix epoch, for a date in an answer that has none itself
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

/** An HTTP date, which begins with the day's name; the platform would take "-5" for a date as well. */
function readDate(value: string | undefined): number | undefined {
  const date = /^\s*[a-z]{3,9},? /i.test(value ?? "") ? Date.parse(value ?? "") : Number.NaN;
  return Number.isNaN(date) ? undefined : date;
}

/** A number that is not negative; nothing else, because `Number("")` and `Number("0x10")` are numbers too. */
function readNumber(value: string | undefined): number | undefined {
  const text = value?.trim() ?? "";
  return /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : undefined;
}
