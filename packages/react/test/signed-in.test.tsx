// The list of conversations of a signed-in user, with a real token issuer.

import { openPage, type Page } from "./harness.tsx";
import { createClient, type Client } from "@colloquy/client";
import { useEffect, type ReactNode } from "react";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Program } from "../../server/test/black-box/server.ts";
import { Issuer } from "../../server/test/issuer.ts";
import { useThreads } from "../src/index.ts";

let issuer: Issuer;
let program: Program;
let page: Page;
beforeAll(async () => {
  issuer = await Issuer.start();
  const users = { issuer: issuer.url, audience: "here" };
  program = await Program.start({ apps: { default: { users } } });
  page = await openPage();
});
afterAll(async () => {
  await page.stop();
  await program.remove();
  await issuer.stop();
});

/** The ids that the list shows, newest first. */
let listed: readonly string[] = [];
function List(): ReactNode {
  const { threads } = useThreads();
  useEffect(() => {
    listed = threads.map(({ session_id }) => session_id);
  });
  return null;
}

function signedIn(subject: string): Client {
  const token = issuer.token(subject, "here");
  return createClient({ baseUrl: program.url, token: () => token });
}

it("lists the user's conversations on every device, and the next user's after a switch", async () => {
  const [ada, bob] = [signedIn("ada"), signedIn("bob")];
  const first = ada.session();
  await first.send("hello", { wait: true });
  const shown = page.show(<List />, { client: signedIn("ada"), signedIn: true });
  await page.until(() => listed.includes(first.id));
  shown.unmount();
  listed = [];
  const second = bob.session();
  await second.send("hello", { wait: true });
  page.show(<List />, { client: bob, signedIn: true });
  await page.until(() => listed.length > 0);
  expect(listed).toEqual([second.id]);
});
