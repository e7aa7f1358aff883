import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { spacedAnswer } from "./spaced-answer.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("returns an answer that arrives within ten seconds unchanged", async () => {
  const answer = Response.json({ id: 1 });
  expect(await spacedAnswer(Promise.resolve(answer))).toBe(answer);
  expect(vi.getTimerCount()).toBe(0);
});

it("sends a space every ten seconds until a later answer arrives", async () => {
  const { promise, resolve } = Promise.withResolvers<Response>();
  const spaced = spacedAnswer(promise);
  await vi.advanceTimersByTimeAsync(10_000);
  const body = (await spaced) as ReadableStream<Uint8Array>;
  await vi.advanceTimersByTimeAsync(20_000);
  resolve(Response.json({ id: 1 }));
  expect(await new Response(body).text()).toBe('   {"id":1}');
  expect(vi.getTimerCount()).toBe(0);
});

it("breaks the connection if a later answer fails", async () => {
  const { promise, reject } = Promise.withResolvers<Response>();
  const spaced = spacedAnswer(promise);
  await vi.advanceTimersByTimeAsync(10_000);
  const body = (await spaced) as ReadableStream<Uint8Array>;
  reject(new Error("failed"));
  await expect(new Response(body).text()).rejects.toThrow("failed");
  expect(vi.getTimerCount()).toBe(0);
});

it("ends with its reader", async () => {
  const { promise, resolve } = Promise.withResolvers<Response>();
  const spaced = spacedAnswer(promise);
  await vi.advanceTimersByTimeAsync(10_000);
  await ((await spaced) as ReadableStream<Uint8Array>).cancel();
  expect(vi.getTimerCount()).toBe(0);
  resolve(Response.json({}));
});
