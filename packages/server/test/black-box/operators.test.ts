// Operators who sign in with tokens of a real issuer. `npm run test:nodes` runs this on three nodes too.

import { afterAll, beforeAll, expect, it } from "vitest";
import { Issuer } from "../issuer.ts";
import { expectProblem, newSession, send } from "./client.ts";
import { Program } from "./server.ts";

let issuer: Issuer;
let program: Program;
beforeAll(async () => {
  issuer = await Issuer.start();
  program = await Program.start({
    apps: { default: { users: { issuer: issuer.url, audience: "here" } } },
    operators: {
      issuer: issuer.url,
      audience: "operators",
      claim: "realm_access.roles",
      values: ["support", "admin"],
    },
  });
});
afterAll(async () => {
  await program.remove();
  await issuer.stop();
});

const claims = (more: object = {}) => ({
  iss: issuer.url,
  aud: "operators",
  sub: "ada",
  exp: Math.floor(Date.now() / 1000) + 600,
  realm_access: { roles: ["offline_access", "support"] },
  ...more,
});

const ask = (token: string, method = "GET", path = "/api/admin/apps") =>
  send(program.url, method, path, { session: newSession(), headers: { Authorization: `Bearer ${token}` } });

it("opens the admin API to a token with the claim, without COLLOQUY_ADMIN_KEY", async () => {
  const token = await issuer.sign(claims());
  expect((await ask(token)).json()).toMatchObject([{ name: "default" }]);
  expect((await ask(token, "POST", "/api/admin/keys")).status).toBe(400);
});

it("rejects a valid token of a user who is not an operator", async () => {
  for (const realm_access of [{ roles: ["offline_access"] }, { roles: "nobody" }, "support", null]) {
    expectProblem(await ask(await issuer.sign(claims({ realm_access }))), 403, "operator_unknown");
  }
});

it("rejects users' tokens, expired tokens and those of other issuers, and counts them as guesses", async () => {
  const user = await issuer.token("alice", "here");
  expectProblem(await ask(user), 401, "token_audience_wrong");
  expectProblem(await ask(await issuer.sign(claims({ exp: 1 }))), 401, "token_expired");
  expectProblem(
    await ask(await issuer.sign(claims({ iss: "https://other.example.com" }))),
    401,
    "token_issuer_unknown",
  );
  expectProblem(await ask("no token"), 401, "admin_key_invalid");
  // A user's token works where it belongs, and an operator's does not.
  const session = newSession();
  const state = (token: string) =>
    send(program.url, "GET", "/api/state", { session, headers: { Authorization: `Bearer ${token}` } });
  expect((await state(user)).status).toBe(200);
  expectProblem(await state(await issuer.sign(claims())), 401, "token_audience_wrong");
  const metrics = await (await fetch(`${program.url}/metrics`)).text();
  expect(metrics).toContain('colloquy_admin_keys_refused_total{reason="wrong"} ');
});
