import { describe, expect, it } from "vitest";
import {
  ANONYMOUS,
  hiddenFrom,
  holdsAddress,
  losesOwner,
  mayBind,
  newOwnerOf,
  ownerOfNew,
  provedWallets,
  walletOf,
  type SessionAccess,
} from "./session-access.ts";
import { newSession, type SessionRecord } from "./session.ts";

const WALLET = "0x8ba1f109551bd432803012645ac136ddd64dba72";
const ON_1 = `eip155:1:${WALLET}`;
const ON_10 = `eip155:10:${WALLET}`;
const NEW = newSession(1, "id", { incarnation: "a", model: "demo/assistant" }, 0);
const session = (fields: Partial<SessionRecord>): SessionRecord => ({ ...NEW, ...fields });

/** Access with these wallets to Apps of which `shop` and `default` require proof. */
const proving = (wallets: readonly string[] | null, apps = ["default", "shop"]): SessionAccess => ({
  apps: null,
  user: wallets === null ? null : { owner: "me", apps, wallets, takesNew: true },
  provedApps: ["default", "shop"],
});
const STRANGERS = [
  ANONYMOUS.user,
  proving([]).user,
  proving(["0xother"]).user,
  proving([WALLET], ["open"]).user,
];
const strangers = STRANGERS.map((user): SessionAccess => ({ ...proving([]), user }));

describe("a command", () => {
  it("binds a session to a wallet only with its proof, where the App requires one", () => {
    const [before, after] = [session({ app: "shop" }), session({ app: "shop", publicKey: WALLET })];
    for (const access of strangers) expect(mayBind(before, after, access)).toBe(false);
    for (const wallets of [[WALLET], [ON_1]]) expect(mayBind(before, after, proving(wallets))).toBe(true);
    for (const access of strangers)
      expect(mayBind(session({ app: "open" }), session({ app: "open", publicKey: WALLET }), access)).toBe(
        true,
      );
  });

  // A session that counts as the default App's, where wallets are claimed, can be bound to a victim's wallet. Its first chat moves
  // it to an App where tools trust the wallet, although the address itself does not change.
  it("moves a session that is bound to a wallet into an App that requires proof only with it", () => {
    const [before, after] = [session({ publicKey: WALLET }), session({ publicKey: WALLET, app: "shop" })];
    for (const access of strangers) expect(mayBind(before, after, access)).toBe(false);
    expect(mayBind(before, after, proving([WALLET]))).toBe(true);
    for (const access of strangers)
      expect(mayBind(before, session({ publicKey: WALLET, app: "open" }), access)).toBe(true);
  });

  it("moves a session that is fixed to a contract only with the proof of that contract", () => {
    const before = session({ publicKey: WALLET, walletId: ON_10 });
    const after = { ...before, app: "shop" };
    for (const wallets of [[ON_1], [WALLET]]) expect(mayBind(before, after, proving(wallets))).toBe(false);
    expect(mayBind(before, after, proving([ON_1, ON_10]))).toBe(true);
  });

  it("needs no proof if it changes neither wallet nor App, or if there is no wallet", () => {
    const bound = session({ publicKey: WALLET, app: "shop" });
    for (const access of strangers) {
      expect(mayBind(bound, { ...bound, title: "other" }, access)).toBe(true);
      expect(mayBind(NEW, session({ app: "shop" }), access)).toBe(true);
    }
  });
});

describe("the wallet that holds a session's address", () => {
  it.each<[string, string | null, readonly string[], string | null]>([
    ["nothing without a proof", null, [], null],
    ["nothing by the proof of another address", null, ["0xother", "eip155:1:0xother"], null],
    ["an account", null, [WALLET], WALLET],
    ["a contract", null, [ON_10], ON_10],
    ["an account before contracts", null, [ON_1, WALLET, ON_10], WALLET],
    ["the contract proved last", null, [ON_10, ON_1], ON_1],
    ["the contract that the session is fixed to", ON_10, [ON_10, ON_1, WALLET], ON_10],
    ["no contract on another chain, once it is fixed", ON_10, [ON_1], null],
    ["no account, once it is fixed to a contract", ON_10, [WALLET], null],
    ["no contract, once it is fixed to an account", WALLET, [ON_1, ON_10], null],
  ])("is %s", (_what, walletId, proved, expected) => {
    expect(walletOf({ publicKey: WALLET, walletId }, proved)).toBe(expected);
  });

  it("is none in a session without a wallet", () => {
    expect(walletOf({ publicKey: null, walletId: null }, [WALLET, ON_1])).toBeNull();
  });
});

describe("proved wallets", () => {
  it("count only in Apps that require proof and accept the user", () => {
    expect(provedWallets("shop", proving([WALLET]))).toEqual([WALLET]);
    expect(provedWallets("open", proving([WALLET], ["open"]))).toEqual([]);
    expect(provedWallets("shop", proving([WALLET], ["open"]))).toEqual([]);
    expect(provedWallets("shop", proving(null))).toEqual([]);
    expect(provedWallets("shop", { ...proving([WALLET]), provedApps: [] })).toEqual([]);
  });

  it("let their addresses be listed; an App that requires no proof lists any", () => {
    for (const access of strangers) {
      expect(holdsAddress(WALLET, "shop", access)).toBe(false);
      expect(holdsAddress(WALLET, "open", access)).toBe(true);
    }
    for (const wallets of [[WALLET], [ON_1]])
      expect(holdsAddress(WALLET, "shop", proving(wallets))).toBe(true);
  });
});

describe("an owned session", () => {
  const mine = session({ owner: "me", app: "shop" });

  it("is hidden from everyone but the owner in an App that accepts their token", () => {
    expect(hiddenFrom(mine, proving([]))).toBeNull();
    expect(hiddenFrom(mine, null)).toBeNull();
    expect(hiddenFrom(mine, proving([], ["open"]))).toBe("other_owner");
    expect(hiddenFrom({ ...mine, owner: "other" }, proving([]))).toBe("other_owner");
    expect(hiddenFrom(mine, ANONYMOUS)).toBe("other_owner");
    expect(hiddenFrom(mine, { ...proving([]), apps: ["open"] })).toBe("other_app");
    expect(hiddenFrom({ ...mine, app: null }, proving([], ["open"]))).toBeNull();
  });

  it("is owned by the first user that its App accepts, if it has no message yet", () => {
    expect(newOwnerOf(NEW, proving([]))).toBe("me");
    expect(newOwnerOf(session({ titleSource: "user", modelChosen: true }), proving([]))).toBe("me");
    expect(newOwnerOf(session({ messageCount: 1 }), proving([]))).toBeNull();
    expect(newOwnerOf(session({ owner: "other" }), proving([]))).toBeNull();
    expect(ownerOfNew("open", proving([]).user)).toBeNull();
    expect(ownerOfNew(null, { owner: "me", apps: ["shop"], takesNew: false })).toBeNull();
    expect(ownerOfNew("shop", null)).toBeNull();
  });

  it("loses its owner in an App that does not accept them", () => {
    const before = session({ owner: "me" });
    expect(losesOwner(before, { ...before, app: "open" }, proving([]))).toBe(true);
    expect(losesOwner(before, { ...before, app: "shop" }, proving([]))).toBe(false);
    expect(losesOwner({ ...before, app: "open" }, { ...before, app: "open" }, proving([]))).toBe(false);
  });
});
