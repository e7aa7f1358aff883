// Keeps the session id in the URL's hash. Session ids are capabilities, and browsers do not send the hash, so
// that ids do not appear in server logs and referrers.

import { useSyncExternalStore } from "react";
import type { Address } from "../chat/page-context.tsx";

const hrefOf: Address["hrefOf"] = (id) => `#${id ?? ""}`;
const shown = (): string | null => window.location.hash.slice(1) || null;

/** `#ID` shows a conversation, and an empty hash starts one. */
export const hashAddress: Address = {
  hrefOf,
  open: (id, { replace = false } = {}) => {
    if (replace) window.location.replace(hrefOf(id));
    else window.location.assign(hrefOf(id));
  },
  shown,
};

/** Returns the conversation in the hash, and follows links and the browser's back and forward buttons. */
export function useHashSession(): string | null {
  return useSyncExternalStore(listen, shown, () => null);
}

function listen(changed: () => void): () => void {
  window.addEventListener("hashchange", changed);
  return () => window.removeEventListener("hashchange", changed);
}
