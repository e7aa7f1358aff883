// Carries opaque texts between the nodes of a cluster. Delivery is best effort: texts may be lost, but arrive
// whole and in the order in which each node sent them.

/** A text for the nodes that follow a session, or for all nodes. */
export interface Packet {
  /** Session whose followers receive the text; `null` sends it to every node. */
  readonly sessionId: string | null;
  readonly text: string;
}

export interface TransportReceiver {
  /** Receives a text. It may come from this node, or concern a session that this node does not follow. */
  onText(text: string): void;
  /** Texts may have been lost before this call, but not after it. Also called after the first connect. */
  onResumed(): void;
}

export interface Transport {
  /** Maximum UTF-8 bytes of one text. */
  readonly maxBytes: number;
  /** Connects, and reconnects until closed. Called once. */
  start(receiver: TransportReceiver): void;
  /** True if texts can be sent now. */
  readonly isReady: boolean;
  /** Resolves with true when texts can be sent, with false when the transport is closed. */
  ready(): Promise<boolean>;
  /** Resolves when the server has answered on every connection; rejects, in bounded time, if it does not. */
  check(): Promise<void>;
  /**
   * Sends in this order. Rejects, in bounded time, if some may be lost; the transport is then not ready until
   * it has reconnected.
   */
  send(packets: readonly Packet[]): Promise<void>;
  /**
   * Resolves when texts of the session arrive, or when there is no connection; the next connection then
   * delivers them.
   */
  follow(sessionId: string): Promise<void>;
  unfollow(sessionId: string): void;
  /** Closes every connection and timer, in bounded time. */
  close(): Promise<void>;
}
