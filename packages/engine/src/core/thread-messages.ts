// Receives messages of worker threads. `node --watch` sends its own messages over the same port.

/** The part of `Worker` used here. */
interface Sender {
  on(event: "message", listener: (message: object | null) => void): unknown;
  off(event: "message", listener: (message: object | null) => void): unknown;
}

/** Calls `listener` with each message except Node's own. Returns a function that unsubscribes. */
export function onThreadMessage(worker: Sender, listener: (message: unknown) => void): () => void {
  const pass = (message: object | null): void => {
    const isOfNode = message !== null && ("watch:import" in message || "watch:require" in message);
    if (!isOfNode) listener(message);
  };
  worker.on("message", pass);
  return () => void worker.off("message", pass);
}
