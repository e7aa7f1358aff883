// A page with a conversation on the real service, with helpers to read and use it.

import { openPage, type Page } from "./harness.tsx";
import { fireEvent, screen } from "@testing-library/react";
import { tool } from "ai";
import type { ReactNode } from "react";
import { afterEach, beforeEach } from "vitest";
import { z } from "zod";
import { Hidden } from "../../server/src/core/hidden.ts";
import { type PageRecord, RecordContext } from "./chat-parts.tsx";

export interface ChatPage extends PageRecord, Pick<Page, "model" | "proxy" | "direct" | "show"> {
  /** Ends the tool `walk`. */
  readonly arrive: () => void;
  readonly until: (condition: () => boolean) => Promise<void>;
  readonly say: (text: string, through?: string) => Promise<void>;
  /** Resolves once the page follows its session. */
  readonly isLive: () => Promise<void>;
}

/**
 * Creates a page for each test of a file, on a service with tools that report progress, ask, and need a
 * wallet.
 */
export function useChatPage(): ChatPage {
  const told: PageRecord = { sent: [], errors: [], rendered: [] };
  let page: Page;
  let arrive: () => void;
  beforeEach(async () => {
    for (const list of Object.values(told) as unknown[][]) list.length = 0;
    const arrived = Promise.withResolvers<void>();
    arrive = arrived.resolve;
    page = await openPage(toolsOf(arrived.promise));
  });
  afterEach(() => page.stop());
  const until: ChatPage["until"] = (condition) => page.until(condition);
  return {
    ...told,
    get model() {
      return page.model;
    },
    get proxy() {
      return page.proxy;
    },
    get direct() {
      return page.direct;
    },
    show: (children, props) => {
      const below = (shown: ReactNode): ReactNode => (
        <RecordContext.Provider value={told}>{shown}</RecordContext.Provider>
      );
      const result = page.show(below(children), props);
      return { ...result, rerender: (next) => result.rerender(below(next)) };
    },
    arrive: () => arrive(),
    until,
    say: async (text, through = "Send") => {
      const input = screen.getByRole<HTMLTextAreaElement>("textbox", { name: "Message" });
      fireEvent.change(input, { target: { value: text } });
      await until(() => !button("Send").disabled);
      click(through);
    },
    isLive: () => until(() => page.proxy.streams === 1),
  };
}

function toolsOf(arrived: Promise<void>): Parameters<typeof openPage>[0] {
  const walk = tool({
    description: "Walks",
    inputSchema: z.object({ to: z.string() }),
    async *execute({ to }) {
      // A yielded value counts as progress once another one follows.
      yield { steps: 7 };
      yield { steps: 8 };
      await arrived;
      yield `At ${to}`;
    },
  });
  const currency = { symbol: "ETH", decimals: 18 };
  const rpcURL = new Hidden("http://127.0.0.1:1");
  return {
    builtIn: ["calculator", "ask_user"],
    own: { walk },
    wallet: { chains: [{ id: 1, name: "Ethereum", rpcURL, currency, contracts: null }] },
  };
}

export const button = (name: string): HTMLButtonElement =>
  [...document.querySelectorAll("button")].find(({ textContent }) => textContent === name)!;
export const click = (name: string): void => void fireEvent.click(button(name));
export const messages = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>("main > div")];
export const shown = (): string[] =>
  messages().map((message) => message.querySelector("p")?.textContent ?? "");
export const group = (name: string): HTMLElement => document.querySelector(`fieldset[aria-label="${name}"]`)!;
/** Returns the text of an element within the tool call; `undefined` before the call exists. */
export const within = (name: string, element: string): string | undefined =>
  document.querySelector(`fieldset[aria-label="${name}"] ${element}`)?.textContent ?? undefined;
export const threads = (): string[] =>
  [...document.querySelectorAll<HTMLElement>("[data-thread]")].map(
    (row) => row.querySelector("button")?.textContent ?? "",
  );
