import { openPage, type Page } from "./harness.tsx";
import type { ExternalStoreThreadListAdapter } from "@assistant-ui/react";
import { useEffect, type ReactNode } from "react";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { useThreadListAdapter } from "../src/assistant-ui/use-thread-list-adapter.ts";
import { memoryThreads } from "../src/index.ts";

const A = "6f2a9d1e-3b47-4c58-9a60-d2e5f7081b3c";
const B = "00000000-0000-4000-8000-00000000000b";

let page: Page;
let adapter: ExternalStoreThreadListAdapter;
/** Sessions that the adapter switched to. */
let led: string[];

beforeEach(async () => {
  page = await openPage();
  led = [];
  for (const id of [A, B]) await page.direct.createSession(id);
});
afterEach(() => page.stop());

const show = (id: string): void => void led.push(id);
const ignore = (): void => undefined;

function List({ current }: { readonly current: string }): ReactNode {
  const value = useThreadListAdapter(current, show, ignore);
  useEffect(() => void (adapter = value));
  return null;
}

const entries = [A, B].map((id) => ({ session_id: id, title: id, updated_at: "2026-01-01T00:00:00.000Z" }));

it("holds the pin in the custom metadata, and pins or unpins when it is updated", async () => {
  page.show(<List current={A} />, { storage: memoryThreads(entries) });
  await page.until(() => adapter.threads?.length === 2);
  const shown = () => adapter.threads?.map(({ id, custom }) => [id, custom]);
  await adapter.onUpdateCustom?.(B, { pinned: true });
  const pinned = [
    [B, { pinned: true }],
    [A, { pinned: false }],
  ];
  await page.until(() => JSON.stringify(shown()) === JSON.stringify(pinned));
  expect((await page.direct.getSession(B)).pinned).toBe(true);
  await adapter.onUpdateCustom?.(B, undefined);
  expect((await page.direct.getSession(B)).pinned).toBe(false);
});

describe("deleting the shown thread", () => {
  it("switches to a new thread, whatever the spelling of its id", async () => {
    page.show(<List current={A.toUpperCase()} />, { storage: memoryThreads(entries) });
    await page.until(() => adapter.threads?.length === 2);
    expect(adapter.threads?.map(({ id }) => id)).toContain(adapter.threadId);
    await adapter.onDelete?.(A);
    expect(led).toEqual([expect.not.stringContaining(A)]);
  });

  it("does not switch if the user has switched in the meantime", async () => {
    const release = Promise.withResolvers<void>();
    let isHeld = false;
    const holding: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (init?.method === "DELETE") {
        isHeld = true;
        await release.promise;
      }
      return response;
    };
    const client = page.client({ fetch: holding });
    const { rerender } = page.show(<List current={A} />, { client, storage: memoryThreads(entries) });
    await page.until(() => adapter.threads?.length === 2);
    const deleting = adapter.onDelete?.(A);
    await page.until(() => isHeld);
    rerender(<List current={B} />);
    release.resolve();
    await deleting;
    expect(led).toEqual([]);
  });
});
