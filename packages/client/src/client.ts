import { LiveSession, type SessionOptions } from "./live-session.ts";
import { operations, type Operations } from "./operations.ts";
import { randomId } from "./random-id.ts";
import { type ConnectionOptions, type TokenSource, transportOf } from "./transport.ts";

export interface ClientOptions extends ConnectionOptions {
  /** The App to use. When absent, messages go to `default`, and model operations use the App that the key opens. */
  readonly app?: string | undefined;
  /** Key of the App. Do not use it in public pages: visitors could use it for anything. */
  readonly key?: string | undefined;
  /**
   * Returns the sign-in token of the user, for Apps with `users`. It is called before each request: return
   * the current token, or a new one when that is about to expire. After a 401, the client repeats the request
   * once if the function then returns another token.
   */
  readonly token?: TokenSource | undefined;
  /** True to stream the model's reasoning (`getReasoning` of a session). Default: false. */
  readonly reasoning?: boolean | undefined;
}

export interface Client extends Operations {
  /** Returns the conversation with this id, or a new one. Sends nothing until it is used. */
  session(id?: string, options?: SessionOptions): LiveSession;
}

/** Creates a client of one service and one App. It opens no connection by itself. */
export function createClient(options: ClientOptions = {}): Client {
  const { key, app, token, reasoning } = options;
  const headers = key === undefined ? {} : { "SERVICE-APP-KEY": key };
  const transport = transportOf(options, headers, token, reasoning);
  const offered = operations(transport, app);
  return {
    ...offered,
    session: (id = randomId(), options) => new LiveSession(id, offered, transport, options),
  };
}
