// Public API of the server package.

import type { Engine } from "@colloquy/engine";
import type { FetchHandler, HandlerOptions, NodeHandler } from "./wiring/handler.ts";

export {
  type CommandContext,
  type CommandDefinition,
  type CommandPlugin,
  defineCommand,
} from "./cli/plugin-command.ts";
export { type ColloquyConfig, defineConfig } from "./config/define-config.ts";
export type { ApprovalRule, ConfiguredTool, ToolContext } from "./config/define-config.ts";
export {
  type AppendedTurn,
  defineProtocol,
  type FormattedError,
  type Protocol,
  type ProtocolApp,
  type ProtocolContext,
  type ProtocolConversation,
  type ProtocolDefinition,
  type ProtocolMessage,
  type ProtocolPlugin,
  type ProtocolThreads,
  type ProtocolTurn,
  type SentMessage,
  type StreamFollower,
  type StreamOptions,
} from "./http/protocol.ts";
export type { RouteAccess } from "./http/access/route-access.ts";
export type { FetchHandler, HandlerOptions, NodeHandler, RequestContext } from "./wiring/handler.ts";

/**
 * Returns a Fetch handler for the HTTP API of an engine, to mount in Hono, Next.js or another framework. A slow
 * reader of an event stream affects only its own stream. Loads the web server on the first request, because
 * configuration files import this package too.
 */
export function createHandler(engine: Engine, options: HandlerOptions = {}): FetchHandler {
  let handler: Promise<FetchHandler> | null = null;
  return async (request, context) => {
    handler ??= import("./wiring/handler.ts").then(({ handlerOf }) => handlerOf(engine, options));
    return await (await handler)(request, context);
  };
}

/** Like `createHandler`, for Express and other servers with Node requests. Mount it before body parsers. */
export function createNodeHandler(engine: Engine, options: HandlerOptions = {}): NodeHandler {
  let handler: Promise<NodeHandler> | null = null;
  return (request, response) => {
    handler ??= import("./wiring/handler.ts").then(({ nodeHandlerOf }) => nodeHandlerOf(engine, options));
    void handler.then((handle) => handle(request, response));
  };
}
