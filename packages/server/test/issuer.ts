// An OpenID Connect issuer of a test (`oidc-provider`), on a loopback port.

import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import {
  exportJWK,
  generateKeyPair,
  SignJWT,
  type JWK,
  type JWTHeaderParameters,
  type JWTPayload,
} from "jose";
import Provider from "oidc-provider";
import { findFreePort } from "../torture/harness/server-process.ts";

const CLIENT = "web";

interface SigningKey {
  readonly jwk: JWK;
  readonly privateKey: CryptoKey;
}

export class Issuer {
  /** The `iss` of its tokens. */
  readonly url: string;
  readonly #port: number;
  #server: Server;
  #provider: Provider;
  #key: SigningKey;

  private constructor(server: Server, key: SigningKey) {
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port;
    this.url = `http://127.0.0.1:${this.#port}`;
    this.#key = key;
    this.#provider = this.#serve();
  }

  static async start(): Promise<Issuer> {
    // Outside the ephemeral range, so that nobody takes the port while the issuer is stopped.
    return new Issuer(await listen(await findFreePort()), await newKey("first"));
  }

  /** Returns an access token that the provider issues to a user, valid for `seconds`. */
  async token(subject: string, audience: string, seconds = 3600): Promise<string> {
    const client = await this.#provider.Client.find(CLIENT);
    if (client === undefined) throw new Error("The client of the test is missing");
    const token = new this.#provider.AccessToken({
      accountId: subject,
      client,
      grantId: "",
      gty: "implicit",
    });
    token.resourceServer = new this.#provider.ResourceServer(audience, resourceServer(audience, seconds));
    return await token.save();
  }

  /** Signs any claims with the key of the issuer. */
  async sign(claims: JWTPayload, header: Partial<JWTHeaderParameters> = {}): Promise<string> {
    const { privateKey, jwk } = this.#key;
    return await new SignJWT(claims)
      .setProtectedHeader({ alg: "ES256", kid: jwk.kid ?? "", ...header })
      .sign(privateKey);
  }

  /** The public key, as the issuer publishes it. */
  get publicKey(): JWK {
    const { d: _, ...publicKey } = this.#key.jwk;
    return publicKey;
  }

  /** Replaces the signing key. */
  async rotate(): Promise<void> {
    this.#key = await newKey(`after ${this.#key.jwk.kid ?? ""}`);
    this.#server.removeAllListeners("request");
    this.#provider = this.#serve();
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Listens again on the same port. */
  async resume(): Promise<void> {
    this.#server = await listen(this.#port);
    this.#provider = this.#serve();
  }

  #serve(): Provider {
    const provider = new Provider(this.url, {
      clients: [
        {
          client_id: CLIENT,
          client_secret: "a secret of the test",
          redirect_uris: [`${this.url}/back`],
          id_token_signed_response_alg: "ES256",
        },
      ],
      jwks: { keys: [{ ...this.#key.jwk, use: "sig", alg: "ES256" }] },
      features: { devInteractions: { enabled: false } },
      cookies: { keys: ["a secret of the test"] },
    });
    const answer = provider.callback();
    this.#server.on("request", (request, response) => void answer(request, response));
    return provider;
  }
}

function resourceServer(audience: string, seconds: number) {
  return {
    audience,
    scope: "",
    accessTokenFormat: "jwt" as const,
    accessTokenTTL: seconds,
    jwt: { sign: { alg: "ES256" as const } },
  };
}

async function newKey(kid: string): Promise<SigningKey> {
  const { privateKey } = await generateKeyPair("ES256", { extractable: true });
  return { jwk: { ...(await exportJWK(privateKey)), kid }, privateKey };
}

async function listen(port: number): Promise<Server> {
  const server = createServer().listen(port, "127.0.0.1");
  await once(server, "listening");
  return server;
}
