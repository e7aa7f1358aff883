// The result of one check of `colloquy doctor`.

/** `skipped` means that another problem prevented the check, or that the part is not used. */
export type Health = "ok" | "warning" | "broken" | "skipped";

export interface Finding {
  /** The checked part: `configuration`, `data directory`, `database`, `clock`, `bus`, `keys`, `tools`, `proxy` or `model`. */
  readonly about: string;
  readonly health: Health;
  /** The result, as a sentence. */
  readonly found: string;
  /** How to fix it; `null` if nothing is wrong. */
  readonly mend: string | null;
  /** Lines about the found parts, such as the tools of a source. */
  readonly details?: readonly string[];
}

export function ok(about: string, found: string): Finding {
  return { about, health: "ok", found, mend: null };
}

export function skipped(about: string, found: string): Finding {
  return { about, health: "skipped", found, mend: null };
}

export function warning(about: string, found: string, mend: string): Finding {
  return { about, health: "warning", found, mend };
}

export function broken(about: string, found: string, mend: string): Finding {
  return { about, health: "broken", found, mend };
}

/** Like `broken`, with the error message appended to `what`. */
export function failed(about: string, what: string, error: unknown, mend: string): Finding {
  const reason = error instanceof Error ? error.message : String(error);
  return broken(about, `${what}: ${reason}`, mend);
}

/** Describes an error with a user-facing message, whose first sentence is the problem and whose others are the remedy. */
export function refused(about: string, error: unknown): Finding {
  const [what = "", ...mend] = (error instanceof Error ? error.message : String(error)).split(/(?<=\.) /);
  return broken(about, what, mend.join(" ") || "See the log of its server.");
}
