import { useCallback, useState } from "react";

/** Not specific to a service: the user's preference applies to all services of the origin. */
const STORAGE_KEY = "colloquy.sidebar";
const COLLAPSED = "collapsed";

/** Returns whether the sidebar is hidden, and a function that changes and stores it in this browser. */
export function useCollapsed(): readonly [boolean, (isCollapsed: boolean) => void] {
  const [isCollapsed, setCollapsed] = useState(stored);
  const choose = useCallback((chosen: boolean) => {
    setCollapsed(chosen);
    try {
      if (chosen) window.localStorage.setItem(STORAGE_KEY, COLLAPSED);
      else window.localStorage.removeItem(STORAGE_KEY);
    } catch {
      // Storage is unavailable: the choice lasts until the page is closed.
    }
  }, []);
  return [isCollapsed, choose];
}

function stored(): boolean {
  try {
    return window.localStorage.getItem(STORAGE_KEY) === COLLAPSED;
  } catch {
    return false;
  }
}
