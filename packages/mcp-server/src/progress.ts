// Sends progress notifications while a call waits.

const INTERVAL_MS = 500;
/**
 * Number of intervals without new text after which the text is sent again: clients time out without notifications.
 */
const SILENT_INTERVALS = 20;
/** Maximum characters of the text in a notification. */
const SHOWN_CHARACTERS = 200;

/**
 * Sends the end of `text` as the message of progress notifications. Their `progress` counts the notifications,
 * because MCP requires it to increase.
 */
export class Progress {
  /** Text of the answer so far. */
  text = "";
  readonly #notify: ((progress: number, message: string) => Promise<void>) | null;
  #count = 0;
  #shown = "";
  #silent = 0;
  #timer: NodeJS.Timeout | null = null;

  /** `notify` is `null` if the client has requested no progress. */
  constructor(notify: ((progress: number, message: string) => Promise<void>) | null) {
    this.#notify = notify;
  }

  /** Sends `message`, then the text in intervals until `end`. */
  begin(message: string): void {
    if (this.#notify === null) return;
    this.#send(message);
    this.#timer = setInterval(() => this.#tick(), INTERVAL_MS);
  }

  end(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  #tick(): void {
    const shown = this.text.slice(-SHOWN_CHARACTERS).toWellFormed();
    this.#silent += 1;
    if (shown === this.#shown && this.#silent < SILENT_INTERVALS) return;
    this.#shown = shown;
    this.#send(shown);
  }

  #send(message: string): void {
    this.#silent = 0;
    this.#count += 1;
    // Rejects if the client has disconnected.
    this.#notify?.(this.#count, message).catch(() => undefined);
  }
}
