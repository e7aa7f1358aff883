// A service with the admin API, and Apps whose assistants run long, ask for approval or fail.

import type { AdminSessionDetail } from "@colloquy/protocol";
import { expect } from "vitest";
import { newSession, send, type Answer, type Call } from "./client.ts";
import { useService } from "./server.ts";

const ADMIN_KEY = "black-box-admin-key-0123456789";

const APPS = {
  apps: {
    default: { description: "For everybody", tools: ["calculator"] },
    asking: { tools: ["calculator"], approvals: { calculator: "always" }, requireKey: "chat" },
    failing: { models: ["broken/model", "demo/assistant"], requireKey: "all" },
  },
  // Nothing listens on this port.
  providers: { broken: { kind: "openai-compatible", baseURL: "http://127.0.0.1:9/v1" } },
  limits: { maxModelRetries: 0 },
};

export interface AdminService {
  readonly url: string;
  /** Sends a request with the admin key. */
  admin(method: string, path: string, call?: Call): Promise<Answer>;
  /** Creates a key for this App. */
  keyFor(app: string): Promise<string>;
  /** Sends a message to an App; returns the session id. */
  say(message: string, app?: string, wait?: number): Promise<string>;
  /** Sends a message that needs an approval; returns the session id once the approval is pending. */
  ask(): Promise<string>;
}

/** Like `useService`. */
export function useAdminService(): () => AdminService {
  const url = useService(APPS, { COLLOQUY_ADMIN_KEY: ADMIN_KEY });
  const admin: AdminService["admin"] = (method, path, call = {}) =>
    send(url(), method, `/api/admin/${path}`, {
      ...call,
      headers: { ...call.headers, Authorization: `Bearer ${ADMIN_KEY}` },
    });
  const keyFor = async (app: string): Promise<string> => {
    const issued = await admin("POST", "keys", { json: { apps: [app] } });
    return (issued.json() as { readonly key: string }).key;
  };
  const say: AdminService["say"] = async (message, app = "default", wait = 0) => {
    const session = newSession();
    const key = app === "default" ? null : await keyFor(app);
    const headers = { ...(key !== null && { "SERVICE-APP-KEY": key }), Prefer: `wait=${wait}` };
    const query = new URLSearchParams({ message, app });
    const answer = await send(url(), "POST", `/api/chat?${query.toString()}`, { session, headers });
    if (answer.status !== 200) throw new Error(answer.text);
    return session;
  };
  const ask = async (): Promise<string> => {
    const session = await say("what is 12 * 7?", "asking");
    const status = async () => {
      const answer = await admin("GET", `sessions/${session}`);
      return (answer.json() as AdminSessionDetail).session.status;
    };
    await expect.poll(status).toBe("waiting");
    return session;
  };
  return () => ({ url: url(), admin, keyFor, say, ask });
}
