import { LiveSession } from "./live-session.ts";
import { operations, type Operations } from "./operations.ts";
import { randomId } from "./random-id.ts";
import { type ConnectionOptions, transportOf } from "./transport.ts";

export interface ClientOptions extends ConnectionOptions {
  /** The App that is talked to. When absent, messages go to `default`, and models are those of the App that the key opens. */
  readonly app?: string;
  /** Key of the App. Not for pages that strangers load: they could use it for anything. */
  readonly key?: string;
}

export interface Client extends Operations {
  /** The conversation with this id, a new one when absent. Nothing is sent until it is used. */
  session(id?: string): LiveSession;
}

/** A client of one service and one App. It holds nothing open by itself. */
export function createClient(options: ClientOptions = {}): Client {
  const { key, app } = options;
  const transport = transportOf(options, key === undefined ? {} : { "SERVICE-APP-KEY": key });
  const offered = operations(transport, app);
  return { ...offered, session: (id = randomId()) => new LiveSession(id, offered, transport) };
}
