// What carries texts between the nodes of a cluster. It knows nothing of what they say, and promises little: a text that is lost is no harm,
// one that comes is whole, and those of one node come in the order in which it sent them.

/** A text for the nodes that follow a session, or for all of them. */
export interface Packet {
  /** `null`: for every node. */
  readonly sessionId: string | null;
  readonly text: string;
}

export interface TransportReceiver {
  /** A text from some node, of this one too where the transport cannot leave those out, and of sessions that nobody here follows. */
  onText(text: string): void;
  /** Texts may have been lost until now; from here on they come. Also after the first connection. */
  onResumed(): void;
}

export interface Transport {
  /** Bytes, in UTF-8, that one text may have. */
  readonly maxBytes: number;
  /** Connects, and goes on doing so for as long as it takes. Called once. */
  start(receiver: TransportReceiver): void;
  /** Whether texts can be sent now. */
  readonly isReady: boolean;
  /** Resolves with true when texts can be sent, with false when the transport is closed. */
  ready(): Promise<boolean>;
  /** Resolves when the other side has answered on every connection; rejects, in a bounded time, when there is none or it does not. */
  check(): Promise<void>;
  /** Sends in this order. Rejects when not all of them may have gone, after a bounded time, and then is not ready before it has connected anew. */
  send(packets: readonly Packet[]): Promise<void>;
  /** Resolves when texts of the session come, or when it is known that there is no connection; they come with the next one then. */
  follow(sessionId: string): Promise<void>;
  unfollow(sessionId: string): void;
  /** Ends every connection and timer, in a bounded time. */
  close(): Promise<void>;
}
