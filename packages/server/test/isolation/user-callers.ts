// A service whose Apps have signed-in users, and the callers that try to reach the data of one of them.

import { createHash, randomUUID } from "node:crypto";
import { KeyAdministration } from "@colloquy/engine/internal/apps/keys/key-administration";
import { WALLET_ISSUER } from "@colloquy/engine/internal/apps/users/wallet-tokens";
import type { AppSettings } from "@colloquy/engine/internal/core/app-settings";
import type { KeyScope } from "@colloquy/engine/internal/core/key-scopes";
import type { Store } from "@colloquy/engine/internal/core/ports/driven/store";
import { openSqliteStore } from "@colloquy/engine/internal/store/sqlite/open";
import { createSystemClock } from "@colloquy/engine/internal/wiring/clock";
import { buildServer } from "../../src/wiring/server.ts";
import { send, type Call } from "../black-box/client.ts";
import { Issuer } from "../issuer.ts";
import { addressOfWallet, newAccount, SignIns, type PrivateKeyAccount } from "../sign-in-messages.ts";
import { startAppServers } from "./app-servers.ts";
import { holdConversation, type Conversation } from "./conversation.ts";
import { baseConfig, draftApp } from "./isolation-service.ts";
import { recordingLogger } from "./recording-logger.ts";
import { servedBy } from "./served-by.ts";

/** `shop` has users of an issuer, and wallets are claimed. In `club` wallets are proved, and are the users. */
export const USER_APPS = ["shop", "club"] as const;
export type UserApp = (typeof USER_APPS)[number];

const APP_SCOPES = ["chat", "read", "secrets"] as const;

/** Keys by caller, with their scopes. */
const KEYS = {
  "key with chat": ["chat"],
  "key with read": ["read"],
  "key with secrets": ["secrets"],
  "key with act_as": ["act_as"],
  "key with admin:read": ["admin:read"],
  "key with admin:write": ["admin:write"],
  "act_as the owner": [...APP_SCOPES, "act_as"],
  "act_as another": [...APP_SCOPES, "act_as"],
  "act_as nobody": [...APP_SCOPES, "act_as"],
} as const satisfies Readonly<Record<string, readonly KeyScope[]>>;

export type KeyCaller = keyof typeof KEYS;
export type TokenCaller =
  | "anonymous"
  | "own token"
  | "other user"
  | "approver"
  | "expired token"
  | "revoked token"
  | "own token of another App"
  | "wallet claimed"
  | "wallet proved";
export type UserCaller = TokenCaller | KeyCaller;

export const USER_CALLERS: readonly UserCaller[] = [
  "anonymous",
  "own token",
  "other user",
  "approver",
  "expired token",
  "revoked token",
  "own token of another App",
  "wallet claimed",
  "wallet proved",
  ...(Object.keys(KEYS) as KeyCaller[]),
];

/**
 * Returns the scopes of the caller's key; `null` without one. In `club`, tokens open no App, so those callers
 * have its key.
 */
export function scopesOf(caller: UserCaller, app: UserApp): readonly KeyScope[] | null {
  if (caller in KEYS) return KEYS[caller as KeyCaller];
  return app === "club" && caller !== "anonymous" ? APP_SCOPES : null;
}

/** Owners of conversations: users with a wallet. In `club`, the wallet is the user. */
export interface Person {
  readonly subject: string;
  readonly account: PrivateKeyAccount;
}

export type UserService = Awaited<ReturnType<typeof startUserService>>;

