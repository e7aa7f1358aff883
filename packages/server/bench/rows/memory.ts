// Compares the memory of live sessions with the size of their snapshots, and that of running turns with the
// SDK's loop.

import { setTimeout as sleep } from "node:timers/promises";
import type { SdkHandlers } from "../controls/sdk.ts";
import { getRequest, postRequest, randomSessionId } from "../load/requests.ts";
import { RoleProcess } from "../role.ts";
import { formatCount, type Row } from "../table.ts";
import { startColloquyRole, stopAll, type RowContext } from "./row.ts";

const MEGABYTE = 1024 * 1024;
/** Length of user messages. With the model's 60 characters, messages have 300 on average. */
const QUESTION = "a+question+of+many+words+".repeat(22).slice(0, 540);
const MESSAGES = 20;

export async function measureMemory(context: RowContext): Promise<readonly Row[]> {
  return [await measureSessions(context), await measureTurns(context)];
}

async function measureSessions(context: RowContext): Promise<Row> {
  const sessions = context.quick ? 500 : 2000;
  const colloquy = startColloquyRole(context);
  try {
    const port = await colloquy.ask("port");
    const chat = (id: string) =>
      postRequest(`/api/chat?message=${QUESTION}`, id).replace(
        "Content-Length",
        "Prefer: wait=10\r\nContent-Length",
      );
    const fill = async (count: number) => {
      const ids = Array.from({ length: count }, randomSessionId);
      for (let sent = 0; sent < MESSAGES / 2; sent += 1)
        await context.client.ask("fetch", { port, requests: ids.map(chat) });
      return ids;
    };
    await fill(sessions / 10);
    const before = await colloquy.ask("heap");
    const ids = await fill(sessions);
    const each = ((await colloquy.ask("heap")) - before) / sessions;
    const state = getRequest("/api/state", ids[0] ?? "");
    const bytes = Buffer.byteLength(await context.client.ask("fetch", { port, requests: [state] }));
    return {
      name: `memory of a live session of ${MESSAGES} messages of 300 characters, against its snapshot's JSON`,
      colloquy: `${(each / 1024).toFixed(1)} KB`,
      control: `${(bytes / 1024).toFixed(1)} KB`,
      ratio: (each / bytes).toFixed(2),
      target: "at most 1.5",
      met: each / bytes <= 1.5,
    };
  } finally {
    await stopAll([colloquy]);
  }
}

async function measureTurns(context: RowContext): Promise<Row> {
  const turns = context.quick ? 250 : 1000;
  const colloquy = startColloquyRole(context, { limits: { maxRunning: 2 * turns } });
  const control = new RoleProcess<SdkHandlers>("sdk", null);
  try {
    const port = await colloquy.ask("port");
    const stream = (count: number) =>
      Array.from({ length: count }, () => postRequest("/api/chat?message=stream+on", randomSessionId()));
    await context.client.ask("fetch", { port, requests: stream(50) });
    const before = await colloquy.ask("heap");
    await context.client.ask("fetch", { port, requests: stream(turns) });
    await sleep(context.measuredMs);
    const own = (await colloquy.ask("heap")) - before;
    const bare = await control.ask("heapOf", { streams: turns, measuredMs: context.measuredMs });
    const above = (own - bare) / MEGABYTE;
    return {
      name: `memory of ${formatCount(turns, "")} running turns, against \`streamText\``,
      colloquy: `${(own / MEGABYTE).toFixed(1)} MB`,
      control: `${(bare / MEGABYTE).toFixed(1)} MB`,
      ratio: `${above.toFixed(1)} MB more`,
      target: "at most 30 MB more",
      met: above <= 30,
    };
  } finally {
    await stopAll([colloquy, control]);
  }
}
