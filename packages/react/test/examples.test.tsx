// The examples on the real service: their pages work, and they can be built.

import { buildExample } from "./build-example.ts";
import { openPage, type Page } from "./harness.tsx";
import { setEndsInSight } from "./page-globals.ts";
import { cleanup, fireEvent, render } from "@testing-library/react";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StrictMode } from "react";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { App as ReactChat } from "../../../examples/react-chat/src/app.tsx";
import { App as UseChat } from "../../../examples/use-chat/src/app.tsx";

const ID = "6f2a9d1e-3b47-4c58-9a60-d2e5f7081b3c";

let page: Page;

beforeEach(async () => {
  const set_color_scheme = { description: "Makes the page light or dark", inputSchema: { type: "object" } };
  page = await openPage({ builtIn: ["calculator", "ask_user"], client: { set_color_scheme } });
  localStorage.clear();
});
afterEach(async () => {
  setEndsInSight(true);
  globalThis.location.hash = "";
  await page.stop();
});

const text = (): string => document.body.textContent;
const button = (name: string): HTMLButtonElement | undefined =>
  [...document.querySelectorAll("button")].find(
    (found) => (found.getAttribute("aria-label") ?? found.textContent) === name,
  );

async function click(name: string): Promise<void> {
  await page.until(() => button(name)?.disabled === false);
  fireEvent.click(button(name)!);
}

async function say(words: string): Promise<void> {
  await page.until(() => document.querySelector("[aria-label=Message]") !== null);
  fireEvent.change(document.querySelector("[aria-label=Message]")!, { target: { value: words } });
  await click("Send");
}

