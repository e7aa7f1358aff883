import { useSyncExternalStore } from "react";
import { hashOf, parseRoute, type Route } from "./route.ts";

/** Returns the current route; follows links and the browser's buttons. */
export function useRoute(): Route {
  return parseRoute(useSyncExternalStore(listen, () => window.location.hash));
}

/** Navigates to a route. `replace` replaces the current history entry. */
export function goTo(route: Route, { replace = false } = {}): void {
  if (replace) window.location.replace(hashOf(route));
  else window.location.assign(hashOf(route));
}

function listen(changed: () => void): () => void {
  window.addEventListener("hashchange", changed);
  return () => window.removeEventListener("hashchange", changed);
}