export async function startUserService() {
  const issuer = await Issuer.start();
  const system = createSystemClock();
  let nowMs = 0;
  let passedMs = 0;
  const clock = {
    ...system,
    now: () => system.now() + nowMs,
    monotonic: () => system.monotonic() + passedMs,
  };
  const onFatal = (error: Error): never => {
    throw error;
  };
  const store = await openSqliteStore({ directory: null, clock, onFatal });
  const logged: string[] = [];
  const drafts = { shop: draftApp("shop"), club: draftApp("club") };
  const servers = {
    shop: await startAppServers(drafts.shop.texts, drafts.shop.slot),
    club: await startAppServers(drafts.club.texts, drafts.club.slot),
  };
  const base = await baseConfig();
  const users = (audience: string): AppSettings["users"] => ({
    issuer: issuer.url,
    audience,
    jwksUri: null,
    keys: null,
    required: false,
    claimSessions: true,
  });
  const apps: Record<string, AppSettings> = {
    default: base.default,
    shop: withApprovers({ ...drafts.shop.settings(base.default, servers.shop), users: users("shop") }),
    club: { ...drafts.club.settings(base.default, servers.club), wallets: "proved" },
    members: { ...base.default, users: users("members") },
  };
  const server = await buildServer(
    { ...base.config, apps, protocols: servedBy("default", ...USER_APPS) },
    {
      logger: recordingLogger(logged),
      onFatal,
      clock,
      store,
      models: Object.fromEntries(Object.values(drafts).map(({ rig, model }) => [rig, model])),
    },
  );
  const { url } = await server.listen();
  const keys = await createKeys(store, clock);
  const tokens = new Tokens(url, issuer);
  const owner: Person = { subject: "alice", account: newAccount() };
  const expired = await tokens.expired(owner);
  // Past the end of the wallet's token.
  nowMs = 16 * 60_000;
  const revoked = await tokens.revoked(owner);
  const bob: Person = { subject: "bob", account: newAccount() };

  /** Returns the headers of a caller that tries to reach the person's data. */
  const credentials = async (
    caller: UserCaller,
    app: UserApp,
    person: Person,
  ): Promise<NonNullable<Call["headers"]>> => {
    const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });
    const key = app === "club" && caller !== "anonymous" ? { "SERVICE-APP-KEY": keys.club } : {};
    switch (caller) {
      case "anonymous":
      case "wallet claimed":
        return key;
      case "own token":
        return { ...key, ...bearer(await tokens.of(app, person)) };
      case "other user":
        return { ...key, ...bearer(await tokens.of(app, bob)) };
      case "approver":
        return { ...key, ...bearer(await tokens.ofApprover(app)) };
      case "expired token":
        return { ...key, ...bearer(expired[app]) };
      case "revoked token":
        return { ...key, ...bearer(revoked[app]) };
      case "own token of another App":
        return { ...key, ...bearer(await tokens.ofMembers(person)) };
      // Bob's, with the wallet; where the wallet is the user, it has just signed in again.
      case "wallet proved":
        return { ...key, ...bearer(await tokens.withWallet(app, person)) };
      default:
        return { "SERVICE-APP-KEY": keys[caller], ...ownerHeader(caller, app, person) };
    }
  };
  const ownerHeader = (caller: KeyCaller, app: UserApp, person: Person) => {
    if (caller === "act_as nobody" || !caller.includes("act_as")) return {};
    const { subject, account } = caller === "act_as another" ? bob : person;
    const named =
      app === "shop" ? [issuer.url, subject] : [WALLET_ISSUER, `eip155:${addressOfWallet(account)}`];
    return { "Colloquy-Owner": named.join(" ") };
  };
  const converse = async (app: UserApp, person: Person, canaries: boolean): Promise<Conversation> => {
    const named =
      app === "shop"
        ? [issuer.url, person.subject]
        : [WALLET_ISSUER, `eip155:${addressOfWallet(person.account)}`];
    return await holdConversation({
      url,
      credentials: await credentials("own token", app, person),
      draft: drafts[app],
      wallet: canaries ? addressOfWallet(person.account) : null,
      // The user is the client (contract section 4): a hash of issuer and subject.
      clientId: createHash("sha256").update(JSON.stringify(named)).digest("base64url"),
    });
  };
  return {
    url,
    drafts,
    owner,
    logged,
    credentials,
    converse,
    conversations: {
      shop: await converse("shop", owner, true),
      club: await converse("club", owner, true),
    } satisfies Record<UserApp, Conversation>,
    /** Advances the clock past the rate limits of wrong admin keys. */
    passMinute: (): void => void (passedMs += 60_001),
    async close(): Promise<void> {
      await server.stop({ graceMs: 1000 });
      for (const one of Object.values(servers)) await one.close();
      await issuer.stop();
    },
  };
}

