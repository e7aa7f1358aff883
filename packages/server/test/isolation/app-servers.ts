// The external services of an App's tools: an MCP server and an HTTP service with an OpenAPI document. Both
// return canaries of the App and echo the secret that they received, which the service must scrub.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { AppSettings } from "@colloquy/engine/internal/core/app-settings";
import { mcp } from "@colloquy/mcp/internal/plugin";
import { openapi } from "@colloquy/openapi/internal/plugin";
import { sourceSettings } from "@colloquy/engine/internal/tools/testing/source-settings";
import { httpServer } from "@colloquy/mcp/internal/testing/opened-mcp";
import { ScriptedMcp } from "@colloquy/mcp/internal/testing/scripted-mcp";

export interface AppServers {
  readonly settings: Pick<AppSettings["tools"], "sources">;
  close(): Promise<void>;
}

const DOCUMENT = {
  openapi: "3.1.0",
  info: { title: "Orders", version: "1" },
  paths: {
    "/orders": {
      get: {
        operationId: "orders",
        parameters: [{ name: "about", in: "query", schema: { type: "string" } }],
        responses: { 200: { description: "The orders" } },
      },
    },
  },
};

/** Starts both services. They return `texts`; calls carry the secret of `slot`. */
export async function startAppServers(
  texts: { readonly mcp: string; readonly openapi: string },
  slot: string,
): Promise<AppServers> {
  const headers = { Authorization: `Bearer {{secret.${slot}}}` };
  const server = await new ScriptedMcp().start();
  server.tools = [
    { name: "look", inputSchema: { type: "object", properties: { about: { type: "string" } } } },
  ];
  server.call = (request) => ({
    content: [{ type: "text", text: `${texts.mcp} ${request.headers.authorization}` }],
  });
  const orders = createServer(({ url, headers: sent }, response) => {
    response.setHeader("content-type", "application/json");
    const found = { orders: texts.openapi, leaked: sent.authorization };
    response.end(JSON.stringify(url === "/document.json" ? DOCUMENT : found));
  });
  await once(orders.listen(0, "127.0.0.1"), "listening");
  const baseURL = `http://127.0.0.1:${(orders.address() as AddressInfo).port}`;
  const document = `${baseURL}/document.json`;
  return {
    settings: {
      sources: [
        sourceSettings(mcp, "desk", httpServer(server.url, headers)),
        sourceSettings(openapi, "shop", { document, baseURL, headers }),
      ],
    },
    close: async () => {
      orders.closeAllConnections();
      orders.close();
      await server.stop();
    },
  };
}
