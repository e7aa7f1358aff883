// OpenID Connect requests: authorization code flow with PKCE (RFC 9700 section 2.1.1), as a public client.
// Imports the library on first use.

import type { Page, PageSignIn } from "@colloquy/client";
import type * as Library from "oauth4webapi";
import type { KeyValueStore } from "@colloquy/ui/parts";
import { SignInOver, type SignedIn, type Tokens } from "./sign-in.ts";

/** Role in which the user signs in. */
export type Purpose = "user" | "operator";

/** A sign-in between the redirect to the issuer and the return. */
interface Pending {
  readonly purpose: Purpose;
  readonly app: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  /** Hash to restore afterwards. Only the hash, so that the sign-in cannot be used as an open redirect. */
  readonly hash: string;
}

/** The authorization response in the page's URL. */
export interface Returned {
  /** `null` if this tab did not start the sign-in. */
  readonly pending: Pending | null;
  readonly parameters: URLSearchParams;
}

/** The browser APIs used here. */
export interface SignInPage {
  readonly location: Pick<Location, "href" | "search" | "hash" | "pathname" | "assign">;
  readonly history: Pick<History, "replaceState">;
  readonly isSecureContext: boolean;
}

const ENTRY = "colloquy.sign-in-begun";
const TEN_YEARS_S = 10 * 365 * 24 * 60 * 60;

/** Shown if this tab did not start the sign-in. */
const OTHER_TAB =
  "This sign-in was started in another tab or window, or is already finished. Sign in again here.";
const UNREACHABLE = "The sign-in server cannot be reached. Try again in a minute.";

/** Returns the redirect URI to register at the issuer: the page's directory, without query and fragment. */
function pageAddress({ href }: Pick<Location, "href">): string {
  return new URL(".", href).href;
}

/** Redirects to the issuer. Rejects with an `Error` that has a user-facing message. */
export async function beginSignIn(
  at: PageSignIn,
  { purpose, app }: { readonly purpose: Purpose; readonly app: string },
  page: SignInPage,
  storage: KeyValueStore,
): Promise<void> {
  // PKCE needs `crypto.subtle`, which browsers provide only in secure contexts (Web Cryptography section 4).
  if (!page.isSecureContext)
    throw new Error("Sign-in requires https. Ask the operator of this service for its https address.");
  if (at.provider === null) throw new Error(UNREACHABLE);
  const library = await load();
  const pending: Pending = {
    purpose,
    app,
    issuer: at.issuer,
    clientId: at.client_id,
    state: library.generateRandomState(),
    nonce: library.generateRandomNonce(),
    verifier: library.generateRandomCodeVerifier(),
    hash: page.location.hash,
  };
  try {
    storage.setItem(ENTRY, JSON.stringify(pending));
  } catch {
    throw new Error("Your browser blocks site data for this page. Allow it, and sign in again.");
  }
  const address = new URL(at.provider.authorization_endpoint);
  const parameters = {
    ...at.parameters,
    client_id: at.client_id,
    response_type: "code",
    redirect_uri: pageAddress(page.location),
    scope: at.scope,
    state: pending.state,
    nonce: pending.nonce,
    code_challenge: await library.calculatePKCECodeChallenge(pending.verifier),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value);
  page.location.assign(address.href);
}

/**
 * Removes the authorization response from the page's URL, before other code can read or log it, and returns it;
 * `null` if the URL has none. Each sign-in can be finished only once.
 */
export function takeReturned(page: SignInPage, storage: KeyValueStore): Returned | null {
  const parameters = new URLSearchParams(page.location.search);
  if (!parameters.has("state") || !(parameters.has("code") || parameters.has("error"))) return null;
  const begun = loadPending(storage);
  const pending = begun?.state === parameters.get("state") ? begun : null;
  if (pending !== null) removePending(storage);
  page.history.replaceState(null, "", page.location.pathname + (pending?.hash || page.location.hash));
  return { pending, parameters };
}

/** Exchanges the authorization response for tokens. Rejects with an `Error` that has a user-facing message. */
export async function finishSignIn(
  { pending, parameters }: Returned,
  page: Page,
  location: Pick<Location, "href">,
): Promise<{ readonly tokens: Tokens; readonly at: PageSignIn }> {
  if (pending === null) throw new Error(OTHER_TAB);
  const at = pending.purpose === "operator" ? page.operator_sign_in : page.sign_in;
  if (at === null || at.issuer !== pending.issuer || at.client_id !== pending.clientId)
    throw new Error("The sign-in settings of this service have changed. Sign in again.");
  if (at.provider === null) throw new Error(UNREACHABLE);
  const library = await load();
  const { server, client, options } = partsOf(at, library);
  try {
    const answer = library.validateAuthResponse(server, client, parameters, pending.state);
    const response = await library.authorizationCodeGrantRequest(
      server,
      client,
      library.None(),
      answer,
      pageAddress(location),
      pending.verifier,
      options,
    );
    const result = await library.processAuthorizationCodeResponse(server, client, response, {
      expectedNonce: pending.nonce,
      requireIdToken: true,
    });
    return { tokens: tokensOf(result, at, library), at };
  } catch (error) {
    throw new Error(sentenceFor(error, library), { cause: error });
  }
}