/** Approvers are users with a role. The users of the conversations may decide too. */
function withApprovers(settings: AppSettings): AppSettings {
  const approvers = { claim: "role", values: ["approver"] };
  const approvals = { notes: { when: "always", approvers, owner: "may" } } as const;
  return { ...settings, tools: { ...settings.tools, approvals } };
}

async function createKeys(store: Store, clock: { readonly now: () => number }) {
  const administration = new KeyAdministration({ store: store.keys, clock, apps: () => USER_APPS });
  const create = async (scopes: readonly KeyScope[]): Promise<string> => {
    // Other scopes open no App.
    const apps = APP_SCOPES.some((scope) => scopes.includes(scope)) ? USER_APPS : [];
    return (await administration.create({ apps, scopes, name: null, expiresInMs: null })).key;
  };
  const entries = Object.entries(KEYS).map(async ([name, scopes]) => [name, await create(scopes)] as const);
  const keys = Object.fromEntries(await Promise.all(entries)) as Record<KeyCaller, string>;
  return { ...keys, club: await create(APP_SCOPES) };
}

/** Tokens of people, in both Apps. */
class Tokens {
  readonly #url: string;
  readonly #issuer: Issuer;
  readonly #signIns: SignIns;

  constructor(url: string, issuer: Issuer) {
    this.#url = url;
    this.#issuer = issuer;
    this.#signIns = new SignIns(url);
  }

  async of(app: UserApp, { subject, account }: Person): Promise<string> {
    return app === "shop" ? await this.#issuer.token(subject, "shop") : await this.#signIn(account);
  }

  /** A token of the person as a user of another App, with the wallet. */
  async ofMembers({ subject, account }: Person): Promise<string> {
    return await this.#signIn(account, await this.#issuer.token(subject, "members"));
  }

  /** A token of another user, who is an approver in the App. `club` has no approvers, because its users are wallets. */
  async ofApprover(app: UserApp): Promise<string> {
    if (app === "club") return await this.#signIn(newAccount());
    const exp = Math.floor(Date.now() / 1000) + 3600;
    const claims = {
      iss: this.#issuer.url,
      aud: "shop",
      sub: "zoe",
      exp,
      jti: randomUUID(),
      role: "approver",
    };
    return await this.#issuer.sign(claims);
  }

  async withWallet(app: UserApp, { account }: Person): Promise<string> {
    if (app === "club") return await this.#signIn(account);
    return await this.#signIn(account, await this.#issuer.token("bob", "shop"));
  }

  async expired({ subject, account }: Person): Promise<Record<UserApp, string>> {
    const claims = { iss: this.#issuer.url, aud: "shop", sub: subject, exp: 1 };
    return { shop: await this.#issuer.sign(claims), club: await this.#signIn(account) };
  }

  async revoked(person: Person): Promise<Record<UserApp, string>> {
    const tokens = { shop: await this.of("shop", person), club: await this.of("club", person) };
    for (const token of Object.values(tokens)) {
      const headers = { Authorization: `Bearer ${token}` };
      const { status } = await send(this.#url, "POST", "/api/auth/revoke", { headers });
      if (status !== 204) throw new Error(`revoke: ${status}`);
    }
    return tokens;
  }

  async #signIn(account: PrivateKeyAccount, userToken?: string): Promise<string> {
    const headers = userToken === undefined ? {} : { Authorization: `Bearer ${userToken}` };
    const answer = await this.#signIns.signIn(account, { headers });
    if (answer.status !== 200) throw new Error(`sign-in: ${answer.status} ${answer.text}`);
    return (answer.json() as { token: string }).token;
  }
}
