// A message between a composer and the service, and how it outlives the page that has sent it.

import type { Kept } from "../connection/tab-storage.ts";
import { isDraft } from "./drafts.ts";

/** What the service is given. */
export interface Message {
  /** Whose draft it was: `null` for a conversation that had not begun. */
  readonly sessionId: string | null;
  /** The session that it goes to. */
  readonly to: string;
  readonly text: string;
  readonly idempotencyKey: string;
  readonly app: string;
  /** Wallet address that the session is bound to. */
  readonly publicKey: string | null;
  /** Set before it, `null` for none. */
  readonly model: string | null;
}

export interface Leaving extends Message {
  /** Counts up in the order of sending. */
  readonly number: number;
  /** When it was sent first, in milliseconds since 1970. */
  readonly at: number;
  /** Whether the page before this one has sent it already: nobody knows whether it arrived. */
  readonly isAgain: boolean;
}

const ENTRY = "colloquy.leaving";
/** The service answers the same message under the same key alike for 24 hours (docs/api.md); an hour is for tries and for clocks. */
const HARMLESS_MS = 23 * 60 * 60 * 1000;

/** Whether it can be sent again without standing in the conversation twice. */
export function isHarmlessAgain({ at }: Leaving, now: number): boolean {
  return at <= now && now - at < HARMLESS_MS;
}

/** What the page before this one in the tab was sending when it went. */
export function loadLeaving(storage: Kept): readonly Leaving[] {
  try {
    const left: unknown = JSON.parse(storage.getItem(ENTRY) ?? "[]");
    return Array.isArray(left) ? left.flatMap((one, at) => leavingOf(one, at + 1)) : [];
  } catch {
    // Nothing may be kept here, or something else stands there.
    return [];
  }
}

export function keepLeaving(storage: Kept, leaving: readonly Leaving[]): void {
  try {
    if (leaving.length === 0) storage.removeItem(ENTRY);
    else storage.setItem(ENTRY, JSON.stringify(leaving));
  } catch {
    // Full or forbidden: then it lasts as long as the page.
  }
}

/** What stands in a storage may be anything. What has no key, as pages of before kept it, is too old to be sent again. */
function leavingOf(value: unknown, number: number): readonly Leaving[] {
  if (!isDraft(value)) return [];
  const { sessionId, text } = value;
  const { to, idempotencyKey, app, publicKey, model, at } = value as Partial<Leaving>;
  const isWhole =
    typeof to === "string" &&
    typeof idempotencyKey === "string" &&
    typeof app === "string" &&
    typeof at === "number";
  const known = isWhole
    ? { to, idempotencyKey, app, at }
    : { to: sessionId ?? "", idempotencyKey: "", app: "", at: 0 };
  return [
    { ...known, number, sessionId, text, publicKey: textOf(publicKey), model: textOf(model), isAgain: true },
  ];
}

const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null);
