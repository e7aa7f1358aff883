// A page with a conversation on a real service, and helpers to read and operate the page.

import { openPage, type Page } from "./harness.tsx";
import { fireEvent, screen } from "@testing-library/react";
import { tool } from "ai";
import type { ReactNode } from "react";
import { afterEach, beforeEach } from "vitest";
import { z } from "zod";
import { Hidden } from "../../engine/src/core/hidden.ts";
import { type PageRecord, RecordContext } from "./chat-parts.tsx";

export interface ChatPage extends PageRecord, Pick<Page, "model" | "proxy" | "direct" | "client" | "show"> {
  /** Lets a running call of the tool `walk` finish. */
  readonly finishWalk: () => void;
  readonly until: (condition: () => boolean) => Promise<void>;
  /** Types the text and clicks the button, "Send" by default. */
  readonly say: (text: string, buttonName?: string) => Promise<void>;
  /** Resolves once the page has an open event stream. */
  readonly isLive: () => Promise<void>;
}

/** Opens a page before each test. Its service has a calculator, `ask_user`, `walk` and the wallet tools. */
export function useChatPage(): ChatPage {
  const record: PageRecord = { sent: [], errors: [], rendered: [] };
  let page: Page;
  let finishWalk: () => void;
  beforeEach(async () => {
    for (const list of Object.values(record) as unknown[][]) list.length = 0;
    const finished = Promise.withResolvers<void>();
    finishWalk = finished.resolve;
    page = await openPage(toolsOf(finished.promise));
  });
  afterEach(() => page.stop());
  const until: ChatPage["until"] = (condition) => page.until(condition);
  return {
    ...record,
    get model() {
      return page.model;
    },
    get proxy() {
      return page.proxy;
    },
    get direct() {
      return page.direct;
    },
    client: (options) => page.client(options),
    show: (children, props) => {
      const recorded = (children: ReactNode): ReactNode => (
        <RecordContext.Provider value={record}>{children}</RecordContext.Provider>
      );
      const result = page.show(recorded(children), props);
      return { ...result, rerender: (next) => result.rerender(recorded(next)) };
    },
    finishWalk: () => finishWalk(),
    until,
    say: async (text, buttonName = "Send") => {
      const input = screen.getByRole<HTMLTextAreaElement>("textbox", { name: "Message" });
      fireEvent.change(input, { target: { value: text } });
      await until(() => !button("Send").disabled);
      click(buttonName);
    },
    isLive: () => until(() => page.proxy.streams === 1),
  };
}

function toolsOf(walkFinished: Promise<void>): Parameters<typeof openPage>[0] {
  const walk = tool({
    description: "Walks",
    inputSchema: z.object({ to: z.string() }),
    async *execute({ to }) {
      yield { steps: 7 };
      await walkFinished;
      yield `At ${to}`;
    },
  });
  const currency = { symbol: "ETH", decimals: 18 };
  const rpcURL = new Hidden("http://127.0.0.1:1");
  return {
    client: { read_page: { description: "Reads the page", inputSchema: { type: "object" } } },
    builtIn: ["calculator", "ask_user"],
    own: { walk },
    wallet: { chains: [{ id: 1, name: "Ethereum", rpcURL, currency, contracts: null }] },
  };
}

export const button = (name: string): HTMLButtonElement =>
  [...document.querySelectorAll("button")].find(({ textContent }) => textContent === name)!;
export const click = (name: string): void => void fireEvent.click(button(name));
export const messages = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>("main > div")];
/** Returns the text of each message. */
export const shown = (): string[] =>
  messages().map((message) => message.querySelector("p")?.textContent ?? "");
export const group = (name: string): HTMLElement => document.querySelector(`fieldset[aria-label="${name}"]`)!;
/** Returns the text of an element within the group of a tool call; `undefined` if either is missing. */
export const within = (name: string, element: string): string | undefined =>
  document.querySelector(`fieldset[aria-label="${name}"] ${element}`)?.textContent ?? undefined;
/** Returns the titles in the thread list. */
export const threads = (): string[] =>
  [...document.querySelectorAll<HTMLElement>("[data-thread]")].map(
    (row) => row.querySelector("button")?.textContent ?? "",
  );
