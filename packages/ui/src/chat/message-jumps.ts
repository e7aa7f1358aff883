// Scrolls to a search result once its conversation is displayed.

/** A message to show. */
export interface MessageJump {
  readonly sessionId: string;
  readonly messageId: string;
}

/** The requested message; at most one. */
export class MessageJumps {
  #wanted: MessageJump | null = null;
  readonly #listeners = new Set<() => void>();

  readonly wanted = (): MessageJump | null => this.#wanted;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** `null` once the message is displayed, or if it does not exist. */
  readonly set = (jump: MessageJump | null): void => {
    this.#wanted = jump;
    for (const listener of this.#listeners) listener();
  };
}
