// A call as the developer panel keeps it. Secrets are taken out before it is made, so that nothing that shows or copies it can leak them.

export interface RecordedHeader {
  readonly name: string;
  /** What is sent; where `variable` is set only what stands before the secret. */
  readonly value: string;
  /** Name of the shell variable that stands for the secret, `null` where there is none. */
  readonly variable: string | null;
}

export interface RecordedCall {
  readonly method: string;
  /** Absolute. */
  readonly url: string;
  readonly headers: readonly RecordedHeader[];
  readonly body: string | null;
}

/** How a call went. */
export interface Outcome {
  /** 0 where there was no answer. */
  readonly status: number;
  /** Milliseconds until the answer began. */
  readonly durationMs: number;
  /** Id under which the service's log has it, `null` where no answer named one. */
  readonly requestId: string | null;
  /** Why there was no answer, `null` where there was one. */
  readonly failure: string | null;
}

export interface RecordedRequest extends RecordedCall {
  /** Counts from 1 in the order in which calls were made. */
  readonly number: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** `null` while nothing is known. */
  readonly outcome: Outcome | null;
}

/** The headers that carry secrets, by their name in lower case. */
const SECRET_HEADERS: Readonly<Record<string, string>> = {
  "service-app-key": "COLLOQUY_APP_KEY",
  authorization: "COLLOQUY_ADMIN_KEY",
};

/** A call without its secrets: keys in headers, and the values that go to `/api/secrets`. */
export function withoutSecrets(call: {
  readonly method: string;
  readonly url: string;
  readonly headers: Iterable<readonly [string, string]>;
  readonly body: string | null;
}): RecordedCall {
  const { method, url, headers, body } = call;
  return {
    method,
    url,
    headers: Array.from(headers, ([name, value]) => withoutKey(name, value)),
    body: body !== null && new URL(url).pathname.endsWith("/api/secrets") ? withoutValues(body) : body,
  };
}

function withoutKey(name: string, value: string): RecordedHeader {
  const variable = SECRET_HEADERS[name.toLowerCase()];
  if (variable === undefined) return { name, value, variable: null };
  const scheme = /^[A-Za-z]+ (?=.)/.exec(value)?.[0] ?? "";
  return { name, value: name.toLowerCase() === "authorization" ? scheme : "", variable };
}

/** What is not the object that it should be goes as a whole: a secret may stand anywhere in it. */
function withoutValues(body: string): string {
  try {
    const values: unknown = JSON.parse(body);
    if (typeof values === "object" && values !== null && !Array.isArray(values))
      return JSON.stringify(
        Object.fromEntries(Object.keys(values).map((name) => [name, `<value of ${name}>`])),
      );
  } catch {
    // Falls through to the whole.
  }
  return "<secrets>";
}
