// Renders components below a provider on the real service, in a jsdom page.

import { window } from "./page-globals.ts";
import { cleanup, render, type RenderResult } from "@testing-library/react";
import { StrictMode, type ReactNode } from "react";
import type { Client } from "@colloquy/client";
import { serve, type Served } from "../../client/test/served.ts";
import { ColloquyProvider, type ColloquyProviderProps } from "../src/index.ts";

export interface Page extends Served {
  /** The page's client, which uses the proxy. */
  readonly page: Client;
  /** Renders below a provider; in strict mode, as most pages are developed. */
  show(children: ReactNode, props?: Partial<ColloquyProviderProps>): RenderResult;
  /** Returns how many requests for this path reached the proxy. */
  asked(path: string): number;
}

export async function openPage(tools: Parameters<typeof serve>[0] = {}): Promise<Page> {
  const served = await serve(tools);
  const page = served.client();
  return {
    ...served,
    page,
    show: (children, props = {}) => {
      const provider = (children: ReactNode): ReactNode => (
        <StrictMode>
          <ColloquyProvider client={page} {...props}>
            {children}
          </ColloquyProvider>
        </StrictMode>
      );
      window.localStorage.clear();
      const result = render(provider(children));
      return { ...result, rerender: (next) => result.rerender(provider(next)) };
    },
    asked: (path) => served.proxy.seen.filter((seen) => seen === path).length,
    stop: async () => {
      cleanup();
      await served.stop();
    },
  };
}
