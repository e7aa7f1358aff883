// Renders the components of @colloquy/ui on a server and hydrates them. The process has no DOM until a test creates
// one.

import { createClient } from "@colloquy/client";
import { act, type ReactNode } from "react";
import { renderToString } from "react-dom/server";
import { expect, it, vi } from "vitest";
import { ChatPage, ChatProvider, Markdown, SingleChat, ThreadList } from "../../ui/src/index.ts";

const client = createClient({
  baseUrl: "http://127.0.0.1:1",
  fetch: () => new Promise(() => undefined),
});
const SESSION = "6f2a9d1e-3b47-4c58-9a60-d2e5f7081b3c";

const pages: readonly (readonly [string, ReactNode, string])[] = [
  ["ChatPage", <ChatPage client={client} />, '<div class="cq cq-frame"></div>'],
  ["SingleChat", <SingleChat client={client} sessionId={SESSION} />, '<div class="cq cq-single-chat"></div>'],
  [
    "ChatProvider",
    <ChatProvider client={client}>
      <ThreadList current={null} />
    </ChatProvider>,
    "",
  ],
];

it.each(pages)("renders %s empty on a server, and takes it over in a browser", async (_name, page, html) => {
  vi.stubGlobal("window", undefined);
  expect(renderToString(page)).toBe(html);
  vi.unstubAllGlobals();
  const { window } = await import("./page-globals.ts");
  const { hydrateRoot } = await import("react-dom/client");
  vi.stubGlobal("IS_REACT_ACT_ENVIRONMENT", true);
  const problems = vi.spyOn(console, "error");
  const onRecoverableError = vi.fn<() => void>();
  const container = window.document.createElement("div");
  window.document.body.append(container);
  container.innerHTML = html;
  const root = await act(async () => hydrateRoot(container, page, { onRecoverableError }));
  expect(container.textContent).not.toBe("");
  expect([...problems.mock.calls, ...onRecoverableError.mock.calls]).toEqual([]);
  await act(async () => root.unmount());
});

it("renders Markdown on a server", () => {
  expect(renderToString(<Markdown text="**84**" />)).toContain("<strong>84</strong>");
});
