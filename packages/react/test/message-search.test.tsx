// Search in messages, with a real service and a real token issuer.

import type { Client } from "@colloquy/client";
import { useEffect, type ReactNode } from "react";
import { beforeEach, expect, it } from "vitest";
import { memoryThreads, useMessageSearch, type MessageSearch } from "../src/index.ts";
import { useSignedInPage } from "./signed-in-page.ts";

const signedIn = useSignedInPage();

let shown: MessageSearch | null;
beforeEach(() => void (shown = null));
function Found({ query }: { readonly query: string }): ReactNode {
  const search = useMessageSearch(query);
  useEffect(() => {
    shown = search;
  });
  return null;
}
const questions = () =>
  (shown?.results ?? []).filter(({ sender }) => sender === "user").map(({ session_id: id }) => id);

async function indexed(client: Client, query: string, sessionId?: string): Promise<void> {
  await expect
    .poll(async () => (await client.search(query, { sessionId })).results.length)
    .toBeGreaterThan(0);
}

it("finds messages of the signed-in user, page by page, and nothing for an empty text", async () => {
  const client = signedIn.clientOf("ada");
  const session = client.session();
  for (let count = 0; count < 12; count += 1) await session.send(`a kiwi, number ${count}`, { wait: true });
  await indexed(client, '"number 11"');
  const result = signedIn.page.show(<Found query="kiwi" />, { client, signedIn: true });
  await signedIn.page.until(() => shown?.isLoading === false && shown.results.length === 20);
  expect(shown).toMatchObject({ hasMore: true, error: null });
  // The demo model repeats questions in its answers.
  while (shown?.hasMore === true) {
    const { length } = shown.results;
    shown.loadMore();
    await signedIn.page.until(() => shown?.isLoading === false && shown.results.length > length);
  }
  expect(questions()).toHaveLength(12);
  result.rerender(<Found query="  " />);
  await signedIn.page.until(() => shown?.results.length === 0);
  expect(shown).toMatchObject({ isLoading: false, hasMore: false });
  result.unmount();
});

it("searches the page's own conversations without a user, and skips deleted ones", async () => {
  const client = signedIn.clientOf(null);
  const sessions = [client.session(), client.session(), client.session()];
  for (const session of sessions) await session.send("a lonely moa", { wait: true });
  const [first, second, gone] = sessions;
  for (const { id } of sessions) await indexed(client, "moa", id);
  await gone!.delete();
  const entry = ({ id }: { readonly id: string }) => ({
    session_id: id,
    title: "A title",
    updated_at: new Date().toISOString(),
  });
  const storage = memoryThreads(sessions.map(entry));
  const result = signedIn.page.show(<Found query="moa" />, { client, storage });
  await signedIn.page.until(() => shown?.isLoading === false && questions().length === 2);
  expect(new Set(questions())).toEqual(new Set([first!.id, second!.id]));
  result.unmount();
});

it("reports a failed search, and keeps the results", async () => {
  const client = signedIn.clientOf(null);
  const session = client.session();
  await session.send("a takahe", { wait: true });
  await indexed(client, "takahe", session.id);
  const storage = memoryThreads([
    { session_id: session.id, title: "A title", updated_at: new Date().toISOString() },
  ]);
  const result = signedIn.page.show(<Found query={"a".repeat(401)} />, { client, storage });
  await signedIn.page.until(() => shown !== null && shown.error !== null);
  expect(shown?.error).toMatchObject({ status: 400 });
  result.rerender(<Found query="takahe" />);
  await signedIn.page.until(() => questions().length === 1);
  expect(shown?.error).toBeNull();
  result.unmount();
});
