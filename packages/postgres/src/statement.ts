// Named statements, which a connection prepares on first use.

import { createHash } from "node:crypto";
import { Client, type PoolClient, type QueryConfig, type QueryResult } from "pg";
import type { Value, Work } from "@colloquy/engine/internal/store/shared";
import { connectionLost } from "./failures.ts";

export type { Value } from "@colloquy/engine/internal/store/shared";

/** One connection. Statements that are not awaited one by one are sent together. */
export type Connection = Pick<PoolClient, "query">;

/** A prepared statement, typed where its text is written. */
export interface Statement<Parameters extends readonly Value[], Row = never> {
  get(connection: Connection, ...parameters: Parameters): Promise<Row | undefined>;
  all(connection: Connection, ...parameters: Parameters): Promise<Row[]>;
  /** Runs the statement and returns the number of changed rows. */
  run(connection: Connection, ...parameters: Parameters): Promise<number>;
}

/** Runs one or more statements without parameters, unprepared. */
export async function send(connection: Connection, text: string): Promise<QueryResult> {
  sendTogether(connection);
  try {
    return await ask(connection, { text });
  } catch (error) {
    throw connectionLost(error);
  }
}

/**
 * Like the connection's `query`. A statement whose parameters cannot be serialized closes the connection,
 * because a COMMIT sent behind it must not take effect without it.
 */
function ask(connection: Connection, config: QueryConfig): Promise<QueryResult> {
  return new Promise((resolve, reject) => {
    let isSent = false;
    connection.query(config, (error: Error | null, result: QueryResult) => {
      if (error === null) return resolve(result);
      if (!isSent && connection instanceof Client) connection.connection.stream.destroy();
      reject(error);
    });
    isSent = true;
  });
}

/** Sends the statements of one tick in one system call, because a system call costs more than a statement. */
function sendTogether(connection: Connection): void {
  if (!(connection instanceof Client)) return;
  const { stream } = connection.connection;
  if (stream.writableCorked > 0) return;
  stream.cork();
  queueMicrotask(() => stream.uncork());
}

export function prepare<Parameters extends readonly Value[], Row = never>(
  text: string,
): Statement<Parameters, Row> {
  const name = createHash("sha256").update(text).digest("base64url").slice(0, 22);
  const query = async (connection: Connection, parameters: Parameters) => {
    sendTogether(connection);
    try {
      return await ask(connection, { name, text, values: [...parameters] });
    } catch (error) {
      throw connectionLost(error);
    }
  };
  return {
    get: async (connection, ...parameters) =>
      (await query(connection, parameters)).rows[0] as Row | undefined,
    all: async (connection, ...parameters) => (await query(connection, parameters)).rows as Row[],
    run: async (connection, ...parameters) => (await query(connection, parameters)).rowCount ?? 0,
  };
}

/** Statements of the work that is written for both databases, by text: hashing a text takes longer than looking it up. */
const shared = new Map<string, Statement<readonly Value[], unknown>>();

function sharedStatement(text: string): Statement<readonly Value[], unknown> {
  const known = shared.get(text);
  if (known !== undefined) return known;
  const statement = prepare<readonly Value[], unknown>(text);
  shared.set(text, statement);
  return statement;
}

/** Runs work that is written for both databases. */
export async function runOn<Result>(connection: Connection, work: Work<Result>): Promise<Result> {
  let step = work.next();
  while (step.done !== true) {
    const { postgres, parameters, wants } = step.value;
    const statement = sharedStatement(postgres);
    const answer = wants === "rows" ? statement.all : statement.run;
    step = work.next(await answer(connection, ...parameters));
  }
  return step.value;
}

/**
 * Waits for statements sent together in one transaction. When one fails, the ones behind it fail as a
 * consequence: rejects with the first error, once all have ended.
 */
export async function together<Statements extends readonly unknown[] | []>(
  statements: Statements,
): Promise<{ -readonly [Index in keyof Statements]: Awaited<Statements[Index]> }> {
  const settled = await Promise.allSettled(statements);
  for (const one of settled) if (one.status === "rejected") throw one.reason;
  return await Promise.all(statements);
}
