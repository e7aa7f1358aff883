// A search among a million messages, against one among a thousand. All are of the session's scope, so that the index has as
// much to read as it ever can.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openSqliteStore } from "@colloquy/engine/internal/store/sqlite/open";
import { Search } from "@colloquy/engine/internal/sessions/search";
import { createSystemClock } from "@colloquy/engine/internal/wiring/clock";
import { median, percentile } from "../statistics.ts";
import { formatCount, formatMs, formatRounds, type Row } from "../table.ts";
import { inTurn, type RowContext } from "./row.ts";

const OWNER = "owner of the bench";
const FEW = 1_000;
const PER_SESSION = 50;
const SEARCHES = 200;
const WORDS_OF_MESSAGE = 40;
const SYLLABLES = "ba con de pro in re ter mi lo sa tion ing er al en st ca fo ri un ti ve per com ex".split(
  " ",
);

/** A repeatable sequence of numbers from 0 to 1. */
function createRandom(): () => number {
  let seed = 1;
  return () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed / 2_147_483_648;
  };
}

/** Returns a function that picks words as frequently as texts have them (Zipf's law). */
function createWords(random: () => number): () => string {
  const word = () =>
    Array.from(
      { length: 1 + Math.floor(random() * 4) },
      () => SYLLABLES[Math.floor(random() * SYLLABLES.length)],
    ).join("");
  const words = [...new Set(Array.from({ length: 40_000 }, word))];
  let total = 0;
  const bounds = words.map((_word, rank) => (total += 1 / (rank + 2)));
  return () => {
    const wanted = random() * total;
    let [low, high] = [0, bounds.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((bounds[middle] ?? 0) < wanted) low = middle + 1;
      else high = middle;
    }
    return words[low] ?? "";
  };
}

export async function measureSearch(context: RowContext): Promise<readonly Row[]> {
  const many = context.quick ? 100_000 : 1_000_000;
  const random = createRandom();
  const word = createWords(random);
  const [large, small] = [await prepared(context, many, word), await prepared(context, FEW, word)];
  try {
    const timed = async (search: Search): Promise<number> => {
      const times: number[] = [];
      for (let count = 0; count < SEARCHES; count += 1) {
        const query = [word(), word()].slice(count % 2).join(" ");
        const begun = performance.now();
        await search.find({ query, sessions: SESSIONS, limit: 20, cursor: null });
        times.push(performance.now() - begun);
      }
      return percentile(times, 0.95);
    };
    for (const { search } of [large, small]) await timed(search);
    const rounds = await inTurn(
      context.rounds,
      () => timed(large.search),
      () => timed(small.search),
    );
    const ratios = rounds.map((round) => round.colloquy / round.control);
    return [
      {
        name: `p95 of a search among ${formatCount(many, "")} messages, against ${formatCount(FEW, "")}`,
        colloquy: formatMs(median(rounds.map((round) => round.colloquy))),
        control: formatMs(median(rounds.map((round) => round.control))),
        ratio: formatRounds(ratios),
        target: "at most 5",
        met: median(ratios) <= 5,
      },
    ];
  } finally {
    await Promise.all([large.close(), small.close()]);
  }
}

const SESSIONS = {
  kind: "user",
  access: { apps: ["default"], user: { owner: OWNER, apps: ["default"], takesNew: true } },
} as const;

/** Returns a search among `count` messages of one user. */
async function prepared(context: RowContext, count: number, word: () => string) {
  const directory = context.newDirectory();
  const options = { directory, clock: createSystemClock(), onFatal: (error: Error) => Promise.reject(error) };
  await (await openSqliteStore(options)).close();
  const file = readdirSync(directory).find((name) => name.endsWith(".db")) ?? "";
  insertMessages(new DatabaseSync(join(directory, file)), count, word);
  const store = await openSqliteStore(options);
  while ((await store.search.index()).hasMore);
  return { search: new Search(store), close: () => store.close() };
}

function insertMessages(database: DatabaseSync, count: number, word: () => string): void {
  const at = Date.now() - 24 * 60 * 60 * 1000;
  database.exec("PRAGMA synchronous = OFF; BEGIN");
  const session = database.prepare(
    `INSERT INTO sessions (key, id, life, app, title, title_source, status, model, model_chosen, owned_by, head, event_floor,
       message_count, turn_count, epoch, created_at, updated_at, used_at, retention)
     VALUES (?, ?, 'a', 'default', 'A conversation', 'user', 'idle', 'demo/assistant', 0, ?, 0, 0, ?, 1, 1, ?, ?, ?, 2)`,
  );
  const message = database.prepare(
    `INSERT INTO messages (session_key, position, id, turn, role, status, created_at, content)
     VALUES (?, ?, ?, 1, 'user', 'complete', ?, ?)`,
  );
  for (let number = 0; number < count; number += 1) {
    const key = 1 + Math.floor(number / PER_SESSION);
    if (number % PER_SESSION === 0) session.run(key, `session ${key}`, OWNER, PER_SESSION, at, at, at);
    const text = Array.from({ length: WORDS_OF_MESSAGE }, word).join(" ");
    message.run(key, 1 + (number % PER_SESSION), `message ${number}`, at + number, text);
  }
  database.exec("COMMIT");
  database.close();
}
