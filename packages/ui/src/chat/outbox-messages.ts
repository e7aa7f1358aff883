// Messages in flight from a composer to the service, stored so that they survive a reload.

import type { Snapshot } from "@colloquy/client";
import type { KeyValueStore } from "../service/tab-storage.ts";
import { isDraft } from "./drafts.ts";

/** A message as sent to the service. */
export interface Message {
  /** Session of the composer that sent it; `null` if the conversation had not started. */
  readonly sessionId: string | null;
  /** The target session. */
  readonly to: string;
  readonly text: string;
  /** Ids of its files; absent for none. */
  readonly attachments?: readonly string[];
  readonly idempotencyKey: string;
  readonly app: string;
  /** Wallet address to bind. */
  readonly publicKey: string | null;
  /** Model to select before sending; `null` to keep the current one. */
  readonly model: string | null;
  /** Id of the message to replace; `null` for a new message. */
  readonly replaces: string | null;
  /** Effect while the assistant works; `null` for the App's. */
  readonly busy: "steer" | "enqueue" | null;
  /** Id of the conversation's newest message when this one was sent; `null` if there was none; absent if unknown. */
  readonly after?: string | null;
}

/** Returns the field `after` of a message that is sent now. */
export function newestOf(
  snapshot: Pick<Snapshot, "messages" | "messages_before"> | null,
): Pick<Message, "after"> {
  const id = snapshot?.messages.at(-1)?.id;
  if (id !== undefined) return { after: id };
  const isEmpty = snapshot !== null && (snapshot.messages_before ?? 0) === 0;
  return isEmpty ? { after: null } : {};
}

export interface Outgoing extends Message {
  /** Increases in sending order. */
  readonly number: number;
  /** Time of the first attempt in milliseconds since the Unix epoch. */
  readonly at: number;
  /** True if the previous page has already sent it, with an unknown outcome. */
  readonly isAgain: boolean;
}

const ENTRY = "colloquy.leaving";
/**
 * The service honours an idempotency key for 24 hours (docs/api.md). An hour of margin covers retries and
 * clock differences.
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
  const { to, idempotencyKey, app, publicKey, model, replaces, attachments, busy, at } =
    value as Partial<Outgoing>;
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
      ...(Array.isArray(attachments) && { attachments: attachments.map(String) }),
      busy: busy === "steer" || busy === "enqueue" ? busy : null,
      isAgain: true,
    },
  ];
}

const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null);
