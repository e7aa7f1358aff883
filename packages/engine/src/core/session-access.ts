// Access to sessions. Callers with access to a session's App may use it. Once it has an owner, only that user may.

import { appOf, type SessionRecord } from "./session.ts";
import { addressOf } from "./wallet-id.ts";

/** A signed-in user of some Apps. */
export interface SessionUser {
  /** Pseudonym that their sessions store: a hash of the token's issuer and subject. */
  readonly owner: string;
  /** Apps that accept the user's token. In a session of another App the user counts as anonymous. */
  readonly apps: readonly string[];
  /** Ids of the wallets that the user has proved to hold, the newest last; absent for none. */
  readonly wallets?: readonly string[];
  /** True if the requested App accepts the token, so that the user becomes the owner of a session without an App and without messages. */
  readonly takesNew: boolean;
}

/** A request's access to sessions. */
export interface SessionAccess {
  /** `null` for sessions of all Apps. */
  readonly apps: readonly string[] | null;
  /** `null` for an anonymous request. */
  readonly user: SessionUser | null;
  /** Apps whose sessions are bound and listed only for wallets that the user has proved to hold; absent for none. */
  readonly provedApps?: readonly string[];
}

/** Access of a request without a key or token, where no App requires one. */
export const ANONYMOUS: SessionAccess = { apps: null, user: null };

/** Reason why a session is hidden: its App is not accessible, or it belongs to another user. */
export type HiddenReason = "other_app" | "other_owner";

/**
 * Reason why a command is refused: the session is hidden, or would be bound to a wallet that the user has not
 * proved to hold.
 */
export type RefusalReason = HiddenReason | "wallet_not_proved";

type SessionOwnership = Pick<SessionRecord, "app" | "owner">;

/** Returns why the session is hidden; `null` if it may be used. `access` is `null` for operators and the service itself. */
export function hiddenFrom(session: SessionOwnership, access: SessionAccess | null): HiddenReason | null {
  if (access === null) return null;
  if (access.apps !== null && !access.apps.includes(appOf(session))) return "other_app";
  if (session.owner === null) return null;
  return isOwner(session, access.user) ? null : "other_owner";
}

/**
 * Returns the user's pseudonym if the user becomes the owner of the session, otherwise `null`. A title or a model may
 * precede the first message, whose App may be the first that accepts the user's token.
 */
export function newOwnerOf(session: SessionRecord, { user }: SessionAccess): string | null {
  return session.owner !== null || session.messageCount > 0 ? null : ownerOfNew(session.app, user);
}

/** Returns the owner of a new session of the App, which is `null` before its first chat. */
export function ownerOfNew(app: string | null, user: SessionUser | null): string | null {
  const takes = app === null ? user?.takesNew : user?.apps.includes(app);
  return takes === true ? (user?.owner ?? null) : null;
}

type WalletBinding = Pick<SessionRecord, "publicKey" | "walletId">;

/** Returns true if the user may use the address in the App, because they have proved it or the App requires no proof. */
export function holdsAddress(address: string, app: string, access: SessionAccess): boolean {
  return holdsWallet({ publicKey: address, walletId: null }, app, access);
}

function holdsWallet(session: WalletBinding, app: string, access: SessionAccess): boolean {
  return access.provedApps?.includes(app) !== true || walletOf(session, provedWallets(app, access)) !== null;
}

/**
 * Returns the id of the proved wallet that holds the session's wallet; `null` for none. If the session is not fixed to a wallet yet, an
 * account precedes contracts at the same address, and among these the newest proof counts.
 */
export function walletOf({ publicKey, walletId }: WalletBinding, proved: readonly string[]): string | null {
  if (publicKey === null) return null;
  const holding = proved.filter((id) => (walletId === null ? addressOf(id) === publicKey : id === walletId));
  return holding.find((id) => id === publicKey) ?? holding.at(-1) ?? null;
}

/** Returns the ids of the wallets that the user has proved; empty for an App that requires no proof. */
export function provedWallets(app: string, { user, provedApps = [] }: SessionAccess): readonly string[] {
  return provedApps.includes(app) && user?.apps.includes(app) === true ? (user.wallets ?? []) : [];
}

/** Returns true unless a command binds a session, by its wallet or its App, to a wallet that needs proof and has none. */
export function mayBind(before: SessionRecord, after: SessionRecord, access: SessionAccess): boolean {
  const { publicKey, app } = after;
  if (publicKey === null || (publicKey === before.publicKey && app === before.app)) return true;
  return holdsWallet(after, appOf(after), access);
}

/**
 * Returns true if a command binds the owner's session to an App that does not accept their token. The command
 * then removes the owner, because nobody could open the session any more.
 */
export function losesOwner(before: SessionRecord, after: SessionRecord, { user }: SessionAccess): boolean {
  const { owner, app } = after;
  return owner !== null && app !== null && app !== before.app && user?.apps.includes(app) !== true;
}

/** A session without an App may have an owner, but contains nothing that another App's token could reveal. */
function isOwner({ app, owner }: SessionOwnership, user: SessionUser | null): boolean {
  return user?.owner === owner && (app === null || user.apps.includes(app));
}
