// All operations of the HTTP interface except the event stream, under their names in the OpenAPI document.

import { conversationOperations, type ConversationOperations } from "./conversation-operations.ts";
import { randomId } from "./random-id.ts";
import { threadOperations, type ThreadOperations } from "./thread-operations.ts";
import type { Abortable, Transport } from "./transport.ts";
import type { AppDescriptor, SetModelResult } from "./wire.ts";

export interface SecretsOf extends Abortable {
  /** The client that the secrets belong to, as sent with messages. */
  readonly clientId: string;
}

// Not derived with `ReturnType`, which would lose the doc comments.
export type Operations = ConversationOperations &
  ThreadOperations &
  ReturnType<typeof controlOperations> &
  ReturnType<typeof secretOperations>;

/** `app` is the App of the requests; `default` when absent. */
export function operations(transport: Transport, app: string | undefined): Operations {
  return {
    ...conversationOperations(transport, app),
    ...threadOperations(transport),
    ...controlOperations(transport, app),
    ...secretOperations(transport, app),
  };
}

function controlOperations(transport: Transport, app: string | undefined) {
  const asking = randomId();
  return {
    /** Selects the model of a session, and with `baml` the one for titles. */
    setModel(
      id: string,
      rig: string,
      options: Abortable & { readonly baml?: string } = {},
    ): Promise<SetModelResult> {
      const { baml, signal } = options;
      return transport.body({
        method: "POST",
        path: "/api/control/model",
        query: { rig, baml, app },
        headers: { "X-Session-Id": id },
        repeatable: true,
        signal,
      });
    },

    /** Lists the models of the session's App; without a session, those of the client's App. */
    listModels(options: Abortable & { readonly sessionId?: string } = {}): Promise<string[]> {
      const { sessionId, signal } = options;
      return transport.body({
        path: "/api/control/models",
        query: { app },
        headers: { "X-Session-Id": sessionId },
        repeatable: true,
        signal,
      });
    },

    /** Lists `default` and the Apps that the key opens. */
    listApps(options: Abortable & { readonly sessionId?: string } = {}): Promise<AppDescriptor[]> {
      const { sessionId = asking, signal } = options;
      return transport.body({
        path: "/api/control/apps",
        headers: { "X-Session-Id": sessionId },
        repeatable: true,
        signal,
      });
    },
  };
}

function secretOperations(transport: Transport, app: string | undefined) {
  const path = "/api/secrets";
  return {
    /** Lists the names of the slots that are set. */
    listSecrets({ clientId, signal }: SecretsOf): Promise<string[]> {
      return transport.body({ path, query: { client_id: clientId, app }, repeatable: true, signal });
    },

    /** Sets or replaces values, all or none. Returns the names now set; values are never returned. */
    setSecrets(values: Readonly<Record<string, string>>, { clientId, signal }: SecretsOf): Promise<string[]> {
      const query = { client_id: clientId, app };
      return transport.body({ method: "PUT", path, query, body: values, repeatable: true, signal });
    },

    /** Clears one slot, or all without `name`. Returns how many were set. */
    async removeSecrets(options: SecretsOf & { readonly name?: string }): Promise<number> {
      const { clientId, name, signal } = options;
      const query = { client_id: clientId, app, name };
      const { removed } = await transport.body<{ removed: number }>({
        method: "DELETE",
        path,
        query,
        signal,
      });
      return removed;
    },
  };
}
