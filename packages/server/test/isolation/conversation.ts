import type { Action } from "@colloquy/protocol";
import { type Answer, type Call, newSession, send } from "../black-box/client.ts";
import type { AppDraft } from "./given-apps.ts";

/** A conversation in which the App's tool was called after an approval. */
export interface Conversation {
  readonly session: string;
  /** Id of the approved action. */
  readonly action: string;
  readonly title: string;
  readonly clientId: string;
}

/** Holds a conversation: with the App's canaries if it is bound to a wallet, else with neutral texts. */
export async function makeConversation(given: {
  readonly url: string;
  readonly key: string;
  readonly draft: AppDraft;
  readonly wallet: string | null;
}): Promise<Conversation> {
  const { url, key, wallet } = given;
  const { name: app, texts, slot, canaries } = given.draft;
  const clientId = wallet === null ? "somebody" : "owner";
  const session = newSession();
  const must = async (method: string, path: string, call: Call = {}): Promise<Answer> => {
    const headers = { "SERVICE-APP-KEY": key, ...call.headers };
    const answer = await send(url, method, path, { session, ...call, headers });
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer;
  };
  await must("PUT", `/api/secrets?app=${app}&client_id=${clientId}`, { json: { [slot]: canaries.secret } });
  const message = `use the tool ${wallet === null ? "please" : texts.message}`;
  const more = wallet === null ? {} : { public_key: wallet, user_state: { note: texts.state } };
  await must("POST", "/api/chat", { json: { app, message, client_id: clientId, ...more } });
  let asked: Action | undefined;
  while (asked === undefined) [asked] = (await must("GET", "/api/actions")).json() as readonly Action[];
  await must("POST", `/api/actions/${asked.id}`, { json: { decision: "approve" } });
  await must("GET", "/api/state", { headers: { Prefer: "wait=20" } });
  const title = wallet === null ? "Another conversation" : texts.title;
  await must("PATCH", `/api/sessions/${session}`, { json: { title } });
  return { session, action: asked.id, title, clientId };
}
