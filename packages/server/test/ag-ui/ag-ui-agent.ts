// Creates agents of the unmodified package `@ag-ui/client`.

import {
  type AgentSubscriber,
  type BaseEvent,
  EventType,
  HttpAgent,
  type RunAgentInput,
} from "@ag-ui/client";
import { randomUUID } from "node:crypto";

/** The class in docs/protocols/ag-ui.md, which can connect to a thread. */
export class ColloquyAgent extends HttpAgent {
  override connectAgent(...parameters: Parameters<HttpAgent["connectAgent"]>) {
    // `HttpAgent` does not run with open interrupts, which another client may have decided.
    this.pendingInterrupts = [];
    return super.connectAgent(...parameters);
  }

  protected override connect(input: RunAgentInput): ReturnType<HttpAgent["run"]> {
    return this.run({ ...input, messages: [] });
  }
}

export interface Agent {
  readonly agent: ColloquyAgent;
  /** All received events. */
  readonly events: BaseEvent[];
  /** Adds a user message and runs the agent. */
  say(text: string, options?: Parameters<HttpAgent["runAgent"]>[0]): ReturnType<HttpAgent["runAgent"]>;
  /** Returns the types of the events of the last run, without consecutive duplicates. */
  types(): readonly string[];
}

export function agentOf(
  url: string,
  {
    threadId = randomUUID(),
    headers = {},
  }: { readonly threadId?: string; readonly headers?: Record<string, string> } = {},
): Agent {
  const agent = new ColloquyAgent({ url, threadId, headers, fetch: fetchForAgent });
  const events: BaseEvent[] = [];
  const subscriber: AgentSubscriber = { onEvent: ({ event }) => void events.push(event) };
  agent.subscribe(subscriber);
  return {
    agent,
    events,
    say(text, options) {
      agent.addMessage({ id: randomUUID(), role: "user", content: text });
      return agent.runAgent(options);
    },
    types() {
      const last = events.findLastIndex(({ type }) => type === EventType.RUN_STARTED);
      const types = events.slice(Math.max(0, last)).map(({ type }) => type as string);
      return types.filter((type, index) => type !== types[index - 1]);
    },
  };
}

/**
 * `fetch` whose readers never reject on `cancel`. `HttpAgent` cancels the body of a broken response without handling
 * the rejection, which would fail the test run.
 */
async function fetchForAgent(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  const { body } = response;
  if (body === null) return response;
  const getReader = body.getReader.bind(body);
  const value = () => {
    const reader = getReader();
    const cancel = reader.cancel.bind(reader);
    return Object.assign(reader, { cancel: () => cancel().catch(() => undefined) });
  };
  Object.defineProperty(body, "getReader", { value });
  return response;
}
