// All operations of the HTTP interface except the event stream, under their names in the OpenAPI document.

import { approvalOperations, type ApprovalOperations } from "./approval-operations.ts";
import { conversationOperations, type ConversationOperations } from "./conversation-operations.ts";
import { fileOperations, type FileOperations } from "./file-operations.ts";
import { randomId } from "./random-id.ts";
import { threadOperations, type ThreadOperations } from "./thread-operations.ts";
import type { Abortable, Transport } from "./transport.ts";
import type { AppDescriptor, Page, SetModelResult, WalletToken } from "./wire.ts";

export interface SecretsOf extends Abortable {
  /** The client that the secrets belong to, as sent with messages. */
  readonly clientId: string;
}

/** Numbers of deleted records. */
export interface Erased {
  readonly sessions: number;
  readonly messages: number;
  readonly secrets: number;
}

/** A wallet token and its time of receipt by the local clock. Store both together. */
export type SignedIn = WalletToken & { readonly received_at: string };

// Not derived with `ReturnType`, which would lose the doc comments.
export type Operations = ConversationOperations &
  ThreadOperations &
  FileOperations &
  ApprovalOperations &
  ReturnType<typeof controlOperations> &
  ReturnType<typeof signInOperations> &
  ReturnType<typeof secretOperations>;

/** `app` is the App of the requests; `default` when absent. */
export function operations(transport: Transport, app: string | undefined): Operations {
  return {
    ...conversationOperations(transport, app),
    ...threadOperations(transport),
    ...fileOperations(transport, app),
    ...approvalOperations(transport, app),
    ...controlOperations(transport, app),
    ...signInOperations(transport, app),
    ...secretOperations(transport, app),
  };
}

function controlOperations(transport: Transport, app: string | undefined) {
  // Created on the first request, because Workers forbid random values at module level.
  let asking: string | null = null;
  return {
    /** Selects the model of a session, and with `baml` the one for titles. */
    setModel(
      id: string,
      rig: string,
      options: Abortable & { readonly baml?: string | undefined } = {},
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
    listModels(options: Abortable & { readonly sessionId?: string | undefined } = {}): Promise<string[]> {
      const { sessionId, signal } = options;
      return transport.body({
        path: "/api/control/models",
        query: { app },
        headers: { "X-Session-Id": sessionId },
        repeatable: true,
        signal,
      });
    },

    /** Returns the App's branding and sign-in settings, which a page needs before sign-in. */
    getPage({ signal }: Abortable = {}): Promise<Page> {
      return transport.body({ path: "/api/page", query: { app }, repeatable: true, signal });
    },

    /** Lists `default` and the Apps that the key opens. */
    listApps(
      options: Abortable & { readonly sessionId?: string | undefined } = {},
    ): Promise<AppDescriptor[]> {
      const { sessionId = (asking ??= randomId()), signal } = options;
      return transport.body({
        path: "/api/control/apps",
        headers: { "X-Session-Id": sessionId },
        repeatable: true,
        signal,
      });
    },
  };
}

function signInOperations(transport: Transport, app: string | undefined) {
  return {
    /**
     * Exports the signed-in user's conversations as JSON Lines. Without a last line of kind `done`, the
     * export is incomplete.
     */
    async exportUser({ signal }: Abortable = {}): Promise<ReadableStream<Uint8Array> | null> {
      return (await transport.open({ path: "/api/users/me/export", query: { app }, signal })).body;
    },

    /** Permanently deletes the signed-in user's conversations and secrets. Safe to repeat after a failure. */
    eraseUser({ signal }: Abortable = {}): Promise<Erased> {
      return transport.body({
        method: "DELETE",
        path: "/api/users/me",
        query: { app },
        repeatable: true,
        signal,
      });
    },

    /** Signs the user out: revokes the token that the client sends. */
    async revokeToken({ signal }: Abortable = {}): Promise<void> {
      const path = "/api/auth/revoke";
      await transport.request({ method: "POST", path, isResponseEmpty: true, repeatable: true, signal });
    },

    /**
     * Returns two parts of one Sign-In with Ethereum message (EIP-4361): a nonce, which expires after five minutes, and
     * the service's time, because it rejects the time of a wrong clock.
     */
    async createSignInNonce({ signal }: Abortable = {}): Promise<{ nonce: string; issuedAt: Date }> {
      const { nonce, issued_at } = await transport.body<{ nonce: string; issued_at?: string }>({
        method: "POST",
        path: "/api/auth/siwe/nonce",
        repeatable: true,
        signal,
      });
      // Services before 0.2 do not send `issued_at`.
      return { nonce, issuedAt: issued_at === undefined ? new Date() : new Date(issued_at) };
    },

    /**
     * Signs in with a wallet and returns a token that proves it. If the client sends a user's token, the new
     * one is that user's.
     */
    async verifySignIn(proof: { message: string; signature: string }, { signal }: Abortable = {}) {
      const path = "/api/auth/siwe/verify";
      return received(await transport.body({ method: "POST", path, body: proof, repeatable: false, signal }));
    },

    /** Exchanges the wallet token that the client sends for a fresh one. */
    async refreshSignIn({ signal }: Abortable = {}) {
      const path = "/api/auth/siwe/refresh";
      return received(await transport.body({ method: "POST", path, repeatable: true, signal }));
    },
  };
}

function received(token: WalletToken): SignedIn {
  return { ...token, received_at: new Date().toISOString() };
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
    async removeSecrets(options: SecretsOf & { readonly name?: string | undefined }): Promise<number> {
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
