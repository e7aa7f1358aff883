// What a person has entered about the service. It lasts as long as the tab (sessionStorage): keys are nothing to leave behind on a
// shared machine, and they never stand in an address.

export interface Settings {
  /** The App of the next conversation; `null` for the service's default. */
  readonly app: string | null;
  /** Key of the App, where it asks for one. */
  readonly key: string | null;
  /** Of the operators' area, and sent nowhere else. */
  readonly adminKey: string | null;
  /** Address whose threads are listed, and to which new conversations are bound. */
  readonly wallet: string | null;
}

export const NOTHING_ENTERED: Settings = { app: null, key: null, adminKey: null, wallet: null };

const ENTRY = "colloquy.settings";

/** What was entered in this tab. */
export function loadSettings(storage: Pick<Storage, "getItem">): Settings {
  try {
    const stored: unknown = JSON.parse(storage.getItem(ENTRY) ?? "{}");
    if (typeof stored !== "object" || stored === null) return NOTHING_ENTERED;
    const texts = Object.entries(stored).filter(([name, value]) => name in NOTHING_ENTERED && isText(value));
    return { ...NOTHING_ENTERED, ...Object.fromEntries(texts) };
  } catch {
    return NOTHING_ENTERED;
  }
}

/** Without a place to keep it (a browser that allows none), it lasts until the page is loaded again. */
export function saveSettings(storage: Pick<Storage, "setItem">, settings: Settings): void {
  try {
    storage.setItem(ENTRY, JSON.stringify(settings));
  } catch {
    // Full or forbidden: nothing that a person could do about it here.
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
