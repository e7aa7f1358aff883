import type { Action, Message } from "@colloquy/protocol";
import { type Answer, type Call, newSession, send } from "../black-box/client.ts";
import type { AppDraft } from "./isolation-service.ts";

/** A conversation in which a person approved a call of the App's tool. */
export interface Conversation {
  readonly session: string;
  /** Id of the approved action. */
  readonly action: string;
  /** Id of the answer. */
  readonly answer: string;
  /** Id of the file of the message. */
  readonly file: string;
  /** Id of the file of the call's result. */
  readonly resultFile: string;
  readonly title: string;
  readonly clientId: string;
}

/** A call of a client's tool that the caller has claimed. */
export interface ClaimedCall {
  readonly session: string;
  readonly action: string;
  readonly claim: string;
}

/** Starts a conversation of the App whose model calls a tool of the client, and claims the call. */
export async function claimCall(
  url: string,
  app: string,
  credentials: NonNullable<Call["headers"]>,
): Promise<ClaimedCall> {
  const session = newSession();
  const request = async (method: string, path: string, json?: object): Promise<Answer> => {
    const answer = await send(url, method, path, {
      session,
      headers: credentials,
      ...(json !== undefined && { json }),
    });
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer;
  };
  const client_tools = { look: { description: "Looks", inputSchema: { type: "object" } } };
  await request("POST", "/api/chat", { app, message: "use the tool", client_tools });
  let action: Action | undefined;
  while (action === undefined)
    action = ((await request("GET", "/api/actions")).json() as readonly Action[]).find(
      ({ kind }) => kind === "client_tool",
    );
  const claimed = await request("POST", `/api/actions/${action.id}/claim`);
  return { session, action: action.id, claim: (claimed.json() as { claim: string }).claim };
}

/** Decides a claimed call with a result that names a file. */
export async function nameFile(
  url: string,
  { session, action, claim }: ClaimedCall,
  credentials: NonNullable<Call["headers"]>,
  file: string,
): Promise<Answer> {
  const json = { decision: "approve", claim, result: { output: "seen", attachments: [file] } };
  return await send(url, "POST", `/api/actions/${action}`, { session, headers: credentials, json });
}

/**
 * Holds a conversation over HTTP: with the App's canaries if `wallet` is set, and with neutral texts
 * otherwise.
 */
export async function holdConversation(options: {
  readonly url: string;
  /** Key or token of the person. */
  readonly credentials: NonNullable<Call["headers"]>;
  readonly draft: AppDraft;
  readonly wallet: string | null;
  readonly clientId: string;
}): Promise<Conversation> {
  const { url, credentials, wallet, clientId } = options;
  const { name: app, texts, slot, canaries } = options.draft;
  const session = newSession();
  const request = async (method: string, path: string, call: Call = {}): Promise<Answer> => {
    const headers = { ...credentials, ...call.headers };
    const answer = await send(url, method, path, { session, ...call, headers });
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer;
  };
  await request("PUT", `/api/secrets?app=${app}&client_id=${clientId}`, {
    json: { [slot]: canaries.secret },
  });
  const message = `use the tool ${wallet === null ? "please" : texts.message}`;
  const schema = { type: "object", description: texts.message, required: ["answer"] };
  const more =
    wallet === null ? {} : { public_key: wallet, user_state: { note: texts.state }, response_schema: schema };
  const uploaded = await request("POST", `/api/files?app=${app}&name=${encodeURIComponent(message)}`, {
    body: message,
    headers: { "Content-Type": "text/plain" },
  });
  const { id: file } = uploaded.json() as { readonly id: string };
  await request("POST", "/api/chat", {
    json: { app, message, attachments: [file], client_id: clientId, ...more },
  });
  let action: Action | undefined;
  while (action === undefined) [action] = (await request("GET", "/api/actions")).json() as readonly Action[];
  await request("POST", `/api/actions/${action.id}`, { json: { decision: "approve" } });
  // Wait for the answer.
  const idle = await request("GET", "/api/state", { headers: { Prefer: "wait=20" } });
  const { messages } = idle.json() as { readonly messages: readonly Message[] };
  const last = messages.at(-1);
  const [resultFile] = last?.tool_results?.flatMap(({ attachments = [] }) => attachments) ?? [];
  if (last === undefined || resultFile === undefined) throw new Error("The answer has no file");
  const title = wallet === null ? "Another conversation" : texts.title;
  await request("PATCH", `/api/sessions/${session}`, { json: { title } });
  return { session, action: action.id, answer: last.id, file, resultFile: resultFile.id, title, clientId };
}
