// Errors of failed requests. One handler converts them to problem+json. Failures of models and tools are
// values instead.

export interface ServiceErrorOptions {
  readonly cause?: unknown;
  /** Response headers, such as `Retry-After` in seconds. */
  readonly headers?: Readonly<Record<string, string>>;
}

export class ServiceError extends Error {
  readonly status: number;
  /** Stable snake_case code on the wire (contract section 6). */
  readonly code: string;
  /** One or two user-facing sentences that say what to do. */
  readonly detail: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, code: string, detail: string, options: ServiceErrorOptions = {}) {
    super(`${code}: ${detail}`, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.status = status;
    this.code = code;
    this.detail = detail;
    this.headers = options.headers ?? {};
  }
}

/** Error 400: a parameter, header or body is missing or invalid. */
export class InvalidRequest extends ServiceError {
  constructor(code: string, detail: string, options?: ServiceErrorOptions) {
    super(400, code, detail, options);
  }
}

/** Error 404: the resource does not exist. */
export class NotFound extends ServiceError {
  constructor(code: string, detail: string, options?: ServiceErrorOptions) {
    super(404, code, detail, options);
  }
}

/** Error 409: the request conflicts with the session's state. */
export class Conflict extends ServiceError {
  constructor(code: string, detail: string, options?: ServiceErrorOptions) {
    super(409, code, detail, options);
  }
}

/** Returns the 429 for a session with too many open event streams. */
export function tooManyStreams(limit: number): ServiceError {
  const detail = `This session has ${limit} open event streams. Close one of them, or share one between subscribers.`;
  return new ServiceError(429, "too_many_streams", detail, { headers: { "retry-after": "10" } });
}

/** Error 503 or 507: the client may repeat the request after `retryAfter` seconds. */
export class Unavailable extends ServiceError {
  constructor(status: 503 | 507, code: string, detail: string, retryAfter: number, cause?: unknown) {
    super(status, code, detail, { cause, headers: { "retry-after": String(retryAfter) } });
  }
}

/** Error 503: the write may have succeeded, because the connection broke during it or its result could not be read. */
export class OutcomeUnknown extends Unavailable {}

const DONE_BUT_NOT_SHOWN =
  "What you sent was stored, but its result cannot be read at the moment. Fetch the state before you send anything again.";

/** Rethrows an error that occurred after a commit, as `OutcomeUnknown` if it was `Unavailable`. */
export function throwAfterCommit(error: unknown): never {
  if (!(error instanceof Unavailable) || error instanceof OutcomeUnknown) throw error;
  throw new OutcomeUnknown(503, "stored_not_shown", DONE_BUT_NOT_SHOWN, 1, error);
}

/** Returns the 403 for an operation that requires proof of the wallet. */
export function walletNotProved(): ServiceError {
  const detail = "This needs proof that you hold the wallet. Sign in with it, and send the token.";
  return new ServiceError(403, "wallet_not_proved", detail);
}

/** Returns the 404 for a session that does not exist or belongs to another user. */
export function unknownSession(): NotFound {
  return new NotFound(
    "session_not_found",
    "There is no session with this id. Check it, or create the session first.",
  );
}

/** Error 404: the session was deleted, a short time ago or while the request was answered. */
export class SessionDeleted extends NotFound {
  constructor() {
    super(
      "session_deleted",
      "This conversation was deleted. Start a new one, or send a message to begin anew under this id.",
    );
  }
}

/**
 * The session belongs to an App for which the request was not authorized. `Caller.run` (http/access/caller.ts)
 * catches it and retries; the second time it becomes a 503.
 */
export class OtherApp extends Unavailable {
  constructor() {
    super(503, "app_changed", "This session has come to another App meanwhile. Send the request again.", 1);
  }
}

/** Error 401: the App was removed from the configuration (contract section 4). */
export class AppGone extends ServiceError {
  constructor() {
    super(401, "app_key_invalid", "This App is not offered any more. Start a new session with another App.", {
      headers: { "www-authenticate": 'ServiceAppKey realm="colloquy", header="SERVICE-APP-KEY"' },
    });
  }
}

/** Thrown by CLI commands that need an existing database. */
export class NoDatabase extends Error {
  constructor(directory: string) {
    super(
      `There is no Colloquy database in ${directory} yet. If the service keeps its data elsewhere, name that directory with COLLOQUY_DATA_DIR.`,
    );
  }
}
