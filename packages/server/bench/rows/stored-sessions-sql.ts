import type { DatabaseSync } from "node:sqlite";

/**
 * Inserts sessions directly into a database created by the service: each with one answered message and a
 * title, as they are a day later, without events.
 */
export function insertSessions(database: DatabaseSync, count: number): void {
  const uuid = `lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-8' ||
    substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))`;
  const numbers = `WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${count})`;
  const at = Date.now() - 24 * 60 * 60 * 1000;
  const usage =
    '{"inputTokens":10,"outputTokens":10,"totalTokens":20,"reasoningTokens":0,"cachedInputTokens":0}';
  database.exec(`
    PRAGMA synchronous = OFF;
    PRAGMA cache_size = -262144;
    BEGIN;
    ${numbers} INSERT INTO sessions (key, id, life, app, title, title_source, status, model, model_chosen, utility_model,
        public_key, user_state, head, event_floor, message_count, turn_count, epoch, created_at, updated_at, used_at, retention)
      SELECT 1000 + n, ${uuid}, lower(hex(randomblob(5))), 'default', 'A conversation', 'generated', 'idle',
        'demo/assistant', 0, NULL, NULL, NULL, 8, 8, 2, 1, n, ${at}, ${at}, ${at}, 1 FROM numbers;
    ${numbers} INSERT INTO messages (session_key, position, id, turn, role, status, created_at, content)
      SELECT 1000 + n, 1, ${uuid}, 1, 'user', 'complete', ${at}, 'Hello, can you tell me something?' FROM numbers;
    ${numbers} INSERT INTO messages (session_key, position, id, turn, role, status, created_at, content)
      SELECT 1000 + n, 2, ${uuid}, 1, 'assistant', 'complete', ${at}, 'Yes: here is something to be told.' FROM numbers;
    ${numbers} INSERT INTO turns (session_key, number, state, user_position, agent_position, attempts, steps, epoch, runnable,
        usage, enqueued_at, ended_at)
      SELECT 1000 + n, 1, 'complete', 1, 2, 1, 1, n, 0, '${usage}', ${at}, ${at} FROM numbers;
    UPDATE sequences SET value = ${count + 1000} WHERE name IN ('session_key', 'epoch');
    COMMIT;
    PRAGMA wal_checkpoint(TRUNCATE);
  `);
}
