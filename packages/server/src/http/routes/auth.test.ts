import { describe, expect, it } from "vitest";
import type { WalletProof } from "../../core/ports/driving/credentials.ts";
import { expectProblem } from "../testing/expect-problem.ts";
import { type EdgeChanges, testEdge } from "../testing/edge.ts";

async function verify(changes: EdgeChanges) {
  const edge = testEdge(changes);
  const proofs: WalletProof[] = [];
  edge.services.wallets.verify = async (proof) => {
    proofs.push(proof);
    return { token: "token", expiresAt: 0, wallets: ["0xa"] };
  };
  const payload = { message: "a message", signature: "0x00" };
  const answer = await edge.send("POST", "/api/auth/siwe/verify", {
    headers: { host: "localhost:3000" },
    payload,
  });
  return { answer, domains: proofs.map(({ domains }) => domains) };
}

describe("the domains of a sign-in with a wallet", () => {
  it.each<[string, EdgeChanges, readonly string[]]>([
    ["the configured ones", { signInDomains: ["chat.example.com"] }, ["chat.example.com"]],
    ["the host of the request on a loopback bind", {}, ["localhost:3000"]],
  ])("are %s", async (_which, changes, domains) => {
    expect((await verify(changes)).domains).toEqual([domains]);
  });

  it.each<[string, EdgeChanges]>([
    ["on another bind", { loopback: false, allowedHosts: ["localhost"] }],
    ["behind a trusted proxy", { trustedProxies: ["192.0.2.1"], allowedHosts: ["localhost"] }],
  ])("are unknown %s, which is 503", async (_where, changes) => {
    const { answer, domains } = await verify(changes);
    expectProblem(answer, 503, "siwe_unavailable");
    expect(answer.headers["retry-after"]).toBe("60");
    expect(domains).toEqual([]);
  });
});
