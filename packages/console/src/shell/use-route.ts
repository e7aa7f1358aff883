import { useSyncExternalStore } from "react";
import { hashOf, parseRoute, type Route } from "./route.ts";

/** Where one is; follows links and the buttons of the browser. */
export function useRoute(): Route {
  return parseRoute(useSyncExternalStore(listen, () => window.location.hash));
}

/** Goes there. With `replace`, the way back leads past the place that is left. */
export function goTo(route: Route, { replace = false } = {}): void {
  if (replace) window.location.replace(hashOf(route));
  else window.location.assign(hashOf(route));
}

function listen(changed: () => void): () => void {
  window.addEventListener("hashchange", changed);
  return () => window.removeEventListener("hashchange", changed);
}
