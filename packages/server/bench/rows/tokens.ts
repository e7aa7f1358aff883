// Cost of sign-in tokens per request: compares requests of a signed-in user with anonymous ones to a server without users.

import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { getRequest, randomSessionId } from "../load/requests.ts";
import type { Row } from "../table.ts";
import { compareFeature } from "./compare.ts";
import type { RowContext } from "./row.ts";
import { makeSmallSession } from "./state.ts";

/** Minimum ratio of the throughput with a token. */
const LEAST = 0.85;
const ISSUER = "https://issuer.example.com";
const AUDIENCE = "bench";

export async function measureTokens(context: RowContext): Promise<readonly Row[]> {
  const { privateKey, publicKey } = await generateKeyPair("ES256");
  const jwk = { ...(await exportJWK(publicKey)), kty: "EC", kid: "bench", alg: "ES256" };
  const token = await new SignJWT({ iss: ISSUER, aud: AUDIENCE, sub: "ada" })
    .setProtectedHeader({ alg: "ES256", kid: "bench" })
    .setExpirationTime("1h")
    .sign(privateKey);
  const users = {
    issuer: ISSUER,
    audience: AUDIENCE,
    jwksUri: null,
    keys: [jwk],
    required: false,
    claimSessions: false,
  };
  const signedIn = { feature: { users }, least: LEAST };
  const headersOf = (hasToken: boolean) => (hasToken ? `Authorization: Bearer ${token}\r\n` : "");
  return [
    await compareFeature(context, {
      ...signedIn,
      name: "state of a session of 2 KB, with a token, against the same without users",
      prepare: async (port, hasToken) => {
        const sessionId = randomSessionId();
        await makeSmallSession(context, port, sessionId, headersOf(hasToken));
        return { kind: "fixed", request: getRequest("/api/state", sessionId, headersOf(hasToken)) };
      },
    }),
    await compareFeature(context, {
      ...signedIn,
      name: "chat accepted and durable, with a token, against the same without users",
      prepare: (_port, hasToken) =>
        Promise.resolve({
          kind: "chat",
          messagesPerSession: 10,
          prefer: null,
          text: "park+this+turn",
          headers: headersOf(hasToken),
        }),
    }),
  ];
}
