// Actions of other users, decided by an approver, with a real service and a real token issuer.

import type { Client } from "@colloquy/client";
import { useEffect, type ReactNode } from "react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ColloquyProvider, useApprovals, type Approvals } from "../src/index.ts";
import { useSignedInPage } from "./signed-in-page.ts";

const signedIn = useSignedInPage({
  tools: ["calculator"],
  approvals: { calculator: { when: "always", approvers: { claim: "sub", values: ["mia"] } } },
});

// Drives the hook's interval alone: the page and its requests use other timers.
beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }));
afterEach(() => void vi.useRealTimers());

let shown: Approvals;
function List({ isApprover }: { readonly isApprover?: boolean }): ReactNode {
  const approvals = useApprovals(isApprover);
  useEffect(() => {
    shown = approvals;
  });
  return null;
}
const inputs = () => shown.actions?.map(({ input }) => input);
const until = (condition: () => boolean) => signedIn.page.until(condition);

/** Asks for a calculation, which waits for an approver. */
async function asked(client: Client, expression: string) {
  const session = client.session();
  await session.send(`call calculator {"expression": "${expression}"}`, { wait: true });
  return session;
}

it("lists pending actions, approves and denies them with a comment, and finds new ones", async () => {
  const uma = signedIn.clientOf("uma");
  const [one, other] = [await asked(uma, "12 * 7"), await asked(uma, "1 + 1")];
  const { unmount } = signedIn.page.show(<List />, { client: signedIn.clientOf("mia"), signedIn: true });
  expect(shown).toMatchObject({ actions: null, hasMore: false, error: null });
  await until(() => inputs()?.length === 2);
  expect(inputs()).toEqual([{ expression: "12 * 7" }, { expression: "1 + 1" }]);
  const [first, second] = shown.actions!.map(({ id }) => id);
  expect(await shown.approve(first!)).toMatchObject({ id: first, status: "approved" });
  await until(() => inputs()?.length === 1);
  expect(await shown.deny(second!, "Over the limit.")).toMatchObject({ status: "denied" });
  await until(() => inputs()?.length === 0);
  const { messages } = await one.refresh({ wait: true });
  expect(messages.at(-1)?.tool_results).toMatchObject([{ output: { result: 84 } }]);
  const denied = (await other.refresh({ wait: true })).messages.at(-1)?.tool_calls?.[0];
  expect(denied?.decision).toMatchObject({ by: "approver", comment: "Over the limit." });

  await expect(shown.deny(first!)).rejects.toMatchObject({ status: 409 });
  await asked(uma, "2 + 2");
  vi.advanceTimersByTime(15_000);
  await until(() => inputs()?.length === 1);
  await shown.deny(shown.actions![0]!.id);
  unmount();
});

it("shows nothing to users who are no approvers, and stops asking", async () => {
  const client = signedIn.clientOf("uma");
  const requests = vi.spyOn(client, "listApprovals");
  const { unmount, rerender } = signedIn.page.show(<List />, { client, signedIn: true });
  await until(() => shown.error !== null);
  expect(shown).toMatchObject({ actions: null, error: { status: 403 } });
  const { length } = requests.mock.calls;
  vi.advanceTimersByTime(60_000);
  rerender(<List isApprover={false} />);
  await until(() => shown.error === null);
  expect(requests.mock.calls).toHaveLength(length);
  unmount();
});

it("hides an approver's actions from the next user", async () => {
  const session = await asked(signedIn.clientOf("uma"), "3 + 3");
  const as = (user: string): ReactNode => (
    <ColloquyProvider client={signedIn.clientOf(user)} signedIn>
      <List />
    </ColloquyProvider>
  );
  const { rerender } = signedIn.page.show(as("mia"));
  await until(() => inputs()?.length === 1);
  rerender(as("bob"));
  expect(shown.actions).toBeNull();
  await until(() => shown.error !== null);
  expect(shown.actions).toBeNull();
  await session.delete();
});
