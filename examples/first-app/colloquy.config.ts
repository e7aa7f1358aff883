// The file of docs/guides/first-app.md: own tools, an MCP server, and a call that waits for a person.

import { join } from "node:path";
import { defineConfig } from "@colloquy/server/config";
import { tool } from "ai";
import { z } from "zod";

const orders = new Map([
  ["A-17", { article: "teapot", status: "on its way" }],
  ["A-18", { article: "cup", status: "packed" }],
]);

const orderNumber = z.object({ order: z.string().describe("Number of the order, such as A-17") });

export default defineConfig({
  apps: {
    default: {
      models: ["demo/assistant"],
      instructions: "You work for a shop. Look up what you are asked about; never guess.",
      tools: {
        calculator: true,
        lookup_order: tool({
          description: "What is in an order, and where it is",
          inputSchema: orderNumber,
          execute: ({ order }) => orders.get(order) ?? `There is no order ${order}.`,
        }),
        cancel_order: tool({
          description: "Cancels an order",
          inputSchema: orderNumber,
          execute: ({ order }) =>
            orders.delete(order) ? `Order ${order} is cancelled.` : `There is no order ${order}.`,
        }),
      },
      effects: { lookup_order: "read", cancel_order: "idempotent" },
      approvals: { cancel_order: "always" },
      mcp: {
        stock: { command: process.execPath, args: [join(import.meta.dirname, "stock-server.ts")] },
      },
    },
  },
});
