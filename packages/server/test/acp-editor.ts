// An editor that runs `colloquy acp`, with the client of the protocol's own SDK.

import { spawn } from "node:child_process";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import {
  client,
  type ClientConnection,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { expect } from "vitest";

export const CWD = "/a/project";
export const MAIN = join(import.meta.dirname, "../src/main.ts");

export interface Editor {
  readonly updates: SessionUpdate[];
  readonly permissions: RequestPermissionRequest[];
  /** Answers the next requests for permission. */
  decide: (request: RequestPermissionRequest) => Promise<RequestPermissionResponse>;
  readonly agent: ClientConnection["agent"];
  /** The text of the agent so far. */
  said(): string;
  /** Closes the input of the agent. Resolves with its exit code. */
  leave(): Promise<unknown>;
}

interface Starting {
  readonly url: string;
  /** `XDG_STATE_HOME` of the agent. */
  readonly home: string;
  readonly cleanups: (() => Promise<unknown>)[];
  readonly token?: string;
}

/** Starts `colloquy acp` as an editor does. */
export async function startEditor({ url, home, cleanups, token }: Starting): Promise<Editor> {
  const child = spawn(process.execPath, [MAIN, "acp", "--url", url], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, XDG_STATE_HOME: home, ...(token !== undefined && { COLLOQUY_TOKEN: token }) },
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const leave = () => {
    child.stdin.end();
    return ended;
  };
  cleanups.push(async () => expect(await leave()).toBe(0));
  const updates: SessionUpdate[] = [];
  const permissions: RequestPermissionRequest[] = [];
  const editor = {
    updates,
    permissions,
    leave,
    decide: (_request: RequestPermissionRequest): Promise<RequestPermissionResponse> =>
      Promise.resolve({ outcome: { outcome: "selected", optionId: "approve" } }),
    said: () => textOf(updates, "agent_message_chunk"),
  };
  const connection = client({ name: "editor" })
    .onNotification(methods.client.session.update, ({ params }) => void updates.push(params.update))
    .onRequest(methods.client.session.requestPermission, ({ params }) => {
      permissions.push(params);
      return editor.decide(params);
    })
    .connect(
      ndJsonStream(
        Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
        Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>,
      ),
    );
  await connection.agent.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION });
  return Object.assign(editor, { agent: connection.agent });
}

/** Returns the texts of the chunks of a kind, joined. */
export function textOf(updates: readonly SessionUpdate[], kind: SessionUpdate["sessionUpdate"]): string {
  return updates
    .map((update) =>
      update.sessionUpdate === kind && "content" in update && isText(update.content)
        ? update.content.text
        : "",
    )
    .join("");
}

function isText(content: unknown): content is { readonly text: string } {
  return typeof content === "object" && content !== null && "text" in content;
}

export const prompt = ({ agent }: Editor, sessionId: string, text: string) =>
  agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });

export const cancel = ({ agent }: Editor, sessionId: string) =>
  agent.notify(methods.agent.session.cancel, { sessionId });

export const begin = async ({ agent }: Editor) =>
  await agent.request(methods.agent.session.new, { cwd: CWD, mcpServers: [] });
