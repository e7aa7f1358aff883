// Status of a message that the service does not have yet.

import { useEffect, useState, useSyncExternalStore, type ReactNode } from "react";

/** Status of a message in flight. */
export const SENDING = "sending";

/** Milliseconds before the first status text appears, and before it becomes longer. */
export const SHORT_MS = 400;
const LONG_MS = 2_000;

/** Shows a status text that depends on the time since the first render. */
export function SendingState(): ReactNode {
  const isOffline = useSyncExternalStore(onNetwork, () => !window.navigator.onLine);
  const [waited, setWaited] = useState<"short" | "noticed" | "long">("short");
  useEffect(() => {
    const timers = [
      setTimeout(() => setWaited("noticed"), SHORT_MS),
      setTimeout(() => setWaited("long"), LONG_MS),
    ];
    return () => timers.forEach(clearTimeout);
  }, []);
  if (waited === "short") return null;
  return (
    <span className="cq-message-state" role="status" aria-label="Sending">
      Sending…{isOffline && " This device is offline."}
      {!isOffline && waited === "long" && " The service has not answered yet."}
    </span>
  );
}

function onNetwork(changed: () => void): () => void {
  window.addEventListener("online", changed);
  window.addEventListener("offline", changed);
  return () => {
    window.removeEventListener("online", changed);
    window.removeEventListener("offline", changed);
  };
}
