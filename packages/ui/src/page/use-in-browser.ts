import { useSyncExternalStore } from "react";

const neverChanges = (): (() => void) => () => undefined;

/** Returns false on a server and during hydration, then true. */
export function useInBrowser(): boolean {
  return useSyncExternalStore(
    neverChanges,
    () => true,
    () => false,
  );
}
