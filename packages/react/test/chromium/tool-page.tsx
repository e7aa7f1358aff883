// The page of client-tool.test.ts: shows a conversation and runs its client tools when the test says so.

import { createClient, type ToolRun } from "@colloquy/client";
import { StrictMode, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { ColloquyProvider, useClientTool, useSession } from "../../src/index.ts";

/** A call that the page has begun to run. */
export interface StartedCall {
  readonly input: unknown;
  readonly signal: AbortSignal;
  readonly finish: (output: unknown) => void;
  readonly fail: (message: string) => void;
}

/** Globals of the page. */
export interface ToolPage {
  readonly started: StartedCall[];
}

const started: StartedCall[] = [];
Object.assign(globalThis, { started } satisfies ToolPage);

function run(input: unknown, { signal }: ToolRun): Promise<unknown> {
  return new Promise((resolve, reject) => {
    started.push({ input, signal, finish: resolve, fail: (message) => reject(new Error(message)) });
  });
}

function Conversation({ id }: { readonly id: string }): ReactNode {
  const { snapshot, connection } = useSession(id);
  useClientTool("once", run);
  useClientTool("repeatable", run);
  useClientTool("short", run);
  // Each tab answers at once.
  useClientTool("quick", (input) => {
    started.push({ input, signal: new AbortController().signal, finish: () => {}, fail: () => {} });
    return input;
  });
  return (
    <main>
      <h1>{connection.state}</h1>
      {snapshot?.messages.map((message) => (
        <p key={message.id}>{message.content}</p>
      ))}
    </main>
  );
}

createRoot(document.querySelector("#root")!).render(
  <StrictMode>
    <ColloquyProvider client={createClient()}>
      <Conversation id={location.hash.slice(1)} />
    </ColloquyProvider>
  </StrictMode>,
);
