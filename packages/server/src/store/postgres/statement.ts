// Statements by a name of their own, which a connection prepares when it first meets them.

import { createHash } from "node:crypto";
import { Client, type QueryResult } from "pg";
import type { Connection } from "./connections.ts";
import { connectionLost } from "./failures.ts";

export type Value = string | number | null | readonly (string | number | null)[];

/** A prepared statement, typed by whoever wrote its text. */
export interface Statement<Parameters extends readonly Value[], Row = never> {
  get(connection: Connection, ...parameters: Parameters): Promise<Row | undefined>;
  all(connection: Connection, ...parameters: Parameters): Promise<Row[]>;
  /** Answers how many rows it changed. */
  run(connection: Connection, ...parameters: Parameters): Promise<number>;
}

/** Runs a text without parameters, which may hold several statements, unprepared. */
export async function send(connection: Connection, text: string): Promise<QueryResult> {
  sendTogether(connection);
  try {
    return await connection.query(text);
  } catch (error) {
    throw connectionLost(error);
  }
}

/** Has what is sent in one go leave in one piece: a call of the system for each statement would cost more than the statement does. */
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
      return await connection.query({ name, text, values: [...parameters] });
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
