import { expect, it } from "vitest";
import { AWAY_MS, watchAway } from "./away.ts";
import { withReleasedStreams } from "./released-streams.ts";

/** Returns a tab with a timer, and a service whose streams echo their request and stay open. */
function tab() {
  const page = new EventTarget() as EventTarget & { visibilityState: string };
  page.visibilityState = "visible";
  let timer: (() => void) | null = null;
  const away = watchAway(page, (ms, callback) => {
    expect(ms).toBe(AWAY_MS);
    timer = callback;
    return () => void (timer = null);
  });
  const asked: { url: string; signal: AbortSignal | null | undefined }[] = [];
  let status = 200;
  const service: typeof fetch = async (input, init) => {
    asked.push({ url: input instanceof Request ? input.url : input.toString(), signal: init?.signal });
    const body = new TransformStream<Uint8Array, Uint8Array>();
    const writer = body.writable.getWriter();
    void writer.write(new TextEncoder().encode(`id: ${asked.length}\n\n`)).catch(() => undefined);
    init?.signal?.addEventListener("abort", () => void writer.abort(init.signal?.reason));
    return new Response(body.readable, { status });
  };
  const show = (state: "visible" | "hidden"): void => {
    page.visibilityState = state;
    page.dispatchEvent(new Event("visibilitychange"));
  };
  return {
    asked,
    fetch: withReleasedStreams(service, away),
    answerWith: (next: number) => void (status = next),
    hide: () => show("hidden"),
    show: () => show("visible"),
    aMinutePasses: () => timer?.(),
  };
}

const open = async (fetch: typeof globalThis.fetch, signal?: AbortSignal) =>
  (await fetch("http://host/api/updates?include=tools", { ...(signal && { signal }) })).body!.getReader();

async function next(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  return new TextDecoder().decode((await reader.read()).value);
}

it("releases the stream of a tab that was hidden for a minute", async () => {
  const { fetch, hide, show, aMinutePasses, asked } = tab();
  const reader = await open(fetch);
  expect(await next(reader)).toBe("id: 1\n\n");
  hide();
  show();
  aMinutePasses();
  expect(asked[0]!.signal?.aborted).toBe(false);
  hide();
  expect(asked[0]!.signal?.aborted).toBe(false);
  aMinutePasses();
  expect(asked[0]!.signal?.aborted).toBe(true);
  await expect(reader.read()).rejects.toMatchObject({ name: "AbortError" });
});

it("opens a stream requested in a hidden tab when the tab becomes visible", async () => {
  const { fetch, hide, show, aMinutePasses, asked } = tab();
  hide();
  aMinutePasses();
  const reader = await open(fetch);
  expect(await next(reader)).toMatch(/^:/);
  expect(asked).toEqual([]);
  show();
  expect(await next(reader)).toBe("id: 1\n\n");
  expect(asked.map(({ url }) => url)).toEqual(["http://host/api/updates?include=tools"]);
  hide();
  aMinutePasses();
  await expect(reader.read()).rejects.toMatchObject({ name: "AbortError" });
});

it("ends the stream of a refused request, so that the subscriber retries", async () => {
  const { fetch, hide, show, aMinutePasses, answerWith } = tab();
  hide();
  aMinutePasses();
  const reader = await open(fetch);
  await next(reader);
  answerWith(404);
  show();
  await expect(reader.read()).rejects.toThrow("could not be opened again");
});

it("opens no stream for a removed subscriber when the tab becomes visible", async () => {
  const { fetch, hide, show, aMinutePasses, asked } = tab();
  hide();
  aMinutePasses();
  const leaving = new AbortController();
  const reader = await open(fetch, leaving.signal);
  await next(reader);
  leaving.abort(new Error("left"));
  await expect(reader.read()).rejects.toThrow("left");
  show();
  expect(asked).toEqual([]);
});

it("sends other requests in hidden tabs too", async () => {
  const { fetch, hide, aMinutePasses, asked } = tab();
  hide();
  aMinutePasses();
  await fetch("http://host/api/chat", { method: "POST" });
  expect(asked.map(({ url }) => url)).toEqual(["http://host/api/chat"]);
});

it("leaves no listeners of a stream that ended, broke or never opened", async () => {
  const listeners = new Set<() => void>();
  const away = {
    isAway: () => false,
    onChange: (listener: () => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  const open = (service: () => Promise<Response>) =>
    withReleasedStreams(service, away)("http://host/api/updates");
  const ended = await open(() => Promise.resolve(new Response("data: 1\n\n")));
  expect(listeners.size).toBe(1);
  await ended.text();
  const body = new ReadableStream({ pull: (controller) => controller.error(new Error("broken")) });
  const broken = await open(() => Promise.resolve(new Response(body)));
  await expect(broken.text()).rejects.toThrow();
  await expect(open(() => Promise.reject(new TypeError("no network")))).rejects.toThrow("no network");
  const left = await open(() => Promise.resolve(new Response(new ReadableStream())));
  await left.body!.cancel();
  await expect.poll(() => listeners.size).toBe(0);
});
