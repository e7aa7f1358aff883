// Signing out, and Sign-In with Ethereum, which proves a user's wallet (contract section 4).

import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { Timestamp } from "@colloquy/protocol";
import { Unavailable } from "@colloquy/engine/internal/core/errors";
import { isPublic } from "@colloquy/engine/internal/core/loopback";
import type { WalletToken as IssuedToken } from "@colloquy/engine/internal/core/ports/driving/credentials";
import { WalletToken } from "../documented.ts";
import { refusals } from "../operation.ts";
import { type HttpApp, PUBLIC, type RouteParts } from "./route-parts.ts";

const TAGS = ["Users"];

const Nonce = z.object({
  nonce: z.string().meta({ description: "Valid once, for five minutes" }),
  issued_at: Timestamp.meta({
    description: "The time, for the message's `Issued At`: the clock of a client may be wrong",
  }),
});

const Proof = z
  .object({
    message: z
      .string("must be a string")
      .min(1, "must not be empty")
      .max(8192, "must be at most 8,192 characters")
      .meta({ description: "The message as the wallet signed it (EIP-4361), with a nonce of this service" }),
    signature: z
      .templateLiteral(["0x", z.string()], "must be a string that begins with 0x")
      .refine(
        (text) => /^0x([0-9a-fA-F]{2}){1,8192}$/.test(text),
        "must be 0x and hexadecimal digits, two for each of 1 to 8,192 bytes",
      )
      .meta({ description: "The signature that the wallet returned" }),
  })
  .meta({
    description: "The signed message and its signature",
    example: {
      message:
        "chat.example.com wants you to sign in with your Ethereum account:\n0x8ba1f109551bD432803012645Ac136ddd64DBA72\n\n\nURI: https://chat.example.com\nVersion: 1\nChain ID: 1\nNonce: 019a9c1e6b60\nIssued At: 2026-11-20T12:00:00.000Z",
      signature: `0x${"5f".repeat(65)}`,
    },
  });

export function siweRoutes(app: HttpApp, parts: RouteParts): void {
  nonceAndRefresh(app, parts);
  verify(app, parts);
}

function nonceAndRefresh(app: HttpApp, { services: { wallets } }: RouteParts): void {
  app.post(
    "/api/auth/siwe/nonce",
    {
      config: PUBLIC,
      schema: {
        operationId: "createSignInNonce",
        summary: "Begin a sign-in with a wallet",
        description: "Returns a nonce for one Sign-In with Ethereum message. It expires after five minutes.",
        tags: TAGS,
        response: { 200: Nonce, ...refusals(413, 429, 503) },
      },
    },
    async () => {
      const { nonce, issuedAt } = await wallets.nonce();
      return { nonce, issued_at: new Date(issuedAt).toISOString() };
    },
  );
  app.post(
    "/api/auth/siwe/refresh",
    {
      config: { access: "token" },
      schema: {
        operationId: "refreshSignIn",
        summary: "Refresh a token that holds wallets",
        description:
          "Returns the next token of the same sign-in, for up to 24 hours after the wallet signed.",
        tags: TAGS,
        security: [{ userToken: [] }],
        response: { 200: WalletToken, ...refusals(401, 413, 429, 503) },
      },
    },
    async ({ caller }) => wireToken(await wallets.refresh(caller.requireToken())),
  );
}

function verify(app: HttpApp, { services: { wallets }, config }: RouteParts): void {
  app.post(
    "/api/auth/siwe/verify",
    {
      // The signature is the credential.
      config: PUBLIC,
      schema: {
        operationId: "verifySignIn",
        summary: "Sign in with a wallet",
        description:
          "Returns a token that holds the wallet. With a user's token in the header, it is a token of that user, which ends with the one " +
          "sent; a token that holds wallets already gets this one too.",
        tags: TAGS,
        security: [{}, { userToken: [] }],
        body: Proof,
        response: { 200: WalletToken, ...refusals(401, 413, 415, 429, 503, 507) },
      },
    },
    async (request) => {
      const { message, signature } = request.body;
      const domains = domainsFor(request, config);
      const { token } = request.caller;
      return wireToken(await wallets.verify({ message, signature, domains, token }));
    },
  );
}

function wireToken(issued: IssuedToken) {
  const { token, expiresAt, lifetimeMs, wallets } = issued;
  const expires_in = Math.max(0, Math.floor(lifetimeMs / 1000));
  return { token, expires_at: new Date(expiresAt).toISOString(), expires_in, wallets: [...wallets] };
}

/** Returns the domains that a message may be for, in lower case. @throws Unavailable 503 if none is known */
function domainsFor(request: FastifyRequest, config: RouteParts["config"]): readonly string[] {
  if (config.signInDomains.length > 0) return config.signInDomains;
  // The edge has rejected unknown hosts.
  if (!isPublic(config)) return [request.host.toLowerCase()];
  const detail =
    "Wallets cannot sign in: the domain is not known. Ask the operator of the service to set COLLOQUY_PUBLIC_URL or siwe.domains.";
  throw new Unavailable(503, "siwe_unavailable", detail, 60);
}

export function authRoutes(app: HttpApp, { services }: RouteParts): void {
  app.post(
    "/api/auth/revoke",
    {
      config: { access: "token" },
      schema: {
        operationId: "revokeToken",
        summary: "Sign out: end the token of this request",
        description:
          "The token is refused by every node within five seconds, and event streams that use it end.",
        tags: ["Users"],
        security: [{ userToken: [] }],
        response: {
          204: z.undefined().meta({ description: "The token was revoked" }),
          ...refusals(401, 413, 429, 503, 507),
        },
      },
    },
    async (request, reply) => {
      await services.users.revoke(request.caller.requireToken());
      return reply.code(204).send();
    },
  );
}
