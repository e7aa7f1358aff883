import { createClient, type Client } from "@colloquy/client";
import { afterAll, beforeAll } from "vitest";
import { Program } from "../../server/test/black-box/server.ts";
import { Issuer } from "../../server/test/issuer.ts";
import { openPage, type Page } from "./harness.tsx";

export interface SignedInPage {
  readonly page: Page;
  /** Returns a client with the user's token; `null` for a client without a token. */
  clientOf(user: string | null): Client;
}

/** Starts a service with users, a token issuer and a page for the tests of a file. `app` has more settings. */
export function useSignedInPage(app: object = {}): SignedInPage {
  let opened: { readonly issuer: Issuer; readonly program: Program; readonly page: Page };
  beforeAll(async () => {
    const issuer = await Issuer.start();
    const users = { issuer: issuer.url, audience: "here", required: "approvals" in app };
    opened = {
      issuer,
      program: await Program.start({ apps: { default: { users, ...app } } }),
      page: await openPage(),
    };
  });
  afterAll(async () => {
    await opened.page.stop();
    await opened.program.remove();
    await opened.issuer.stop();
  });
  return {
    get page() {
      return opened.page;
    },
    clientOf: (user) => {
      const token = user === null ? null : opened.issuer.token(user, "here");
      return createClient({ baseUrl: opened.program.url, ...(token !== null && { token: () => token }) });
    },
  };
}
