// Messages between a composer and the service, stored so that they survive a reload.

import type { KeyValueStore } from "../connection/tab-storage.ts";
import { isDraft } from "./drafts.ts";

/** The message as sent to the service. */
export interface Message {
  /** The draft it came from: `null` for a conversation that had not started. */
  readonly sessionId: string | null;
  /** The target session. */
  readonly to: string;
  readonly text: string;
  readonly idempotencyKey: string;
  readonly app: string;
  /** Wallet address to bind. */
  readonly publicKey: string | null;
  /** Model to set before it, `null` for none. */
  readonly model: string | null;
  /** Id of the message that it replaces, `null` for a new one. */
  readonly replaces: string | null;
}

export interface Outgoing extends Message {
  /** Increases in sending order. */
  readonly number: number;
  /** Time of the first attempt, milliseconds since 1970. */
  readonly at: number;
  /** True if the previous page has already sent it, with an unknown outcome. */
  readonly isAgain: boolean;
}

const ENTRY = "colloquy.leaving";
/**
 * The service honours an idempotency key for 24 hours (docs/api.md); the margin is for retries and differing
 * clocks.
 */
const HARMLESS_MS = 23 * 60 * 60 * 1000;

/** Returns true if the message can be sent again without being stored twice. */
export function canSendAgain({ at }: Outgoing, now: number): boolean {
  return at <= now && now - at < HARMLESS_MS;
}

/** Returns the messages that the previous page of this tab was sending. */
export function loadOutgoing(storage: KeyValueStore): readonly Outgoing[] {
  try {
    const left: unknown = JSON.parse(storage.getItem(ENTRY) ?? "[]");
    return Array.isArray(left) ? left.flatMap((one, at) => outgoingOf(one, at + 1)) : [];
  } catch {
    // No storage, or foreign data.
    return [];
  }
}

export function storeOutgoing(storage: KeyValueStore, outgoing: readonly Outgoing[]): void {
  try {
    if (outgoing.length === 0) storage.removeItem(ENTRY);
    else storage.setItem(ENTRY, JSON.stringify(outgoing));
  } catch {
    // Storage is full or forbidden: the messages last as long as the page.
  }
}

/** Storage may contain anything. Entries without a key, from older consoles, cannot be sent again. */
function outgoingOf(value: unknown, number: number): readonly Outgoing[] {
  if (!isDraft(value)) return [];
  const { sessionId, text } = value;
  const { to, idempotencyKey, app, publicKey, model, replaces, at } = value as Partial<Outgoing>;
  const isWhole =
    typeof to === "string" &&
    typeof idempotencyKey === "string" &&
    typeof app === "string" &&
    typeof at === "number";
  const known = isWhole
    ? { to, idempotencyKey, app, at }
    : { to: sessionId ?? "", idempotencyKey: "", app: "", at: 0 };
  return [
    {
      ...known,
      number,
      sessionId,
      text,
      publicKey: textOf(publicKey),
      model: textOf(model),
      replaces: textOf(replaces),
      isAgain: true,
    },
  ];
}

const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null);
