// A model provider whose answers the test writes. It runs in the test's process, so it survives a kill of the
// service.

import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Program } from "./black-box/server.ts";

/** Starts a provider on loopback. Each call waits until the test writes its answer. */
export async function startHeldProvider() {
  const calls: ServerResponse[] = [];
  let arrived = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "text/event-stream" });
    calls.push(response);
    arrived.resolve();
    arrived = Promise.withResolvers();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const line = (choice: object) =>
    `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", created: 0, model: "m", choices: [choice] })}\n\n`;
  return {
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Resolves with the next call once the model is called. */
    async next() {
      for (;;) {
        const call = calls.shift();
        if (call === undefined) {
          await arrived.promise;
          continue;
        }
        // The service has given this call up.
        if (call.closed) continue;
        const write = (delta: object) => call.write(line({ index: 0, delta, finish_reason: null }));
        const finish = (reason: string) =>
          call.end(`${line({ index: 0, delta: {}, finish_reason: reason })}data: [DONE]\n\n`);
        return {
          think: (reasoning_content: string) => write({ role: "assistant", reasoning_content }),
          say: (content: string) => write({ role: "assistant", content }),
          finish: () => finish("stop"),
          /** Ends the step with a call of a tool. */
          callTool(name: string, input: object) {
            const called = { name, arguments: JSON.stringify(input) };
            write({ tool_calls: [{ index: 0, id: "call_0", type: "function", function: called }] });
            finish("tool_calls");
          },
          /** Breaks the answer off with an error that is not repeated. */
          fail: () =>
            call.end(
              `data: ${JSON.stringify({ error: { message: "no", type: "invalid_request_error" } })}\n\n`,
            ),
        };
      }
    },
  };
}

export type HeldProvider = Awaited<ReturnType<typeof startHeldProvider>>;

/**
 * Starts the program with a held provider. Appends their cleanup functions to `cleanups`, to be run in reverse order.
 */
export async function startProgramWithProvider(
  cleanups: (() => Promise<unknown>)[],
): Promise<{ readonly provider: HeldProvider; readonly program: Program }> {
  const provider = await startHeldProvider();
  cleanups.push(() => provider.close());
  const program = await Program.start(
    {
      providers: { local: { kind: "openai-compatible", baseURL: provider.url } },
      apps: { default: { models: ["local/m"], utilityModel: "demo/assistant" } },
    },
    {},
  );
  cleanups.push(() => program.remove());
  return { provider, program };
}
