import { describe, expect, it } from "vitest";
import { NO_STREAM_SLOT, streamSlots, withStreamSlots } from "./stream-slots.ts";

/** Locks shared by all tabs of a browser. */
function browser(): Pick<LockManager, "request"> {
  const held = new Set<string>();
  const request = async (
    name: string,
    _options: LockOptions,
    use: (lock: Lock | null) => Promise<void>,
  ): Promise<void> => {
    if (held.has(name)) return await use(null);
    held.add(name);
    try {
      await use({ name, mode: "exclusive" });
    } finally {
      held.delete(name);
    }
  };
  return { request } as Pick<LockManager, "request">;
}

/** Locks of a browser that forbids storage for this site. */
const REFUSED = {
  request: () => Promise.reject(new DOMException("Access to the Locks API is denied.", "SecurityError")),
} as unknown as Pick<LockManager, "request">;

function tab(locks: Pick<LockManager, "request"> | undefined, nextHopProtocol = "http/1.1") {
  const performance = { getEntriesByType: () => [{ nextHopProtocol }] };
  const streams: WritableStreamDefaultWriter<Uint8Array>[] = [];
  const asked: string[] = [];
  let failure: Error | null = null;
  const service: typeof fetch = async (input, init) => {
    asked.push(input instanceof Request ? input.url : input.toString());
    init?.signal?.throwIfAborted();
    if (failure !== null) throw failure;
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    streams.push(writer);
    init?.signal?.addEventListener(
      "abort",
      () => void writer.abort(init.signal?.reason).catch(() => undefined),
    );
    return new Response(readable, { headers: { "Content-Type": "text/event-stream" } });
  };
  const places = streamSlots({ navigator: locks === undefined ? {} : { locks }, performance });
  const fetchInTab = withStreamSlots(service, places);
  return {
    asked,
    streams,
    failWith: (error: Error | null) => void (failure = error),
    fetch: fetchInTab,
    open: (signal?: AbortSignal) =>
      fetchInTab("http://host/api/updates", signal === undefined ? {} : { signal }),
  };
}

describe("streams of all tabs of a browser", () => {
  it("are limited to four; a fifth is refused without a request, and other requests pass", async () => {
    const locks = browser();
    const [one, other] = [tab(locks), tab(locks)];
    for (const { open } of [one, one, other, other]) expect((await open()).status).toBe(200);
    const refused = await other.open();
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({ code: NO_STREAM_SLOT, status: 429 });
    expect(other.asked).toHaveLength(2);
    expect((await other.fetch("http://host/api/state")).status).toBe(200);
  });

  it.each<
    [string, (page: ReturnType<typeof tab>, abort: AbortController, answer: Response) => Promise<unknown>]
  >([
    ["the service ends it", (page) => page.streams[0]!.close()],
    ["its connection breaks", (page) => page.streams[0]!.abort(new Error("cut"))],
    ["it is given up", async (_page, abort) => abort.abort()],
    ["nobody reads it any more", (_page, _abort, answer) => answer.body!.cancel()],
  ])("free their slot when %s", async (_how, end) => {
    const page = tab(browser());
    const abort = new AbortController();
    const first = await page.open(abort.signal);
    for (let place = 2; place <= 4; place += 1) await page.open();
    expect((await page.open()).status).toBe(429);
    await end(page, abort, first);
    await expect.poll(async () => (await page.open()).status).toBe(200);
  });

  it("take no slot if they could not be opened", async () => {
    const page = tab(browser());
    page.failWith(new TypeError("no network"));
    for (let time = 1; time <= 5; time += 1) await expect(page.open()).rejects.toThrow("no network");
    page.failWith(null);
    expect((await page.open()).status).toBe(200);
  });

  it.each([
    ["the connection carries any number", () => tab(browser(), "h2")],
    ["there are no locks", () => tab(undefined)],
    ["locks are refused", () => tab(REFUSED)],
  ])("are unlimited where %s", async (_why, openTab) => {
    const page = openTab();
    for (let time = 1; time <= 9; time += 1) expect((await page.open()).status).toBe(200);
  });

  it("are unlimited where locks are refused", async () => {
    const page = tab(REFUSED);
    await expect(page.open(AbortSignal.abort())).rejects.toMatchObject({ name: "AbortError" });
    const abort = new AbortController();
    const reader = (await page.open(abort.signal)).body!.getReader();
    abort.abort();
    await expect(reader.read()).rejects.toMatchObject({ name: "AbortError" });
  });

  it("pass on data as it arrives", async () => {
    const page = tab(browser());
    const answer = await page.open();
    expect(answer.headers.get("content-type")).toBe("text/event-stream");
    const reader = answer.body!.getReader();
    void page.streams[0]!.write(new TextEncoder().encode("id: 1\n\n"));
    expect(new TextDecoder().decode((await reader.read()).value)).toBe("id: 1\n\n");
    void page.streams[0]!.abort(new TypeError("cut")).catch(() => undefined);
    await expect(reader.read()).rejects.toThrow("cut");
  });
});
