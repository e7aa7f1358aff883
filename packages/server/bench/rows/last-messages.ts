// Compares sequential chats with `messages=last:50` in sessions of 20,000 and of 20 messages. The turns wait
// for the only slot, so that only the chats are measured.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { getRequest, postRequest } from "../load/requests.ts";
import { median } from "../statistics.ts";
import { formatMs, formatRounds, type Row } from "../table.ts";
import { makeSession } from "./long-session.ts";
import { inTurn, startColloquyRole, stopAll, type RowContext } from "./row.ts";

const LONG = 20_000;
const SHORT = 20;
const CHATS = 50;
const LIMITS = { maxRunning: 1 } as const;

export async function measureLastMessages(context: RowContext): Promise<readonly Row[]> {
  const directory = context.newDirectory();
  const before = startColloquyRole(context, { directory });
  const port = await before.ask("port");
  const [long, short] = [await makeSession(context, port, SHORT), await makeSession(context, port, SHORT)];
  const other = await makeSession(context, port, 2);
  await stopAll([before]);
  addMessages(join(directory, "colloquy.db"), long);
  const colloquy = startColloquyRole(context, { directory, limits: LIMITS });
  try {
    const port = await colloquy.ask("port");
    const answer = async (request: string): Promise<string> => {
      const { body } = await context.client.ask("answer", { port, request });
      if (!body.includes('"session_id"')) throw new Error(body);
      return body;
    };
    await answer(postRequest("/api/chat?message=park+this+turn+until+the+gate+opens&messages=last:0", other));
    const chats = async (id: string): Promise<number> => {
      const taken: number[] = [];
      for (let count = 0; count < CHATS; count += 1) {
        const begun = performance.now();
        await answer(postRequest("/api/chat?message=hello&messages=last:50", id));
        taken.push(performance.now() - begun);
        await answer(postRequest("/api/interrupt?messages=last:0", id));
      }
      return median(taken);
    };
    // Load both sessions into memory.
    for (const [id, messages] of [
      [long, LONG],
      [short, SHORT],
    ] as const) {
      const found = JSON.parse(await answer(getRequest("/api/state", id))) as { messages: unknown[] };
      if (found.messages.length !== messages)
        throw new Error(`The session has ${found.messages.length} messages`);
      await chats(id);
    }
    const rounds = await inTurn(
      Math.max(3, context.rounds),
      () => chats(long),
      () => chats(short),
    );
    const ratios = rounds.map((round) => round.colloquy / round.control);
    return [
      {
        name: `a chat with \`messages=last:50\` in a session of ${LONG} messages, against one of ${SHORT}`,
        colloquy: formatMs(median(rounds.map((round) => round.colloquy))),
        control: formatMs(median(rounds.map((round) => round.control))),
        ratio: formatRounds(ratios),
        target: "at most 1.5",
        met: median(ratios) <= 1.5,
      },
    ];
  } finally {
    await stopAll([colloquy]);
  }
}

/** Inserts finished turns of a session into its database. */
function addMessages(file: string, session: string): void {
  const uuid = `lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-8' ||
    substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))`;
  const turns = `WITH RECURSIVE turns(n) AS (SELECT ${SHORT / 2 + 1} UNION ALL SELECT n + 1 FROM turns WHERE n < ${LONG / 2})`;
  const at = Date.now();
  const usage =
    '{"inputTokens":10,"outputTokens":10,"totalTokens":20,"reasoningTokens":0,"cachedInputTokens":0}';
  const database = new DatabaseSync(file);
  const key = `(SELECT key FROM sessions WHERE id = '${session}')`;
  database.exec(`
    BEGIN;
    ${turns} INSERT INTO messages (session_key, position, id, turn, role, status, created_at, content)
      SELECT ${key}, 2 * n - 1, ${uuid}, n, 'user', 'complete', ${at}, 'Hello, can you tell me something?' FROM turns;
    ${turns} INSERT INTO messages (session_key, position, id, turn, role, status, created_at, content)
      SELECT ${key}, 2 * n, ${uuid}, n, 'assistant', 'complete', ${at}, 'Yes: here is something to be told.' FROM turns;
    ${turns} INSERT INTO turns (session_key, number, state, user_position, agent_position, attempts, steps, epoch, runnable,
        usage, enqueued_at, ended_at)
      SELECT ${key}, n, 'complete', 2 * n - 1, 2 * n, 1, 1, 1, 0, '${usage}', ${at}, ${at} FROM turns;
    UPDATE sessions SET message_count = ${LONG}, turn_count = ${LONG / 2} WHERE id = '${session}';
    COMMIT;
  `);
  database.close();
}