describe.each([
  ["react-chat", () => <ReactChat client={page.client()} />],
  ["use-chat", () => <UseChat url={page.proxy.url} />],
] as const)("examples/%s", (name, app) => {
  const open = (): void => void render(<StrictMode>{app()}</StrictMode>);

  it("streams an answer", async () => {
    open();
    await say("Hi there");
    const call = await page.model.next();
    call.say("Hel");
    await page.until(() => text().includes("Hel"));
    expect(text()).not.toContain("Hello");
    call.say("lo you").finish();
    await page.until(() => text().includes("Hello you") && button("Stop") === undefined);
    expect(text()).toContain("Hi there");
    await say("Again");
    (await page.model.next()).say("Once more").finish();
    await page.until(() => text().includes("Once more") && button("Stop") === undefined);
  });

  it("stops the assistant", async () => {
    open();
    await say("Count");
    (await page.model.next()).say("One");
    await page.until(() => text().includes("One"));
    await click("Stop");
    await page.until(() => page.asked("POST /api/interrupt") === 1 && button("Stop") === undefined);
    expect(text()).toContain("One");
    if (name === "react-chat") await page.until(() => text().includes("Stopped"));
  });

  it("asks before running a tool and shows its result", async () => {
    open();
    await say("6 * 7?");
    (await page.model.next()).callTool("calculator", { expression: "6 * 7" }).finish("tool-calls");
    await click("Approve");
    (await page.model.next()).say("It is so.").finish();
    await page.until(() => text().includes("It is so.") && text().includes('"result": 42'));
    expect(button("Approve")).toBeUndefined();
  });

  it("allows the approval of a call only after its whole input was visible", async () => {
    setEndsInSight(false);
    open();
    await say("6 * 7?");
    (await page.model.next()).callTool("calculator", { expression: "6 * 7" }).finish("tool-calls");
    await page.until(() => button("Approve") !== undefined && text().includes("6 * 7"));
    expect([button("Approve")!.disabled, button("Deny")!.disabled]).toEqual([true, false]);
    setEndsInSight(true);
    await click("Approve");
    (await page.model.next()).say("It is so.").finish();
    await page.until(() => text().includes("It is so."));
  });

  it("shows text before the tool call that followed it, also after a reload", async () => {
    globalThis.location.hash = ID;
    open();
    await say("6 * 7?");
    const call = await page.model.next();
    call.say("Let me see.").callTool("calculator", { expression: "6 * 7" }).finish("tool-calls");
    await click("Approve");
    (await page.model.next()).say("It is so.").finish();
    const isInOrder = (): boolean => /Let me see\..*calculator.*"result": 42.*It is so\./s.test(text());
    await page.until(isInOrder);
    cleanup();
    expect(text()).toBe("");
    render(app());
    await page.until(isInOrder);
  });

  it("lets the user answer a question", async () => {
    open();
    await say("Surprise me");
    const question = { question: "Tea or coffee?", choices: ["Tea", "Coffee"] };
    (await page.model.next()).callTool("ask_user", question).finish("tool-calls");
    await page.until(() => text().includes("Tea or coffee?"));
    await click("Coffee");
    (await page.model.next()).say("Here it is.").finish();
    await page.until(() => text().includes("Here it is."));
    expect(button("Coffee")).toBeUndefined();
  });

  it("shows why an answer failed", async () => {
    open();
    await say("Hi");
    (await page.model.next()).say("Hello").finish();
    // Wait for the initial resume request of `useChat`: its response clears errors.
    await page.until(() => text().includes("Hello") && button("Stop") === undefined);
    await say("Again");
    (await page.model.next()).fail(new Error("broken"));
    const id = (): string => globalThis.location.hash.slice(1);
    await page.until(() => button("Stop") === undefined && id() !== "");
    const { system_events } = await page.direct.getState(id(), { wait: 10 });
    const [error] = system_events;
    await page.until(() => text().includes(error!.payload["message"] as string));
    expect(error!.type).toBe("error");
  });

  it("shows a denied call the same before and after a reload", async () => {
    globalThis.location.hash = ID;
    open();
    await say("6 * 7?");
    (await page.model.next()).callTool("calculator", { expression: "6 * 7" }).finish("tool-calls");
    await click("Deny");
    (await page.model.next()).say("As you like.").finish();
    await page.until(() => text().includes("As you like.") && button("Stop") === undefined);
    const before = document.querySelector("[role=log], .thread")!.textContent;
    expect(before).toContain("denied");
    cleanup();
    render(app());
    await page.until(() => text().includes("As you like."));
    expect(document.querySelector("[role=log], .thread")!.textContent).toBe(before);
  });

  it("adds one history entry, which names the conversation", async () => {
    const entries = history.length;
    open();
    if (name === "react-chat") {
      await say("Hi");
      (await page.model.next()).say("Hello").finish();
    }
    await page.until(() => /^#[0-9a-f-]{36}$/.test(globalThis.location.hash));
    expect(history.length).toBe(entries);
  });

  it("builds", async () => {
    const folder = await mkdtemp(join(tmpdir(), "colloquy-example-"));
    try {
      await buildExample(name, folder);
      expect(await readdir(folder)).toEqual(expect.arrayContaining(["index.html", "assets"]));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it("continues an answer in progress after a reload", async () => {
    globalThis.location.hash = ID;
    render(app());
    await say("Count");
    const call = await page.model.next();
    call.say("One");
    await page.until(() => text().includes("One"));
    cleanup();
    open();
    await page.until(() => text().includes("Count") && text().includes("One"));
    call.say(", two").finish();
    await page.until(() => text().includes("One, two") && button("Stop") === undefined);
    expect(globalThis.location.hash).toBe(`#${ID}`);
    expect(page.asked("POST /api/interrupt")).toBe(0);
  });
});

it("examples/react-chat shows the conversation of its URL, also after Back", async () => {
  render(<ReactChat client={page.page} />);
  await say("First");
  (await page.model.next()).say("One").finish();
  await page.until(() => text().includes("One") && button("Stop") === undefined);
  const first = globalThis.location.hash;
  fireEvent.click([...document.querySelectorAll("a")].find(({ textContent }) => textContent === "New chat")!);
  await page.until(() => globalThis.location.hash === "" && !text().includes("One"));
  history.back();
  await page.until(() => globalThis.location.hash === first && text().includes("One"));
  history.forward();
  await page.until(() => globalThis.location.hash === "" && !text().includes("One"));
  expect(text()).toContain("What is on your mind?");
});

it("examples/react-chat sends a suggestion, and shows Markdown and several calls as one group", async () => {
  render(<ReactChat client={page.page} />);
  await click("What is 12 * 7?");
  const call = await page.model.next();
  for (const expression of ["12 * 7", "7 * 12"]) call.callTool("calculator", { expression });
  call.finish("tool-calls");
  const group = (): HTMLDetailsElement | null => document.querySelector("details.cq-tool-group");
  await page.until(() => group()?.open === true && group()?.textContent.includes("Using 2 tools") === true);
  for (const left of [2, 1]) {
    await page.until(() => document.querySelectorAll(".cq-action-card").length === left);
    await click("Approve");
  }
  (await page.model.next()).say("It is **84**, 3~5 or 6~7.\n\n```js\n84\n```\n\n**注意：**好").finish();
  await page.until(() => document.querySelector(".cq-markdown pre") !== null);
  await page.until(() => group()?.textContent.includes("Used 2 tools") === true);
  // It stays open, to show the decisions.
  expect(group()!.open).toBe(true);
  expect([...document.querySelectorAll(".cq-markdown strong")].map(({ textContent }) => textContent)).toEqual(
    ["84", "注意："],
  );
  expect(document.querySelector(".cq-markdown")!.textContent).toContain("3~5 or 6~7");
});

it("examples/react-chat does not send at the Enter that ends a composition", async () => {
  render(<ReactChat client={page.page} />);
  await page.until(() => document.querySelector("[aria-label=Message]") !== null);
  const message = document.querySelector("[aria-label=Message]")!;
  fireEvent.change(message, { target: { value: "日本" } });
  await page.until(() => button("Send")?.disabled === false);
  // Safari's order: the composition has ended before its Enter.
  fireEvent.keyDown(message, { key: "Enter", keyCode: 229 });
  fireEvent.keyDown(message, { key: "Enter", keyCode: 229, isComposing: true });
  expect((message as HTMLTextAreaElement).value).toBe("日本");
  fireEvent.keyDown(message, { key: "Enter", keyCode: 13 });
  (await page.model.next()).say("Yes").finish();
  await page.until(() => text().includes("Yes"));
});

it("examples/react-chat runs a tool in the page", async () => {
  render(<ReactChat client={page.page} />);
  await say("Make it dark");
  const call = await page.model.next();
  call.callTool("set_color_scheme", { scheme: "dark" }).finish("tool-calls");
  (await page.model.next()).say("It is dark.").finish();
  await page.until(() => text().includes("It is dark."));
  expect(document.documentElement.style.colorScheme).toBe("dark");
  document.documentElement.style.colorScheme = "";
});

it("examples/use-chat ends an answer whose conversation was deleted elsewhere, and reports it", async () => {
  globalThis.location.hash = ID;
  render(<UseChat url={page.proxy.url} />);
  await say("Count");
  (await page.model.next()).say("One");
  await page.until(() => text().includes("One") && button("Stop") !== undefined);
  await page.direct.deleteThread(ID);
  await page.until(() => button("Stop") === undefined);
  expect(document.querySelector("[role=alert]")?.textContent).toContain("deleted");
});
