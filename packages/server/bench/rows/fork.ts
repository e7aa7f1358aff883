// Copies of a session of 2,000 messages, one at a time. The control reads the session's state.

import { getRequest, jsonRequest, randomSessionId } from "../load/requests.ts";
import { median } from "../statistics.ts";
import { formatMs, type Row } from "../table.ts";
import { makeSession } from "./long-session.ts";
import { startColloquyRole, stopAll, type RowContext } from "./row.ts";

const MESSAGES = 2000;
const COPIES = 30;

export async function measureFork(context: RowContext): Promise<readonly Row[]> {
  const colloquy = startColloquyRole(context);
  try {
    const port = await colloquy.ask("port");
    const id = await makeSession(context, port, MESSAGES);
    const timed = async (request: string): Promise<number> => {
      const begun = performance.now();
      const { body } = await context.client.ask("answer", { port, request });
      const ms = performance.now() - begun;
      if (!body.includes('"session_id"')) throw new Error(body);
      return ms;
    };
    const [copies, reads] = [[] as number[], [] as number[]];
    for (let count = 0; count < COPIES; count += 1) {
      const body = JSON.stringify({ session_id: randomSessionId() });
      copies.push(await timed(jsonRequest("POST", `/api/sessions/${id}/fork`, id, body)));
      reads.push(await timed(getRequest("/api/state", id)));
    }
    return [
      {
        name: `fork of a session of ${MESSAGES} messages, one at a time (control: reading its state)`,
        colloquy: formatMs(median(copies)),
        control: formatMs(median(reads)),
        ratio: (median(copies) / median(reads)).toFixed(1),
        target: "p50 at most 100 ms",
        met: median(copies) <= 100,
      },
    ];
  } finally {
    await stopAll([colloquy]);
  }
}