/** Exchanges the refresh token for new tokens. Throws `SignInOver` if the issuer rejects it. */
export async function renewSignIn({ at, refreshToken }: SignedIn): Promise<Tokens> {
  const library = await load();
  const { server, client, options } = partsOf(at, library);
  try {
    const response = await library.refreshTokenGrantRequest(
      server,
      client,
      library.None(),
      refreshToken ?? "",
      options,
    );
    return tokensOf(await library.processRefreshTokenResponse(server, client, response), at, library);
  } catch (error) {
    // The issuer rejected the request itself. 429, 5xx and network errors are temporary.
    const isRejected =
      error instanceof library.ResponseBodyError && error.status < 500 && error.status !== 429;
    if (isRejected || error instanceof SignInOver) throw new SignInOver("refused", { cause: error });
    throw new Error(UNREACHABLE, { cause: error });
  }
}

/**
 * Returns the issuer's logout URL; `null` if the issuer has none. Omits `id_token_hint`, to keep tokens out of
 * URLs. The issuer may therefore require a confirmation by the user (RP-Initiated Logout 1.0 section 2).
 */
export function signOutAddress({ at }: SignedIn, location: Pick<Location, "href">): string | null {
  const endpoint = at.provider?.end_session_endpoint;
  if (endpoint === undefined) return null;
  const address = new URL(endpoint);
  address.searchParams.set("client_id", at.client_id);
  address.searchParams.set("post_logout_redirect_uri", pageAddress(location));
  return address.href;
}

function load(): Promise<typeof Library> {
  return import("oauth4webapi");
}

function partsOf({ issuer, client_id, provider, parameters }: PageSignIn, library: typeof Library) {
  const { authorization_endpoint, token_endpoint = "", ...rest } = provider ?? {};
  const known = Object.entries(rest).filter(([, value]) => value !== undefined);
  const server: Library.AuthorizationServer = {
    issuer,
    ...(authorization_endpoint !== undefined && { authorization_endpoint }),
    token_endpoint,
    ...Object.fromEntries(known),
  };
  const client: Library.Client = {
    client_id,
    // The device's clock may be wrong. A token that comes directly from the issuer with this nonce is fresh, and
    // the service checks its times against its own clock.
    [library.clockTolerance]: TEN_YEARS_S,
  };
  const { resource } = parameters;
  const options = {
    // The service returns http:// endpoints only on loopback.
    [library.allowInsecureRequests]: token_endpoint.startsWith("http:"),
    signal: () => AbortSignal.timeout(20_000),
    // Request a token for this API only (RFC 8707 section 2.2).
    ...(resource !== undefined && { additionalParameters: { resource } }),
  };
  return { server, client, options };
}

function tokensOf(result: Library.TokenEndpointResponse, at: PageSignIn, library: typeof Library): Tokens {
  const claims = library.getValidatedIdTokenClaims(result);
  const token = at.token === "id_token" ? result.id_token : result.access_token;
  // A refresh response may omit the ID token (OpenID Connect Core 1.0 section 12.2).
  if (token === undefined) throw new SignInOver("The issuer returned no ID token.");
  const ofIdToken = claims === undefined ? null : (claims.exp - claims.iat) * 1_000;
  const ofAccessToken = result.expires_in === undefined ? null : result.expires_in * 1_000;
  return {
    token,
    lifetimeMs: at.token === "id_token" ? ofIdToken : ofAccessToken,
    refreshToken: result.refresh_token ?? null,
    name: nameOf(claims),
  };
}

/** Returns the user's name from the standard claims (OpenID Connect Core 1.0 section 5.1); `null` if it has none. */
function nameOf(claims: Readonly<Record<string, unknown>> | undefined): string | null {
  const names = [claims?.["name"], claims?.["preferred_username"], claims?.["email"], claims?.["sub"]];
  const name = names.find((name) => typeof name === "string" && name.trim() !== "");
  return (name as string | undefined) ?? null;
}

/** Returns a user-facing message. Never includes text from the URL, which an attacker may have crafted. */
function sentenceFor(error: unknown, library: typeof Library): string {
  if (error instanceof library.AuthorizationResponseError) {
    if (error.error === "access_denied")
      return "You were not signed in: access was denied, or you cancelled.";
    if (error.error === "temporarily_unavailable" || error.error === "server_error") return UNREACHABLE;
    return `The sign-in server rejected the request of this page (${shortCode(error.error)}). Tell the operator of this service.`;
  }
  if (error instanceof library.ResponseBodyError) {
    return error.error === "invalid_grant"
      ? "This sign-in took too long, or is already finished. Sign in again."
      : `The sign-in server rejected this page (${shortCode(error.error)}). Tell the operator of this service.`;
  }
  // For example, a network error, or the issuer's CORS policy blocks this page.
  if (error instanceof TypeError || error instanceof DOMException) return UNREACHABLE;
  return "You were not signed in: the sign-in server sent an invalid response. Sign in again.";
}

function shortCode(code: string): string {
  return /^\w{1,40}$/.test(code) ? code : "no reason";
}

function loadPending(storage: KeyValueStore): Pending | null {
  try {
    return JSON.parse(storage.getItem(ENTRY) ?? "null") as Pending | null;
  } catch {
    return null;
  }
}

function removePending(storage: KeyValueStore): void {
  try {
    storage.removeItem(ENTRY);
  } catch {
    // Storage is unavailable, so there is nothing to remove.
  }
}
