// An agent of the Agent Client Protocol, version 1 (https://agentclientprotocol.com). ACP sessions are the service's
// sessions: the agent's only state is the unanswered prompts, and the updates sent for each session.

import {
  agent,
  type AgentApp,
  type AgentContext,
  type ListSessionsResponse,
  methods,
  PROTOCOL_VERSION,
  RequestError,
  type SessionConfigOption,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { type Client, ColloquyError } from "@colloquy/client";
import { parseSessionId, type Snapshot } from "@colloquy/protocol";
import type { RememberedThreads } from "../chat/remembered-threads.ts";
import { isSessionNotFound } from "../command.ts";
import { conversationParts, PART } from "./conversation-parts.ts";
import { PromptTurn } from "./prompt-turn.ts";
import { contentOf, type PromptContent } from "./prompt-content.ts";
import { SessionUpdates } from "./session-updates.ts";

export interface AgentOptions {
  readonly client: Client;
  /** Local list of conversations, used without a token: the service lists only those of signed-in users. */
  readonly threads: RememberedThreads;
  readonly isSignedIn: boolean;
  /** Working directory of listed sessions if the editor sends none. An absolute path, as ACP requires. */
  readonly home: string;
  readonly version: string;
  /** Writes a warning to standard error. */
  readonly warn: (sentence: string) => void;
}

export interface Agent {
  readonly app: AgentApp;
  /** Resolves when all prompts have ended. */
  settled(): Promise<unknown>;
}

interface Prompt {
  readonly turn: PromptTurn;
  readonly ended: Promise<unknown>;
}

/** Id of the session option that selects the model. */
const MODEL = "model";
/** Maximum number of sessions in one response. */
const PAGE = 200;

export function createAgent(options: AgentOptions): Agent {
  const { client, threads, isSignedIn, home, version, warn } = options;
  /** Unanswered prompts of each session, oldest first. The first one is running. */
  const prompts = new Map<string, readonly Prompt[]>();
  const turnsOf = (sent: string) => (prompts.get(parseSessionId(sent) ?? "") ?? []).map(({ turn }) => turn);
  const cancelAll = (sent: string) => Promise.all(turnsOf(sent).map((turn) => turn.cancel()));
  /** Updates sent for each conversation that the editor has loaded or prompted. */
  const shown = new Map<string, SessionUpdates>();

  /** Returns the option that selects the model; none if the App has a single model. */
  const configOf = async (sessionId: string, current: string | null): Promise<SessionConfigOption[]> => {
    const models = await client.listModels({ sessionId });
    const [first] = models;
    if (first === undefined || models.length < 2) return [];
    const choices = models.map((value) => ({ value, name: value }));
    const shown = current !== null && models.includes(current) ? current : first;
    return [
      { type: "select", id: MODEL, name: "Model", category: "model", currentValue: shown, options: choices },
    ];
  };

  /**
   * Returns a snapshot of a session with its last messages. Throws `ColloquyError` 404 if the session does not
   * exist.
   */
  const existing = async (sent: string, messages = 0): Promise<Snapshot> => {
    const id = sessionOf(sent);
    // Check first: reading an id that does not exist would create a session.
    await client.getSession(id);
    return await client.getState(id, { messages });
  };

  const list = async (cwd: string, cursor: string | null): Promise<ListSessionsResponse> => {
    if (!isSignedIn) {
      const sessions = (await threads.list()).map(({ session_id: sessionId, title, at: updatedAt }) => ({
        sessionId,
        cwd,
        title,
        updatedAt,
      }));
      return { sessions };
    }
    const page = await client.listThreads(undefined, { limit: PAGE, cursor: cursor ?? undefined });
    const sessions = page.threads.map(({ session_id: sessionId, title, updated_at: updatedAt }) => ({
      sessionId,
      cwd,
      title,
      updatedAt,
    }));
    return { sessions, nextCursor: page.next };
  };

  const prompt = async (id: string, turn: PromptTurn, content: PromptContent, signal: AbortSignal) => {
    // Cancelling the request interrupts the turn; disconnecting does not.
    const onAbort = (): unknown => (signal.reason instanceof RequestError ? turn.cancel() : turn.leave());
    signal.addEventListener("abort", onAbort);
    // A signal that was aborted before emits no event.
    if (signal.aborted) void onAbort();
    const earlier = prompts.get(id) ?? [];
    // Wait for cancelled prompts too: their late interrupts would stop this one.
    const isNext = Promise.allSettled(earlier.map(({ ended }) => ended));
    // The user of a queued prompt had not seen a question that an earlier one ended with.
    const mayAnswer = earlier.length === 0;
    const ended = Promise.race([isNext, turn.stopped]).then(() => turn.run(content, { mayAnswer }));
    const own = { turn, ended };
    prompts.set(id, [...earlier, own]);
    try {
      return { stopReason: await ended };
    } finally {
      signal.removeEventListener("abort", onAbort);
      const others = (prompts.get(id) ?? []).filter((one) => one !== own);
      if (others.length > 0) prompts.set(id, others);
      else prompts.delete(id);
    }
  };

  const app = agent({ name: "colloquy" })
    .onRequest(methods.agent.initialize, () => ({
      protocolVersion: PROTOCOL_VERSION,
      agentInfo: { name: "colloquy", title: "Colloquy", version },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, audio: true, embeddedContext: true },
        sessionCapabilities: { list: {}, resume: {}, delete: {}, close: {} },
      },
    }))
    .onRequest(methods.agent.session.new, () =>
      described(async () => {
        const { session_id: sessionId } = await client.createSession(client.session().id);
        return { sessionId, configOptions: await configOf(sessionId, null) };
      }),
    )
    .onRequest(methods.agent.session.load, ({ params, client: editor }) =>
      described(async () => {
        const last = await existing(params.sessionId, PART);
        const { model, session_id: id } = last;
        const updates = new SessionUpdates();
        for await (const messages of conversationParts(client, last))
          for (const update of updates.ofMessages(messages)) await notify(editor, params.sessionId, update);
        shown.set(id, updates);
        return { configOptions: await configOf(id, model) };
      }),
    )
    .onRequest(methods.agent.session.resume, ({ params }) =>
      described(async () => {
        const { session_id: id, model } = await existing(params.sessionId);
        return { configOptions: await configOf(id, model) };
      }),
    )
    .onRequest(methods.agent.session.list, ({ params }) =>
      described(() => list(params.cwd ?? home, params.cursor ?? null)),
    )
    .onRequest(methods.agent.session.delete, ({ params }) =>
      described(async () => {
        const id = sessionOf(params.sessionId);
        for (const turn of turnsOf(id)) turn.leave();
        shown.delete(id);
        await client.deleteThread(id).catch((error: unknown) => {
          // ACP requires repeated deletions to succeed.
          if (!isSessionNotFound(error)) throw error;
        });
        await threads.forget(id);
      }),
    )
    .onRequest(methods.agent.session.close, async ({ params }) => {
      await cancelAll(params.sessionId);
      shown.delete(parseSessionId(params.sessionId) ?? "");
    })
    .onRequest(methods.agent.session.setConfigOption, ({ params }) =>
      described(async () => {
        if (params.configId !== MODEL || typeof params.value !== "string")
          throw RequestError.invalidParams(undefined, 'The only option is "model".');
        const { session_id: id } = await existing(params.sessionId);
        await client.setModel(id, params.value);
        return { configOptions: await configOf(id, params.value) };
      }),
    )
    .onRequest(methods.agent.session.prompt, ({ params, client: editor, signal }) =>
      described(() => {
        const { sessionId } = params;
        const id = sessionOf(sessionId);
        const known = shown.get(id) ?? new SessionUpdates();
        shown.set(id, known);
        const { requestPermission } = methods.client.session;
        const turn = new PromptTurn(
          client,
          id,
          {
            notify: (update) => notify(editor, sessionId, update),
            askPermission: (request, cancellationSignal) =>
              editor.request(requestPermission, { sessionId, ...request }, { cancellationSignal }),
            remember: (snapshot) => threads.remember(snapshot).catch((error: unknown) => warn(String(error))),
          },
          known,
        );
        return prompt(id, turn, contentOf(params.prompt), signal);
      }),
    )
    .onNotification(methods.agent.session.cancel, async ({ params }) => {
      await cancelAll(params.sessionId);
    });
  return { app, settled: () => Promise.allSettled([...prompts.values()].flat().map(({ ended }) => ended)) };
}

async function notify(editor: AgentContext, sessionId: string, update: SessionUpdate): Promise<void> {
  await editor.notify(methods.client.session.update, { sessionId, update });
}

function sessionOf(sent: string): string {
  const id = parseSessionId(sent);
  if (id === null) throw RequestError.invalidParams(undefined, "The session id must be a UUID.");
  return id;
}

/** Codes of JSON-RPC 2.0 and of the protocol, by HTTP status. */
const RPC_CODES: Readonly<Record<number, number>> = {
  400: -32_602,
  404: -32_002,
  413: -32_602,
  415: -32_602,
};

/** Runs `work`, and converts a `ColloquyError` to a JSON-RPC error with its message, code and request id. */
async function described<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ColloquyError)) throw error;
    const { message, code, requestId, status } = error;
    const data = { code, request_id: requestId };
    throw new RequestError(RPC_CODES[status ?? 0] ?? -32_603, message, data);
  }
}
