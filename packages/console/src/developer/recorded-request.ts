// Requests as the developer panel stores them. Secrets are removed before recording, so that nothing that
// shows or copies a request can leak them.

export interface RecordedHeader {
  readonly name: string;
  /** The value; if `variable` is set, only what precedes the secret. */
  readonly value: string;
  /** Name of the shell variable that replaces the secret, `null` if there is none. */
  readonly variable: string | null;
}

export interface RecordedCall {
  readonly method: string;
  /** Absolute. */
  readonly url: string;
  readonly headers: readonly RecordedHeader[];
  readonly body: string | null;
}

/** The outcome of a request. */
export interface Outcome {
  /** 0 if there was no response. */
  readonly status: number;
  /** Milliseconds until the response headers. */
  readonly durationMs: number;
  /** Id of the request in the service's log, `null` if the response has none. */
  readonly requestId: string | null;
  /** Why there was no response, `null` if there was one. */
  readonly failure: string | null;
}

export interface RecordedRequest extends RecordedCall {
  /** Counts requests from 1. */
  readonly number: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** `null` while pending. */
  readonly outcome: Outcome | null;
}

/** Headers that carry secrets, in lower case. */
const SECRET_HEADERS: Readonly<Record<string, string>> = {
  "service-app-key": "COLLOQUY_APP_KEY",
  authorization: "COLLOQUY_ADMIN_KEY",
};

/** Removes secrets: keys in headers, and values sent to `/api/secrets`. */
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

/** Replaces the whole body if it does not have the expected shape: a secret may be anywhere in it. */
function withoutValues(body: string): string {
  try {
    const values: unknown = JSON.parse(body);
    if (typeof values === "object" && values !== null && !Array.isArray(values))
      return JSON.stringify(
        Object.fromEntries(Object.keys(values).map((name) => [name, `<value of ${name}>`])),
      );
  } catch {
    // Not JSON: replace the whole body.
  }
  return "<secrets>";
}
