// The list of conversations of a signed-in user, with a real token issuer.

import { useEffect, type ReactNode } from "react";
import { expect, it } from "vitest";
import { useThreads } from "../src/index.ts";
import { useSignedInPage } from "./signed-in-page.ts";

const signedIn = useSignedInPage();

/** The ids that the list shows, newest first. */
let listed: readonly string[] = [];
function List(): ReactNode {
  const { threads } = useThreads();
  useEffect(() => {
    listed = threads.map(({ session_id }) => session_id);
  });
  return null;
}

it("lists the user's conversations on every device, and the next user's after a switch", async () => {
  const [ada, bob] = [signedIn.clientOf("ada"), signedIn.clientOf("bob")];
  const first = ada.session();
  await first.send("hello", { wait: true });
  const shown = signedIn.page.show(<List />, { client: signedIn.clientOf("ada"), signedIn: true });
  await signedIn.page.until(() => listed.includes(first.id));
  shown.unmount();
  listed = [];
  const second = bob.session();
  await second.send("hello", { wait: true });
  signedIn.page.show(<List />, { client: bob, signedIn: true });
  await signedIn.page.until(() => listed.length > 0);
  expect(listed).toEqual([second.id]);
});
