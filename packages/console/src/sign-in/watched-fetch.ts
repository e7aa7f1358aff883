import type { SignIn } from "./sign-in.ts";

/** Codes of refusals that do not end the sign-in, because they are about something else or temporary. */
const OTHER_CODES = new Set(["token_required", "token_not_yet_valid"]);

/** Wraps `fetch` to update the sign-in when the service rejects its token. */
export function watchedFetch(fetch: typeof globalThis.fetch, signIn: SignIn): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (response.status !== 401) return response;
    const sent = new Headers(init?.headers).get("Authorization")?.replace(/^Bearer /, "");
    const { signedIn } = signIn.state();
    if (sent === undefined || signedIn?.token !== sent) return response;
    const { code, detail } = await problemOf(response.clone());
    if (code === "token_expired") signIn.expire(sent);
    else if (code.startsWith("token_") && !OTHER_CODES.has(code))
      signIn.end(`The service did not accept your sign-in. ${detail}`);
    return response;
  };
}

async function problemOf(response: Response): Promise<{ readonly code: string; readonly detail: string }> {
  try {
    const { code, detail } = (await response.json()) as Readonly<Record<string, unknown>>;
    return { code: String(code), detail: String(detail) };
  } catch {
    return { code: "", detail: "" };
  }
}
