import type { PageSignIn } from "@colloquy/client";
import { beforeEach, describe, expect, it } from "vitest";
import { ENDED, SignIn, SignInOver, type SignInOptions, type Tokens } from "./sign-in.ts";

const AT: PageSignIn = {
  issuer: "https://login.example",
  client_id: "console",
  scope: "openid",
  parameters: {},
  token: "access_token",
  provider: null,
};
const HOUR = 3_600_000;

let now: number;
let stored: Map<string, string>;
let renewals: number;
let answer: () => Promise<Tokens>;
let waits: (() => void)[];
beforeEach(() => {
  [now, stored, renewals, waits] = [1_000_000, new Map(), 0, []];
  answer = () => Promise.resolve(tokens(`token ${renewals}`));
});

const tokens = (token: string, changes: Partial<Tokens> = {}): Tokens => ({
  token,
  lifetimeMs: HOUR,
  refreshToken: `refresh of ${token}`,
  name: null,
  ...changes,
});

function create(changes: Partial<SignInOptions> = {}): SignIn {
  return new SignIn({
    storage: {
      getItem: (name) => stored.get(name) ?? null,
      setItem: (name, value) => void stored.set(name, value),
      removeItem: (name) => void stored.delete(name),
    },
    entry: "entry",
    now: () => now,
    renew: () => {
      renewals += 1;
      return answer();
    },
    wait: () => new Promise((resolve) => waits.push(resolve)),
    ...changes,
  });
}

function signedIn(changes: Partial<Tokens> = {}, options: Partial<SignInOptions> = {}): SignIn {
  const signIn = create(options);
  signIn.accept(tokens("first", { name: "Uma", ...changes }), AT);
  return signIn;
}

/** Grants locks in the order of their requests. */
function heldLocks(): LockManager {
  const held = new Map<string, Promise<unknown>>();
  return {
    request: (name: string, use: () => Promise<unknown>) => {
      const result = (held.get(name) ?? Promise.resolve()).then(use);
      held.set(name, result);
      return result;
    },
  } as unknown as LockManager;
}

describe("a sign-in", () => {
  it("renews a minute before expiry, once for concurrent calls, and keeps values that the issuer omits", async () => {
    const signIn = signedIn();
    now += HOUR - 61_000;
    expect(await signIn.token()).toBe("first");
    now += 2_000;
    answer = () => Promise.resolve(tokens("second", { refreshToken: null }));
    expect(await Promise.all([signIn.token(), signIn.token()])).toEqual(["second", "second"]);
    expect(renewals).toBe(1);
    expect(signIn.state().signedIn).toMatchObject({ name: "Uma", refreshToken: "refresh of first" });
    expect(create().state().signedIn?.token).toBe("second");
  });

  it("backs off while the issuer is unreachable, uses the token until it expires, and recovers", async () => {
    const signIn = signedIn();
    now += HOUR - 30_000;
    answer = () => Promise.reject(new Error("down"));
    for (let call = 0; call < 3; call += 1) expect(await signIn.token()).toBe("first");
    expect(renewals).toBe(1);
    now += 31_000;
    await expect(signIn.token()).rejects.toThrow("down");
    expect(signIn.state().signedIn).not.toBeNull();
    answer = () => Promise.resolve(tokens("later"));
    expect(await signIn.token()).toBe("later");
  });

  it("ends if the issuer refuses", async () => {
    const signIn = signedIn();
    now += HOUR;
    answer = () => Promise.reject(new SignInOver("refused"));
    await expect(signIn.token()).rejects.toThrow(ENDED);
    expect(signIn.state()).toEqual({ signedIn: null, reason: ENDED });
    expect(stored.size).toBe(0);
  });

  it("ends when the token expires if there is no refresh token", async () => {
    const signIn = signedIn({ refreshToken: null });
    now += HOUR - 1;
    expect(await signIn.token()).toBe("first");
    now += 1;
    await expect(signIn.token()).rejects.toThrow(ENDED);
  });

  it("renews if the device's clock was set back, and if the service reports an expired token", async () => {
    const signIn = signedIn();
    now -= 24 * HOUR;
    expect(await signIn.token()).toBe("token 1");
    now += 20_000;
    signIn.expire("another token");
    expect(await signIn.token()).toBe("token 1");
    signIn.expire("token 1");
    expect(await signIn.token()).toBe("token 2");
    // The renewed token counts as expired too, so another renewal would loop.
    signIn.expire("token 2");
    await expect(signIn.token()).rejects.toThrow(ENDED);
    expect(signIn.state().reason).toMatch(/clock/);
  });

  it("stays ended if it is signed out during a renewal", async () => {
    const signIn = signedIn();
    now += HOUR - 1;
    const renewed = Promise.withResolvers<Tokens>();
    answer = () => renewed.promise;
    const token = signIn.token();
    signIn.end(null);
    renewed.resolve(tokens("late"));
    await expect(token).rejects.toThrow(ENDED);
    expect(stored.size).toBe(0);
  });

  it("renews in only one of two duplicated tabs", async () => {
    const locks = heldLocks();
    const first = signedIn({}, { locks });
    const copy = create({ locks });
    now += HOUR - 1;
    const ofCopy = copy.token();
    await expect.poll(() => waits.length).toBe(1);
    waits[0]!();
    expect(await ofCopy).toBe("first");
    expect(renewals).toBe(0);
    expect(await first.token()).toBe("token 1");
    now += 1;
    const late = copy.token();
    await expect.poll(() => waits.length).toBeGreaterThan(2);
    for (const end of waits) end();
    await expect(late).rejects.toThrow(ENDED);
  });

  it("renews after a reload while a duplicate whose sign-in ended waits for the lock", async () => {
    const locks = heldLocks();
    const first = signedIn({}, { locks });
    const copy = create({ locks });
    const ended = stored.get("entry") ?? "";
    copy.end(ENDED);
    stored.set("entry", ended);
    const reloaded = create({ locks });
    first.end(null);
    now += HOUR - 1;
    const token = reloaded.token();
    await expect.poll(() => renewals).toBe(1);
    expect(await token).toBe("token 1");
  });

  it("leaves the refresh token to its duplicate if it ends while waiting for the lock", async () => {
    const locks = heldLocks();
    const first = signedIn({}, { locks });
    const copy = create({ locks });
    now += HOUR - 1;
    const ofCopy = copy.token();
    await expect.poll(() => waits.length).toBe(1);
    copy.end(null);
    first.end(null);
    await expect(ofCopy).rejects.toThrow(ENDED);
    expect(renewals).toBe(0);
  });

  it("ends if the App's client has changed", () => {
    const signIn = signedIn();
    signIn.endUnlessMadeWith({ ...AT, scope: "openid profile" });
    expect(signIn.state().signedIn).not.toBeNull();
    signIn.endUnlessMadeWith({ ...AT, client_id: "other" });
    expect(signIn.state()).toEqual({ signedIn: null, reason: ENDED });
  });
});
