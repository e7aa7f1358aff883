// What a failed call is said to have failed on. The words are for the model; addresses and causes are for the log.

import type { ToolEffect } from "../../core/ports/tool.ts";

/** The server could not be spoken to, so nothing was called. */
export class McpUnavailable extends Error {
  constructor(server: string, options?: ErrorOptions) {
    super(`The MCP server "${server}" cannot be reached at the moment. The tool was not called.`, options);
    this.name = "McpUnavailable";
  }
}

/** The call had been sent, and its answer broke off or never came. */
export class McpBroken extends Error {
  constructor(server: string, effect: ToolEffect, options?: ErrorOptions) {
    const what = `The connection to the MCP server "${server}" broke before the tool answered.`;
    super(effect === "read" ? what : `${what} It may have had its effect.`, options);
    this.name = "McpBroken";
  }
}

/** What the server has answered is not what the protocol allows, or says that the call was wrong. */
export class McpRefusal extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "McpRefusal";
  }
}

/** The server says that it does not know the session (404 while there is one), so a call has most probably not been run. */
export class SessionLost extends McpBroken {}

/** The answer is too large to be read. */
export class McpCut extends Error {
  /** Its beginning. */
  readonly head: string;

  constructor(head: string, options?: ErrorOptions) {
    super("The answer is too large to be read.", options);
    this.name = "McpCut";
    this.head = head;
  }
}
