import type { Client, Page } from "@colloquy/client";
import { useEffect, useState } from "react";
import { serviceStorageKey } from "@colloquy/ui/parts";

/**
 * Returns the public settings of the client's App: `undefined` until they are first known, `null` if the
 * service is unreachable. Caches them in this browser, so that a reload shows the branding at once. `onRead`
 * receives each response of the service.
 */
export function usePage(client: Client, app: string, onRead: (page: Page) => void): Page | null | undefined {
  const [page, setPage] = useState(() => remembered(app));
  useEffect(() => {
    let isCurrent = true;
    client.getPage().then(
      (next) => {
        remember(next);
        if (!isCurrent) return;
        setPage(next);
        onRead(next);
      },
      () => {
        if (isCurrent) setPage((before) => before ?? null);
      },
    );
    return () => void (isCurrent = false);
  }, [client, onRead]);
  return page;
}

function entryOf(app: string): string {
  return serviceStorageKey(`colloquy.page.${app}`, window.location);
}

function remembered(app: string): Page | null | undefined {
  try {
    const page = JSON.parse(window.localStorage.getItem(entryOf(app)) ?? "null") as Page | null;
    return page?.app === app ? page : undefined;
  } catch {
    return undefined;
  }
}

function remember(page: Page): void {
  try {
    window.localStorage.setItem(entryOf(page.app), JSON.stringify(page));
  } catch {
    // Storage is full or unavailable: the settings are requested on each load.
  }
}
