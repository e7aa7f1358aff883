import type { Action } from "@colloquy/protocol";
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
  readonly title: string;
  readonly clientId: string;
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
  const { messages } = idle.json() as { readonly messages: readonly { readonly id: string }[] };
  const title = wallet === null ? "Another conversation" : texts.title;
  await request("PATCH", `/api/sessions/${session}`, { json: { title } });
  return { session, action: action.id, answer: messages.at(-1)?.id ?? "", file, title, clientId };
}
