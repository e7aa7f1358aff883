import { expect, it } from "vitest";
import { WalletRequests } from "./wallet-requests.ts";

const HASH = { transaction_hash: "0xb7" };
const ACTION = { id: "a", until: "2026-11-22T05:00:00.000Z" };
const SEND = { method: "eth_sendTransaction" };

function storage() {
  const kept = new Map<string, string>();
  return {
    kept,
    get length() {
      return kept.size;
    },
    key: (at: number) => [...kept.keys()][at] ?? null,
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => void kept.set(name, value),
    removeItem: (name: string) => void kept.delete(name),
  };
}

function page() {
  const [localStorage, sessionStorage] = [storage(), storage()];
  return {
    localStorage,
    sessionStorage,
    location: { href: "http://host/" },
    navigator: {},
    addEventListener: () => undefined,
    removeEventListener: () => undefined,
  };
}

it("records a transaction for all tabs before the wallet is asked, and no other request", async () => {
  const shared = page();
  const [requests, other] = [new WalletRequests(shared), new WalletRequests(shared)];
  const seen: unknown[] = [];
  const wallet = requests.recording(
    { request: async ({ method }) => seen.push([method, other.wasAsked("a")]) },
    ACTION,
  );
  await wallet.request({ method: "eth_chainId" });
  await wallet.request(SEND);
  expect(seen).toEqual([
    ["eth_chainId", false],
    ["eth_sendTransaction", true],
  ]);
  requests.keep("a", HASH);
  expect(other.given("a")).toEqual(HASH);
  other.forget("a");
  expect([requests.given("a"), requests.wasAsked("a"), shared.localStorage.kept.size]).toEqual([
    null,
    false,
    0,
  ]);
});

it.each([
  ["declined", 4001, false],
  ["lost on its way", -32_603, true],
])("records whether a request that was %s may have been sent: %s", async (_how, code, isNoted) => {
  const requests = new WalletRequests(page());
  const wallet = requests.recording(
    { request: () => Promise.reject(Object.assign(new Error(), { code })) },
    ACTION,
  );
  await expect(wallet.request(SEND)).rejects.toMatchObject({ code });
  expect(requests.wasAsked("a")).toBe(isNoted);
});

it("keeps a signature in its tab", () => {
  const shared = page();
  const requests = new WalletRequests(shared);
  requests.keep("a", { signature: "0x5a" });
  expect(requests.given("a")).toEqual({ signature: "0x5a" });
  expect([shared.localStorage.kept.size, shared.sessionStorage.kept.size]).toEqual([0, 1]);
});

it("falls back to memory where the browser refuses storage", async () => {
  const refuse = (): never => {
    throw new Error("SecurityError");
  };
  const forbidden = { length: 0, key: refuse, getItem: refuse, setItem: refuse, removeItem: refuse };
  const requests = new WalletRequests({ ...page(), localStorage: forbidden, sessionStorage: forbidden });
  await requests.recording({ request: async () => null }, ACTION).request(SEND);
  requests.keep("a", HASH);
  expect([requests.wasAsked("a"), requests.given("a")]).toEqual([true, HASH]);
  requests.forget("a");
  expect([requests.wasAsked("a"), requests.given("a")]).toEqual([false, null]);
});

it("joins a pending request, which runs once", async () => {
  const requests = new WalletRequests(page());
  const gate = Promise.withResolvers<void>();
  let begun = 0;
  const work = () => {
    begun += 1;
    return gate.promise;
  };
  const both = [requests.join("a", work), requests.join("a", work)];
  expect([begun, requests.inFlight("a"), requests.inFlight("b")]).toEqual([1, both[0], null]);
  gate.resolve();
  await Promise.all(both);
  expect(requests.inFlight("a")).toBeNull();
});

it("rethrows an error of the work, and does not retry without the lock", async () => {
  // Like browsers: the rejection of the callback rejects the request.
  const locks = {
    request: (_name: string, _options: object, work: (lock: object) => unknown) => Promise.resolve(work({})),
  };
  const requests = new WalletRequests({ ...page(), navigator: { locks: locks as unknown as LockManager } });
  let times = 0;
  const failing = requests.alone("a", async () => {
    times += 1;
    throw new Error("No.");
  });
  await expect(failing).rejects.toThrow("No.");
  expect(times).toBe(1);
});

it("removes results of long-expired actions, and no others, when the page loads", () => {
  const { localStorage, ...rest } = page();
  const soon = new Date(Date.now() + 600_000).toISOString();
  const entries = [
    ["colloquy.asked.old", "2026-01-01T00:00:00.000Z"],
    ["colloquy.given.old", JSON.stringify(HASH)],
    ["colloquy.asked.old /path/", "2026-01-01T00:00:00.000Z"],
    ["colloquy.given.old /path/", JSON.stringify(HASH)],
    ["colloquy.asked.new", soon],
    ["colloquy.given.new", JSON.stringify(HASH)],
    ["colloquy.threads", "2026-01-01T00:00:00.000Z"],
  ] as const;
  for (const [name, value] of entries) localStorage.setItem(name, value);
  new WalletRequests({ ...rest, localStorage });
  expect([...localStorage.kept.keys()]).toEqual([
    "colloquy.asked.new",
    "colloquy.given.new",
    "colloquy.threads",
  ]);
});
