// A page that shows a conversation over the service, and what a test sees and does there.

import { openPage, type Page } from "./harness.tsx";
import { fireEvent, screen } from "@testing-library/react";
import { tool } from "ai";
import type { ReactNode } from "react";
import { afterEach, beforeEach } from "vitest";
import { z } from "zod";
import { Hidden } from "../../server/src/core/hidden.ts";
import { type Told, ToldContext } from "./chat-parts.tsx";

export interface ChatPage extends Told, Pick<Page, "model" | "proxy" | "direct" | "show"> {
  /** Ends the tool `walk`. */
  readonly arrive: () => void;
  readonly until: (condition: () => boolean) => Promise<void>;
  readonly say: (text: string, through?: string) => Promise<void>;
  /** The page follows its conversation. */
  readonly isLive: () => Promise<void>;
}

/** A page of its own for each test of a file, over a service with tools that tell how far they are, ask, and want a wallet. */
export function useChatPage(): ChatPage {
  const told: Told = { sent: [], errors: [], rendered: [] };
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
        <ToldContext.Provider value={told}>{shown}</ToldContext.Provider>
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
      // What was yielded is progress as soon as something comes after it.
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
/** What an element of the tool call shows; `undefined` before the call is there. */
export const within = (name: string, element: string): string | undefined =>
  document.querySelector(`fieldset[aria-label="${name}"] ${element}`)?.textContent ?? undefined;
export const threads = (): string[] =>
  [...document.querySelectorAll<HTMLElement>("[data-thread]")].map(
    (row) => row.querySelector("button")?.textContent ?? "",
  );
