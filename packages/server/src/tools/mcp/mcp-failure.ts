// What a failed call is said to have failed on. The words are for the model; addresses and causes are for the log.

/** The server could not be spoken to, so nothing was called. */
export class McpUnavailable extends Error {
  constructor(server: string, options?: ErrorOptions) {
    super(`The MCP server "${server}" cannot be reached at the moment. The tool was not called.`, options);
    this.name = "McpUnavailable";
  }
}

/** The connection was lost after the call had been sent. */
export class McpBroken extends Error {
  constructor(server: string, options?: ErrorOptions) {
    super(
      `The connection to the MCP server "${server}" broke before the tool answered. It may have had its effect.`,
      options,
    );
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
