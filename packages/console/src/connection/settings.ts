// Settings of the service, stored for the tab (sessionStorage): keys should not stay on a shared machine, and
// never appear in a URL.

export interface Settings {
  /** The App of the next conversation; `null` for the service's default. */
  readonly app: string | null;
  /** Key of the App, if it requires one. */
  readonly key: string | null;
  /** Admin key, used only in the operators' area. */
  readonly adminKey: string | null;
  /** Address whose threads are listed and to which new conversations are bound. */
  readonly wallet: string | null;
}

export const NOTHING_ENTERED: Settings = { app: null, key: null, adminKey: null, wallet: null };

const ENTRY = "colloquy.settings";

/** Returns the tab's settings. */
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

/** Stores the settings. Without storage they are lost at the next reload. */
export function saveSettings(storage: Pick<Storage, "setItem">, settings: Settings): void {
  try {
    storage.setItem(ENTRY, JSON.stringify(settings));
  } catch {
    // Storage is full or forbidden, and the user cannot change that here.
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
