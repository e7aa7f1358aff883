import { createSiweMessage } from "viem/siwe";
import { describe, expect, it } from "vitest";
import { newAccount } from "../../../test/sign-in-messages.ts";
import { expectProblem } from "../testing/expect-problem.ts";
import { type EdgeChanges, startEdges } from "../testing/edge.ts";

const edges = await startEdges({ apps: { default: { wallets: "proved" } } });

/** Sends a signed message for the domain to localhost:3000. */
async function verify(changes: EdgeChanges, domain: string) {
  const edge = edges.testEdge(changes);
  const { nonce } = (await edge.send("POST", "/api/auth/siwe/nonce")).json<{ nonce: string }>();
  const account = newAccount();
  const common = { address: account.address, uri: `http://${domain}`, version: "1", chainId: 1 } as const;
  const issuedAt = new Date(edges.service.clock.now());
  const message = createSiweMessage({ ...common, domain, nonce, issuedAt });
  const payload = { message, signature: await account.signMessage({ message }) };
  return await edge.send("POST", "/api/auth/siwe/verify", { headers: { host: "localhost:3000" }, payload });
}

describe("the domains of a sign-in with a wallet", () => {
  it.each<[string, EdgeChanges, string, string]>([
    ["the configured ones", { signInDomains: ["chat.example.com"] }, "chat.example.com", "localhost:3000"],
    ["the host of the request on a loopback bind", {}, "localhost:3000", "chat.example.com"],
  ])("are %s", async (_which, changes, good, bad) => {
    expect((await verify(changes, good)).statusCode).toBe(200);
    expectProblem(await verify(changes, bad), 401, "siwe_domain_refused");
  });

  it.each<[string, EdgeChanges]>([
    ["on another bind", { loopback: false, allowedHosts: ["localhost"] }],
    ["behind a trusted proxy", { trustedProxies: ["192.0.2.1"], allowedHosts: ["localhost"] }],
  ])("are unknown %s, which is 503", async (_where, changes) => {
    const answer = await verify(changes, "localhost:3000");
    expectProblem(answer, 503, "siwe_unavailable");
    expect(answer.headers["retry-after"]).toBe("60");
  });
});
