// An OpenID Connect sign-in, limited to this tab and this service.
//
// The tokens are in sessionStorage. Memory would lose them on reload, and silent renewal in an iframe needs
// the issuer's cookie, which browsers block as a third-party cookie. In localStorage the sign-in would
// outlive the tab on a shared machine. The Content-Security-Policy blocks foreign scripts, which could read
// either.

import type { PageSignIn } from "@colloquy/client";
import type { KeyValueStore } from "@colloquy/ui/parts";

/** The issuer's token response. */
export interface Tokens {
  /** Token to send to the service. */
  readonly token: string;
  /** Lifetime of `token` in milliseconds from its receipt; `null` if the issuer does not state it. */
  readonly lifetimeMs: number | null;
  /** `null` if the issuer issues none; the sign-in then ends when the token expires. */
  readonly refreshToken: string | null;
  /** The user's name; `null` if the issuer does not send one. */
  readonly name: string | null;
}

export interface SignedIn extends Tokens {
  readonly receivedAt: number;
  /** Identifies the sign-in. A duplicated tab has the same id. */
  readonly id: string;
  /** The App's sign-in settings at the time of the sign-in. */
  readonly at: PageSignIn;
}

/** State of the sign-in, for `token` and for the UI. */
export interface SignInState {
  readonly signedIn: SignedIn | null;
  /** User-facing reason why the sign-in ended or failed; `null` if there is none. */
  readonly reason: string | null;
}

/** Thrown if the issuer refuses to renew the sign-in. All other errors are temporary. */
export class SignInOver extends Error {
  override readonly name = "SignInOver";
}

export interface SignInOptions {
  readonly storage: KeyValueStore;
  /** Storage key. */
  readonly entry: string;
  /** Returns the device's time in milliseconds since the Unix epoch. */
  readonly now: () => number;
  /** Web Locks; `undefined` on plain HTTP, where sign-in is not available either. */
  readonly locks?: Pick<LockManager, "request"> | undefined;
  /** Exchanges the refresh token for new tokens. Throws `SignInOver` if the issuer refuses. */
  readonly renew: (signedIn: SignedIn) => Promise<Tokens>;
  /** Resolves after `ms` milliseconds. */
  readonly wait: (ms: number) => Promise<void>;
}

/** A token is renewed this many milliseconds before it expires. */
const EARLY_MS = 60_000;
/** Milliseconds between renewal attempts while the issuer is unreachable. */
const PAUSE_MS = 10_000;
/** Milliseconds that a reloaded page waits for the previous page to release its lock. */
const RELEASE_MS = 2_000;
const CLOCKS_DIFFER =
  "The service takes the new sign-in for expired: its clock and that of the login differ. Tell its operator.";
export const ENDED = "Your sign-in has ended. Sign in again to continue.";

export class SignIn {
  readonly #options: SignInOptions;
  readonly #listeners = new Set<() => void>();
  #state: SignInState;
  #renewing: Promise<void> | null = null;
  #failedAt = Number.NEGATIVE_INFINITY;
  /** Resolves when no other tab has this sign-in. */
  #isAlone: Promise<void> = Promise.resolve();
  #release = (): void => undefined;

  constructor(options: SignInOptions) {
    this.#options = options;
    this.#state = { signedIn: load(options), reason: null };
    this.#hold();
  }

  /** Snapshot for `useSyncExternalStore`: the same object until the state changes. */
  readonly state = (): SignInState => this.#state;
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** Starts a sign-in with the issuer's tokens. */
  accept(tokens: Tokens, at: PageSignIn): void {
    const received = { ...tokens, at, id: crypto.randomUUID(), receivedAt: this.#options.now() };
    this.#change({ signedIn: received, reason: null });
    this.#hold();
  }

  /** Ends the sign-in in this tab. `reason` is shown to the user. */
  end(reason: string | null): void {
    this.#change({ signedIn: null, reason });
    this.#release();
  }

  /** Ends the sign-in if the App's client or issuer has changed since. */
  endUnlessMadeWith(at: PageSignIn | null): void {
    const { signedIn } = this.#state;
    if (signedIn === null || (at !== null && isSame(signedIn.at, at))) return;
    this.end(ENDED);
  }

  /** Marks `token` as expired because the service rejected it, whatever this device's clock says. */
  expire(token: string): void {
    const { signedIn } = this.#state;
    if (signedIn?.token !== token) return;
    // A token that the service rejects right after its renewal would be rejected again.
    if (this.#options.now() - signedIn.receivedAt < PAUSE_MS) this.end(CLOCKS_DIFFER);
    else this.#change({ signedIn: { ...signedIn, lifetimeMs: 0 }, reason: null });
  }

  /**
   * Returns the current token, renewing it if it is about to expire. Concurrent calls share one renewal,
   * because many issuers revoke a sign-in whose refresh token is used twice (RFC 9700 section 4.14.2).
   */
  async token(): Promise<string> {
    const before = this.#state.signedIn;
    if (before !== null && this.#isAboutToEnd(before)) {
      // `finally` runs asynchronously, so this clears the field only after the assignment.
      this.#renewing ??= this.#renew(before).finally(() => {
        this.#renewing = null;
      });
      await this.#renewing;
    }
    const { signedIn } = this.#state;
    if (signedIn === null) throw new Error(ENDED);
    return signedIn.token;
  }

