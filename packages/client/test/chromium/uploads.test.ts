// Uploads in a page, with and without progress, behind a faulty proxy.

import type { Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { useChromium } from "../../../../test/browser/use-chromium.ts";
import type { Attachment, ColloquyError, UploadProgress } from "../../src/index.ts";
import type { Fault } from "../fault-proxy.ts";
import { serve, type Served } from "../served.ts";
import { beginTest, buildClientPage, servePage, type ClientPage, type InPage } from "./client-page.ts";

interface Upload {
  readonly progress: UploadProgress[];
  readonly abort: AbortController;
  outcome: { readonly stored: Attachment } | { readonly failed: unknown } | null;
}

interface UploadingPage extends InPage {
  upload: Upload;
}

let files: ClientPage;
let served: Served;
let id: string;

beforeAll(async () => {
  files = await buildClientPage();
  served = await serve();
});
beforeEach(() => void (id = beginTest(served.proxy, files)));
afterAll(() => served?.stop());

/** Size in bytes that exceeds the buffers of a connection. */
const LARGE = 16_000_000;

interface Options {
  readonly bytes?: number;
  readonly type?: string;
  readonly hasProgress?: boolean;
  readonly tokens?: string[];
}

/** Starts an upload in the page. Its retries are immediate. */
async function start(page: Page, options: Options = {}): Promise<void> {
  await page.goto("/");
  await page.waitForFunction(() => "colloquy" in globalThis);
  await page.evaluate(
    ({ id, bytes = 10, type = "text/plain", hasProgress = true, tokens }) => {
      const own = globalThis as unknown as UploadingPage;
      const after = (_ms: number, callback: () => void) => {
        const timer = setTimeout(callback, _ms < 1_000 ? 0 : _ms);
        return { stop: () => clearTimeout(timer) };
      };
      const client = own.colloquy.createClient({
        timing: { after, random: () => 0, onWake: () => () => undefined },
        ...(tokens && { token: () => tokens.shift() ?? "last" }),
      });
      const upload: Upload = { progress: [], abort: new AbortController(), outcome: null };
      own.upload = upload;
      const file = new File(["a".repeat(bytes)], "tea.txt", { type });
      client
        .session(id)
        .upload(file, {
          signal: upload.abort.signal,
          ...(hasProgress && { onProgress: (progress) => void upload.progress.push(progress) }),
        })
        .then(
          (stored) => (upload.outcome = { stored }),
          (failed: unknown) => {
            const { name, code, status, message, retryAfter } = failed as ColloquyError;
            upload.outcome = { failed: { name, code, status, message, retryAfter } };
          },
        );
    },
    { id, ...options },
  );
}

const uploaded = (page: Page): Promise<Upload> =>
  page.evaluate(() => {
    const { progress, outcome } = (globalThis as unknown as UploadingPage).upload;
    return { progress, outcome } as Upload;
  });

async function ended(page: Page): Promise<Upload> {
  await page.waitForFunction(() => (globalThis as unknown as UploadingPage).upload.outcome !== null);
  return uploaded(page);
}

const requests = (): readonly string[] => served.proxy.seen.filter((line) => line === "POST /api/files");

/** Makes the proxy treat uploads as `faults` say; the last one repeats. */
function plan(...faults: (Fault | null)[]): void {
  servePage(served.proxy, files, ({ path }) => {
    if (path !== "/api/files") return null;
    return (faults.length > 1 ? faults.shift() : faults[0]) ?? null;
  });
}

describe.skipIf(await isWithoutChromium())("an upload in Chromium", () => {
  const openPage = useChromium();

  async function open(): Promise<Page> {
    const { page, expectTrouble } = await openPage(served.url);
    expectTrouble(/^console: Failed to load resource/);
    return page;
  }

  /** Starts a large upload of which the service reads nothing more until `release`. */
  async function startHeld(): Promise<{ readonly page: Page; readonly release: () => void }> {
    const { promise, resolve } = Promise.withResolvers<void>();
    plan({ holds: promise });
    const page = await open();
    await start(page, { bytes: LARGE });
    await expect.poll(async () => (await uploaded(page)).progress.at(-1)?.sent).toBeGreaterThan(0);
    return { page, release: resolve };
  }

  it("reports how much was sent while the service reads, and stores the file", async () => {
    const { page, release } = await startHeld();
    const held = await uploaded(page);
    expect(held.outcome).toBeNull();
    expect(held.progress[0]).toEqual({ sent: 0, total: LARGE });
    expect(held.progress.at(-1)!.sent).toBeLessThan(LARGE);
    release();
    const { progress, outcome } = await ended(page);
    expect(outcome).toMatchObject({ stored: { name: "tea.txt", media_type: "text/plain", bytes: LARGE } });
    expect(progress.at(-1)).toEqual({ sent: LARGE, total: LARGE });
    expect(progress).toEqual(progress.toSorted((one, other) => one.sent - other.sent));
    const { stored } = outcome as { stored: Attachment };
    expect((await served.direct.downloadFile(id, stored.id)).size).toBe(LARGE);
  });

  it("ends with the signal's reason when it is aborted, and reports nothing more", async () => {
    const { page, release } = await startHeld();
    await page.evaluate(() => {
      (globalThis as unknown as UploadingPage).upload.abort.abort(new RangeError("enough"));
    });
    const { progress, outcome } = await ended(page);
    expect(outcome).toMatchObject({ failed: { name: "RangeError", message: "enough" } });
    release();
    await page.evaluate(() => fetch("/api/page"));
    expect((await uploaded(page)).progress).toEqual(progress);
    expect(requests()).toHaveLength(1);
  });

  it("rejects at once if the signal was aborted before", async () => {
    const page = await open();
    await page.goto("/");
    await page.waitForFunction(() => "colloquy" in globalThis);
    const reason = await page.evaluate(async () => {
      const { fetchWithProgress } = (globalThis as unknown as UploadingPage).colloquy;
      const signal = AbortSignal.abort(new RangeError("too late"));
      const init = { method: "POST", body: "tea", signal, onProgress: () => undefined };
      return await fetchWithProgress("/api/files", init).catch(String);
    });
    expect(reason).toBe("RangeError: too late");
    expect(requests()).toEqual([]);
  });

  it("reports no fraction of an empty file", async () => {
    const page = await open();
    await start(page, { bytes: 0 });
    const { progress, outcome } = await ended(page);
    expect(outcome).not.toBeNull();
    expect(progress).toEqual([]);
  });

  const stored = { stored: { name: "tea.txt", bytes: 10 } };
  const failed = (code: string, status: number) => ({ failed: { name: "ColloquyError", code, status } });
  const problem = JSON.stringify({ code: "token_expired", detail: "Expired." });
  const busy = JSON.stringify({ code: "too_many_bodies", detail: "Later." });

  const cases: [string, (Fault | null)[], Options, object, number | null][] = [
    ["succeeds", [null], {}, stored, 1],
    ["is repeated when the connection breaks", ["refuse", null], {}, stored, 2],
    ["is repeated when the answer is lost", ["lose", null], {}, stored, 2],
    ["fails when the service stays unreachable", ["refuse"], {}, failed("network_failed", 0), null],
    [
      "is repeated with a new token",
      [{ status: 401, body: problem }, null],
      { tokens: ["a", "b"] },
      stored,
      2,
    ],
    [
      "fails when the token is refused",
      [{ status: 401, body: problem }],
      { tokens: ["a", "b"] },
      failed("token_expired", 401),
      2,
    ],
    [
      "fails with the service's problem",
      [null],
      { type: "image/png" },
      failed("file_type_unsupported", 415),
      1,
    ],
    [
      "reads the headers of an error",
      [{ status: 503, headers: { "retry-after": "120" }, body: busy }],
      {},
      { failed: { code: "too_many_bodies", status: 503, retryAfter: 120 } },
      1,
    ],
    [
      "knows the status of an error that is cut off",
      [5],
      { type: "image/png" },
      failed("http_error", 415),
      6,
    ],
    ["fails when an answer is cut off", [5], {}, failed("network_failed", 0), 6],
    ["repeats a foreign answer", [{ status: 200, body: "<html>Log in</html>" }, null], {}, stored, 2],
    ["fails with a foreign answer", [{ status: 204 }], {}, failed("answer_invalid", 0), 6],
  ];
  it.each(cases)("%s, with and without progress alike", async (_name, faults, options, expected, count) => {
    const outcomes: unknown[] = [];
    for (const hasProgress of [true, false]) {
      served.proxy.seen.length = 0;
      served.proxy.heads.length = 0;
      plan(...faults);
      const page = await open();
      await start(page, { ...options, hasProgress });
      const { progress, outcome } = await ended(page);
      expect(outcome).toMatchObject(expected);
      // Chromium itself repeats a request when a connection breaks that it has used before.
      if (count !== null) expect(requests()).toHaveLength(count);
      const tokens = served.proxy.heads.map(({ authorization }) => authorization).filter(Boolean);
      expect(tokens).toEqual((options.tokens ?? []).map((token) => `Bearer ${token}`));
      expect(progress.length > 0).toBe(hasProgress);
      outcomes.push(outcome !== null && "failed" in outcome ? outcome : null);
    }
    expect(outcomes[0]).toEqual(outcomes[1]);
  });
});
