// The pages of the guide (docs/react.md), run as they are written.

import { openPage, type Page } from "./harness.tsx";
import { cleanup, fireEvent, render } from "@testing-library/react";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ComponentType } from "react";
import { afterEach, beforeEach, expect, it } from "vitest";

const GUIDE = join(import.meta.dirname, "../../../docs/react.md");

let page: Page;
const written: string[] = [];
let count = 0;

beforeEach(async () => {
  page = await openPage({ builtIn: ["calculator"], approvals: { calculator: "always" } });
  localStorage.clear();
});
afterEach(async () => {
  globalThis.location.hash = "";
  await page.stop();
  for (const file of written.splice(0)) await rm(file);
});

/** Returns the `App` of the page below a heading of the guide, with the address of the test's service. */
async function appUnder(heading: string): Promise<ComponentType> {
  const guide = await readFile(GUIDE, "utf8");
  const [, after = ""] = guide.split(`\n## ${heading}\n`);
  const [, code = ""] = /```tsx\n(.*?)```/s.exec(after) ?? [];
  expect(code).toContain("http://127.0.0.1:8080");
  // A module is loaded once for each path, so every page has its own.
  count += 1;
  const file = join(import.meta.dirname, `guide-page-${count}-${process.pid}.tsx`);
  written.push(file);
  await writeFile(file, code.replace("http://127.0.0.1:8080", page.proxy.url));
  return ((await import(/* @vite-ignore */ file)) as { readonly default: ComponentType }).default;
}

const text = (): string => document.body.textContent;
const input = (): HTMLElement => document.querySelector("[aria-label=Message]")!;
const button = (name: string): HTMLButtonElement | undefined =>
  [...document.querySelectorAll("button")].find(({ textContent }) => textContent === name);

async function click(name: string): Promise<void> {
  await page.until(() => button(name)?.disabled === false);
  fireEvent.click(button(name)!);
}

it("shows the first page's conversation again after a reload", async () => {
  const App = await appUnder("A first page");
  render(<App />);
  fireEvent.change(input(), { target: { value: "Hi" } });
  fireEvent.submit(document.querySelector("form")!);
  (await page.model.next()).say("Hello").finish();
  await page.until(() => text().includes("Hello"));
  cleanup();
  expect(text()).toBe("");
  render(<App />);
  await page.until(() => text().includes("Hello"));
});

it("shows a first page's message while it is sent, and keeps what was typed before it failed", async () => {
  const App = await appUnder("A first page");
  render(<App />);
  await page.until(() => page.proxy.streams === 1);
  const body = JSON.stringify({ code: "message_too_long", detail: "Too long." });
  page.proxy.plan = ({ path }) => (path === "/api/chat" ? { status: 413, body } : null);
  fireEvent.change(input(), { target: { value: "Hi" } });
  fireEvent.submit(document.querySelector("form")!);
  expect(text()).toContain("Hi (sending…)");
  fireEvent.change(input(), { target: { value: "there" } });
  await page.until(() => text().includes("Too long."));
  expect((input() as HTMLInputElement).value).toBe("Hi there");
  expect(text()).not.toContain("sending");
});

it("shows calls and approvals with assistant-ui, and tries a failed answer again", async () => {
  const App = await appUnder("assistant-ui");
  render(<App />);
  await page.until(() => page.proxy.streams === 1);
  fireEvent.change(input(), { target: { value: "6 * 7?" } });
  await click("Send");
  (await page.model.next()).callTool("calculator", { expression: "6 * 7" }).finish("tool-calls");
  await page.until(() => text().includes("calculator: waits for you") && text().includes("6 * 7"));
  await click("Approve");
  (await page.model.next()).fail(new Error("broken"));
  await page.until(() => text().includes("calculator: complete") && text().includes('"result": 42'));
  await click("Try again");
  (await page.model.next()).say("It is so.").finish();
  await page.until(() => text().includes("It is so."));
  expect(button("Approve")).toBeUndefined();
});
