import type { SQLInputValue } from "node:sqlite";
import { expect, it } from "vitest";
import type { FoundPart } from "../core/ports/driven/search-store.ts";
import { parseSearch } from "../core/search-text.ts";
import { search } from "./search.ts";
import { openDatabase, type Prepare, prepareIn, prepareWork } from "./sqlite/database.ts";

const NOW = 2_000;
const ACCESS = {
  apps: ["shop"],
  provedApps: ["shop"],
  user: { owner: "alice", apps: ["shop"], wallets: ["0xa"], takesNew: true },
};
const NUMBERS = "WITH RECURSIVE n(value) AS (SELECT 0 UNION ALL SELECT value + 1 FROM n WHERE value < 1199)";
/** 600 messages of the user and 600 of the wallet, alternating. */
const MESSAGES = `
  ${NUMBERS} INSERT INTO sessions (key, id, life, title, title_source, status, model, model_chosen, head, message_count, turn_count,
    epoch, created_at, updated_at, used_at, retention, app, owned_by, public_key)
  SELECT value, value, 'a', 'Tea', 'user', 'idle', 'm', 0, 0, 600, 0, 0, 0, 0, 0, 1, 'shop',
    iif(value = 0, 'alice', NULL), iif(value = 1, '0xa', NULL) FROM n WHERE value < 2;
  ${NUMBERS} INSERT INTO messages (session_key, position, id, turn, role, status, created_at, content)
  SELECT value % 2, value / 2 + 1, value, 1, 'user', 'complete', value, 'the tea' FROM n`;

it("reads a bounded number of messages per user and wallet for a frequent word", () => {
  const database = openDatabase(null, 0);
  const prepare = prepareIn(database);
  const statements: string[] = [];
  const work = prepareWork((text) => {
    statements.push(text);
    return prepare(text);
  });
  database.exec(MESSAGES);
  while (work(search.index.work(NOW as never)).hasMore);
  statements.length = 0;
  const find = (query: string): readonly FoundPart[] => {
    const { words } = parseSearch(query)!;
    const sessions = { kind: "user", access: ACCESS } as const;
    return work(search.find.work(null as never, { sessions, words, before: null, limit: 4 }));
  };
  for (const query of ["the tea ", "te"])
    expect(find(query).map(({ createdAt }) => createdAt)).toEqual([1_199, 1_198, 1_197, 1_196]);
  expect(statements).not.toEqual([]);
  expect(statements.filter((text) => !text.includes("LIMIT 500"))).toEqual([]);
  database.close();
});

it("adds each of more than a thousand messages of one moment with the same few statements", () => {
  const database = openDatabase(null, 0);
  const prepare = prepareIn(database);
  let runs = 0;
  const counting = (text: string) => {
    const statement = prepare<SQLInputValue[], unknown>(text);
    const counted =
      <Result>(call: (...parameters: SQLInputValue[]) => Result) =>
      (...parameters: SQLInputValue[]): Result => {
        runs += 1;
        return call(...parameters);
      };
    return { ...statement, all: counted(statement.all), run: counted(statement.run) };
  };
  const work = prepareWork(counting as Prepare);
  database.exec(MESSAGES);
  database.exec("UPDATE messages SET created_at = 5");
  let messages = 0;
  for (let hasMore = true; hasMore; ) {
    const batch = work(search.index.work(NOW as never));
    messages += batch.messages;
    hasMore = batch.hasMore;
  }
  expect(messages).toBe(1_200);
  expect(runs).toBeLessThan(1_200 * 5);
  database.close();
});
