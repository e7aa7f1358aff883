import type { Client } from "@modelcontextprotocol/client";

/** Counts the uses of each client, so that a replaced client is closed when its last use has ended. */
export class ClientUses {
  readonly #uses = new Map<Client, number>();
  readonly #isCurrent: (client: Client) => boolean;

  constructor(isCurrent: (client: Client) => boolean) {
    this.#isCurrent = isCurrent;
  }

  get clients(): readonly Client[] {
    return [...this.#uses.keys()];
  }

  async during<Result>(client: Client, work: () => Promise<Result>): Promise<Result> {
    this.#uses.set(client, (this.#uses.get(client) ?? 0) + 1);
    try {
      return await work();
    } finally {
      const uses = (this.#uses.get(client) ?? 1) - 1;
      if (uses > 0) this.#uses.set(client, uses);
      else {
        this.#uses.delete(client);
        if (!this.#isCurrent(client)) this.closeUnused(client);
      }
    }
  }

  /** Closes a client that is not in use. */
  closeUnused(client: Client): void {
    if (!this.#uses.has(client)) void client.close().catch(() => undefined);
  }
}
