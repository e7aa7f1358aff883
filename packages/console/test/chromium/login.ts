// An OpenID provider for tests: `oidc-provider` with its built-in pages, on a loopback port.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWK } from "jose";
import Provider, { type Configuration } from "oidc-provider";
import type { Page } from "playwright-core";

export const AUDIENCE = "https://chat.example.com";
export const OPERATORS = "https://operate.example.com";
export const CLIENT = "console";

export interface LoginRequest {
  readonly method: string;
  readonly path: string;
}

/** Counts token requests. `isBusy` makes the token endpoint respond with 503. */
export class Login {
  readonly url: string;
  readonly requests: LoginRequest[] = [];
  /** Lifetime of access tokens in seconds. */
  tokenSeconds = 3600;
  isBusy = false;
  /** True to refuse refresh tokens. */
  isOver = false;
  readonly #server: Server;
  readonly #key: JWK;

  private constructor(server: Server, key: JWK) {
    this.#server = server;
    this.#key = key;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(): Promise<Login> {
    const { privateKey } = await generateKeyPair("ES256", { extractable: true });
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new Login(server, { ...(await exportJWK(privateKey)), kid: "first", use: "sig", alg: "ES256" });
  }

  /** Registers the console at this address, as a public client. */
  register(page: string, changes: Partial<Configuration> = {}): void {
    const provider = new Provider(this.url, {
      clients: [
        {
          client_id: CLIENT,
          token_endpoint_auth_method: "none",
          redirect_uris: [`${page}/`],
          post_logout_redirect_uris: [`${page}/`],
          grant_types: ["authorization_code", "refresh_token"],
          id_token_signed_response_alg: "ES256",
        },
      ],
      jwks: { keys: [this.#key] as never },
      cookies: { keys: ["a secret of the test"] },
      claims: { openid: ["sub"], profile: ["name"] },
      conformIdTokenClaims: false,
      clientBasedCORS: () => true,
      issueRefreshToken: () => Promise.resolve(true),
      findAccount: (_context, id) => ({
        accountId: id,
        claims: () => ({ sub: id, name: `${id} of the test` }),
      }),
      extraTokenClaims: (_context, token) => ({
        groups: "accountId" in token && token.accountId === "olga" ? ["operators"] : [],
      }),
      features: {
        devInteractions: { enabled: true },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: (_context, audience) => ({
            audience,
            scope: "",
            accessTokenFormat: "jwt",
            accessTokenTTL: this.tokenSeconds,
            jwt: { sign: { alg: "ES256" } },
          }),
        },
      },
      ...changes,
    });
    const answer = provider.callback();
    this.#server.removeAllListeners("request");
    this.#server.on("request", (request, response) => {
      const [path = ""] = (request.url ?? "").split("?");
      this.requests.push({ method: request.method ?? "", path });
      if (path === "/token" && this.isBusy) {
        response.writeHead(503, { "access-control-allow-origin": "*" }).end();
        return;
      }
      if (path === "/token" && this.isOver) {
        const headers = { "access-control-allow-origin": "*", "content-type": "application/json" };
        response.writeHead(400, headers).end('{"error":"invalid_grant"}');
        return;
      }
      void answer(request, response);
    });
  }

  /** Number of answers to requests for tokens. */
  get tokenRequests(): number {
    return this.requests.filter(({ method, path }) => method === "POST" && path === "/token").length;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Enters a name on the provider's pages and consents. */
export async function logIn(page: Page, name: string): Promise<void> {
  await page.locator('input[name="login"]').fill(name);
  await page.locator('input[name="password"]').fill("any");
  await page.getByRole("button", { name: /sign.?in/i }).click();
  await page.getByRole("button", { name: /continue/i }).click();
}