  async #renew(signedIn: SignedIn): Promise<void> {
    try {
      if (signedIn.refreshToken === null) {
        if (this.#isOver(signedIn)) this.end(ENDED);
        return;
      }
      if (this.#options.now() - this.#failedAt < PAUSE_MS && !this.#isOver(signedIn)) return;
      const isAlone = await Promise.race([
        this.#isAlone.then(() => true),
        this.#options.wait(RELEASE_MS).then(() => false),
      ]);
      if (!isAlone) {
        // Another tab has the same sign-in, and only one of them may use the refresh token.
        if (this.#isOver(signedIn)) this.end(ENDED);
        return;
      }
      // After a sign-out meanwhile, the refresh token may be another tab's.
      if (this.#state.signedIn?.id !== signedIn.id) return;
      const next = await this.#options.renew(signedIn);
      this.#failedAt = Number.NEGATIVE_INFINITY;
      // Discard the tokens if the user has signed out in the meantime.
      if (this.#state.signedIn?.id !== signedIn.id) return;
      const received = {
        ...next,
        refreshToken: next.refreshToken ?? signedIn.refreshToken,
        name: next.name ?? signedIn.name,
        receivedAt: this.#options.now(),
      };
      this.#change({ signedIn: { ...signedIn, ...received }, reason: null });
    } catch (error) {
      this.#failedAt = this.#options.now();
      if (error instanceof SignInOver) {
        if (this.#state.signedIn?.id === signedIn.id) this.end(ENDED);
      } else if (this.#isOver(signedIn)) throw error;
    }
  }

  /**
   * Returns the milliseconds until the token expires, counted from its receipt, because the device's clock
   * may be wrong.
   */
  #left({ receivedAt, lifetimeMs }: SignedIn): number {
    return lifetimeMs === null ? Number.POSITIVE_INFINITY : receivedAt + lifetimeMs - this.#options.now();
  }

  #isOver(signedIn: SignedIn): boolean {
    return this.#left(signedIn) <= 0;
  }

  #isAboutToEnd(signedIn: SignedIn): boolean {
    const { lifetimeMs } = signedIn;
    if (lifetimeMs === null) return false;
    const left = this.#left(signedIn);
    // If the device's clock was set back, the remaining time exceeds the lifetime. Renew then, too.
    return left < Math.min(EARLY_MS, lifetimeMs / 2) || left <= 0 || left > lifetimeMs + EARLY_MS;
  }

  /** Holds a lock for the lifetime of this page. A duplicated tab waits for the lock before it renews. */
  #hold(): void {
    const { locks } = this.#options;
    const { signedIn } = this.#state;
    this.#release();
    if (signedIn === null || locks === undefined) return;
    const { promise: isReleased, resolve: release } = Promise.withResolvers<void>();
    // Also releases a lock that is granted later: held for a sign-in that has ended here, it would lock out the other tab.
    this.#release = release;
    this.#isAlone = new Promise((resolve) => {
      void locks
        .request(`colloquy.sign-in ${signedIn.id}`, () => {
          resolve();
          return isReleased;
        })
        .catch(() => resolve());
    });
  }

  #change(state: SignInState): void {
    this.#state = state;
    const { storage, entry } = this.#options;
    try {
      if (state.signedIn === null) storage.removeItem(entry);
      else storage.setItem(entry, JSON.stringify(state.signedIn));
    } catch {
      // Storage is unavailable: the sign-in lasts until the next reload.
    }
    for (const listener of this.#listeners) listener();
  }
}

function load({ storage, entry }: SignInOptions): SignedIn | null {
  try {
    return JSON.parse(storage.getItem(entry) ?? "null") as SignedIn | null;
  } catch {
    return null;
  }
}

function isSame(one: PageSignIn, other: PageSignIn): boolean {
  return one.issuer === other.issuer && one.client_id === other.client_id && one.token === other.token;
}
