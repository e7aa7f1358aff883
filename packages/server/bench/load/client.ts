// The client process: generates all load, so that it shares no thread with a server.

import { setTimeout as sleep } from "node:timers/promises";
import { machineMs } from "../machine-clock.ts";
import { serveRole } from "../role.ts";
import { runClosedLoop, type ClosedLoop } from "./closed-loop.ts";
import { LoadConnection } from "./connection.ts";
import { runOpenLoop, type OpenLoop } from "./open-loop.ts";
import { StreamBundle } from "./streams.ts";

export interface LoadAnswer {
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
}

const bundles = () => {
  const open = new Map<string, StreamBundle>();
  return {
    openStreams: async (input: { name: string; port: number; requests: readonly string[] }) => {
      const bundle = new StreamBundle();
      open.set(input.name, bundle);
      await bundle.open(input.port, input.requests);
    },
    measureStreams: (input: {
      name: string;
      port: number;
      triggers: readonly { stream: number; request: string; mark: string }[];
    }) => open.get(input.name)?.measure(input.port, input.triggers) ?? [],
    /** Records when marks arrive on these streams, on the machine's clock. */
    recordArrivals: (input: { name: string }) => open.get(input.name)?.record(),
    arrivals: (input: { name: string }) => [...(open.get(input.name)?.arrivals ?? [])],
    closeStreams: (input: { name: string }) => {
      open.get(input.name)?.close();
      open.delete(input.name);
    },
  };
};

const handlers = () => ({
  closedLoop: (loop: ClosedLoop) => runClosedLoop(loop),
  openLoop: (loop: OpenLoop) => runOpenLoop(loop),
  /** Sends requests one by one; returns the body of the last answer. */
  fetch: async (input: { port: number; requests: readonly string[] }): Promise<string> => {
    const connection = await LoadConnection.open(input.port);
    let body = "";
    for (const request of input.requests) body = (await connection.fetch(request)).toString("utf8");
    connection.close();
    return body;
  },
  /** Sends requests one by one, `everyMs` apart; returns when each was sent, on the machine's clock. */
  fetchTimed: async (input: { port: number; requests: readonly string[]; everyMs: number }) => {
    const connection = await LoadConnection.open(input.port);
    const sent: number[] = [];
    for (const request of input.requests) {
      sent.push(machineMs());
      await connection.fetch(request);
      if (connection.status !== 200) throw new Error(`A request was answered with ${connection.status}`);
      await sleep(input.everyMs);
    }
    connection.close();
    return sent;
  },
  /**
   * Repeats a request; returns when each was sent, on the machine's clock, and how often `counted` occurred
   * in its answer.
   */
  poll: async (input: { port: number; request: string; everyMs: number; forMs: number; counted: string }) => {
    const connection = await LoadConnection.open(input.port);
    const answers: (readonly [sentAt: number, count: number])[] = [];
    const end = machineMs() + input.forMs;
    for (let sentAt = machineMs(); sentAt < end; sentAt = machineMs()) {
      const body = await connection.fetch(input.request);
      if (connection.status !== 200) throw new Error(`A request was answered with ${connection.status}`);
      answers.push([sentAt, body.toString("utf8").split(input.counted).length - 1]);
      await sleep(input.everyMs);
    }
    connection.close();
    return answers;
  },
  /** Returns the headers and the body of an answer. */
  answer: async (input: { port: number; request: string }): Promise<LoadAnswer> => {
    const connection = await LoadConnection.open(input.port);
    const body = await connection.fetch(input.request);
    connection.close();
    const headers = connection.head
      .split("\r\n")
      .slice(1, -1)
      .map((line): readonly [string, string] => [
        line.slice(0, line.indexOf(":")),
        line.slice(line.indexOf(":") + 2),
      ]);
    return { headers, body: body.toString("utf8") };
  },
  ...bundles(),
});

export type ClientHandlers = ReturnType<typeof handlers>;

export function startClient(): void {
  serveRole(handlers(), () => {});
}
