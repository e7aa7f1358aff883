import { openPage, type Page } from "./harness.tsx";
import type { ToolRun } from "@colloquy/client";
import { useState, type ReactNode } from "react";
import { afterEach, beforeEach, expect, it } from "vitest";
import { useClientTool, useSession } from "../src/index.ts";

const ID = "6f2a9d1e-3b47-4c58-9a60-d2e5f7081b3c";
const OTHER = "00000000-0000-4000-8000-000000000001";
const TOOL = { description: "Reads the page", inputSchema: { type: "object" as const } };

let page: Page;
/** Runs of `Held`. A test finishes them. */
let held: { readonly run: ToolRun; finish(output: unknown): void }[];

beforeEach(async () => {
  page = await openPage({ client: { count: TOOL, hold: TOOL } });
  held = [];
});
afterEach(async () => {
  await page.stop();
});

function Shown({ id }: { readonly id: string }): ReactNode {
  return <p id={id}>{useSession(id).connection.state}</p>;
}

/** Returns how often it was called, which only the latest handler knows. */
function Counter(): ReactNode {
  const [calls, setCalls] = useState(0);
  useClientTool("count", ({ by }: { readonly by: number }) => {
    setCalls(calls + by);
    return { before: calls };
  });
  return <b>{calls}</b>;
}

function Held(): ReactNode {
  useClientTool("hold", (_input, run) => new Promise((finish) => held.push({ run, finish })));
  return null;
}

async function call(id: string, tool: string, input: object = {}): Promise<void> {
  await page.direct.sendMessage(id, "Hi");
  (await page.model.next()).callTool(tool, input).finish("tool-calls");
}

/** Returns the tool result that the model gets, and ends its answer. */
async function told(): Promise<string> {
  const next = await page.model.next();
  next.say("Thank you.").finish();
  return next.prompt.at(-1) ?? "";
}

const isLive = (id: string): Promise<void> =>
  page.until(() => document.getElementById(id)?.textContent === "live");

it("runs calls with the handler of the latest render, in strict mode once each", async () => {
  page.show([<Shown key="shown" id={ID} />, <Counter key="counter" />]);
  await isLive(ID);
  await call(ID, "count", { by: 2 });
  expect(await told()).toContain('{"before":0}');
  await page.until(() => document.querySelector("b")?.textContent === "2");
  await call(ID, "count", { by: 3 });
  expect(await told()).toContain('{"before":2}');
  await page.until(() => document.querySelector("b")?.textContent === "5");
});

it("runs calls of all shown sessions, and of sessions that are shown later", async () => {
  const { rerender } = page.show([<Held key="held" />, <Shown key={ID} id={ID} />]);
  await isLive(ID);
  await call(ID, "hold");
  await call(OTHER, "hold");
  await page.until(() => held.length === 1);
  expect(held[0]!.run.sessionId).toBe(ID);
  rerender([<Held key="held" />, <Shown key={ID} id={ID} />, <Shown key={OTHER} id={OTHER} />]);
  await page.until(() => held.length === 2);
  expect(held[1]!.run.sessionId).toBe(OTHER);
  for (const { finish } of held) finish("Tea");
  expect([await told(), await told()]).toEqual(Array(2).fill(expect.stringContaining("Tea")));
});

it("runs calls that were pending before the component was mounted", async () => {
  const { rerender } = page.show(<Shown key={ID} id={ID} />);
  await isLive(ID);
  await call(ID, "hold");
  rerender([<Shown key={ID} id={ID} />, <Held key="held" />]);
  await page.until(() => held.length === 1);
  held[0]!.finish("Tea");
  expect(await told()).toContain("Tea");
});

it("aborts the handler when the component or the last one that shows the session unmounts", async () => {
  const { rerender } = page.show([<Shown key={ID} id={ID} />, <Held key="held" />]);
  await isLive(ID);
  await call(ID, "hold");
  await page.until(() => held.length === 1);
  rerender([<Shown key={ID} id={ID} />]);
  expect(held[0]!.run.signal.aborted).toBe(true);
  held[0]!.finish("Tea");
  expect(await told()).toContain("Tea");
  await call(ID, "hold");
  rerender([<Shown key={ID} id={ID} />, <Held key="held" />]);
  await page.until(() => held.length === 2);
  rerender([<Held key="held" />]);
  await page.until(() => held[1]!.run.signal.aborted);
  expect(page.asked("GET /api/updates")).toBe(1);
});

it("continues to run tools after the session was stopped", async () => {
  page.show([<Shown key={ID} id={ID} />, <Held key="held" />, <Stopper key="stop" />]);
  await isLive(ID);
  document.querySelector("button")!.click();
  await isLive(ID);
  await call(ID, "hold");
  await page.until(() => held.length === 1);
  held[0]!.finish("Tea");
  expect(await told()).toContain("Tea");
});

function Stopper(): ReactNode {
  const { session } = useSession(ID);
  return <button onClick={() => session.stop()}>Stop</button>;
}
