// Keyboard shortcuts of a page: the keys, and what the dialog says about them.

export interface Keys {
  /** Ctrl; Cmd on Apple's systems. */
  readonly mod?: boolean;
  readonly shift?: boolean;
  /** A lower-case letter, a punctuation mark, or the name of a key (UI Events, "key"). */
  readonly key: string;
}

export type ShortcutName = "new_chat" | "search" | "sidebar" | "message" | "stop" | "decide" | "shortcuts";

export interface Shortcut {
  readonly label: string;
  /** Alternatives. */
  readonly keys: readonly Keys[];
}

/** The shortcuts of `Frame`. ChatGPT and Open WebUI have the same keys for the first four and the last one. */
export const SHORTCUTS: Readonly<Record<ShortcutName, Shortcut>> = {
  new_chat: { label: "Start a new chat", keys: [{ mod: true, shift: true, key: "o" }] },
  search: { label: "Search conversations", keys: [{ mod: true, key: "k" }] },
  message: { label: "Write a message", keys: [{ shift: true, key: "Escape" }] },
  sidebar: { label: "Show or hide the sidebar", keys: [{ mod: true, key: "b" }] },
  stop: { label: "Stop the answer", keys: [{ mod: true, key: "." }] },
  decide: {
    label: "Go to the request that waits for you",
    keys: [{ mod: true, shift: true, key: "Enter" }],
  },
  shortcuts: { label: "Show this list", keys: [{ key: "?" }, { mod: true, key: "/" }] },
};

/** Keys of the message field, which the dialog lists too. */
export const FIELD_SHORTCUTS: readonly Shortcut[] = [
  { label: "Send the message", keys: [{ key: "Enter" }] },
  { label: "Start a new line", keys: [{ shift: true, key: "Enter" }] },
];

export interface PressedKey
  extends Pick<KeyboardEvent, "key" | "code" | "ctrlKey" | "metaKey" | "shiftKey" | "altKey"> {
  /** True while the focus is in a field, where keys without Ctrl or Cmd write text. */
  readonly isInField: boolean;
  /** True on Apple's systems, where Ctrl with a letter edits text. */
  readonly isApple: boolean;
}

/** Returns the shortcut of a pressed key; `null` for none. */
export function shortcutOf(pressed: PressedKey): ShortcutName | null {
  const names = Object.keys(SHORTCUTS) as ShortcutName[];
  return names.find((name) => SHORTCUTS[name].keys.some((keys) => isPressed(keys, pressed))) ?? null;
}

function isPressed({ mod = false, shift = false, key }: Keys, pressed: PressedKey): boolean {
  const { ctrlKey, metaKey, shiftKey, altKey, isInField, isApple } = pressed;
  // AltGr is Ctrl and Alt, and writes characters.
  if (altKey || (isApple ? metaKey : ctrlKey) !== mod || (isApple ? ctrlKey : metaKey)) return false;
  if (keyOf(pressed) !== key) return false;
  // Whether a punctuation mark needs Shift depends on the keyboard.
  const isMark = /^[^\w]$/.test(key);
  if (isMark) return mod || !isInField;
  return shiftKey === shift;
}

/** Keys by their place on the keyboard, for layouts without Latin letters. */
const MARKS: Readonly<Record<string, string>> = { Period: ".", Slash: "/" };

function keyOf({ key, code }: PressedKey): string {
  if (/^[A-Z]$/.test(key)) return key.toLowerCase();
  if (key.length !== 1 || key.charCodeAt(0) < 128) return key;
  return /^Key([A-Z])$/.exec(code)?.[1]?.toLowerCase() ?? MARKS[code] ?? key;
}

const APPLE: Readonly<Record<string, string>> = { Escape: "Esc", Enter: "Return" };
const OTHER: Readonly<Record<string, string>> = { Escape: "Esc" };

/** Returns the labels of the keys, in the order in which they are pressed. */
export function keyLabels({ mod, shift, key }: Keys, isApple: boolean): readonly string[] {
  const name = (isApple ? APPLE : OTHER)[key] ?? (key.length === 1 ? key.toUpperCase() : key);
  const labels = isApple ? ["⌘", "⇧"] : ["Ctrl", "Shift"];
  return [mod === true && labels[0], shift === true && labels[1], name].filter(
    (label) => typeof label === "string",
  );
}

/** Returns true on Apple's systems. */
export function isApplePlatform({ platform }: Pick<Navigator, "platform">): boolean {
  return /^(Mac|iP)/.test(platform);
}
