import type { DatabaseSync, SQLInputValue } from "node:sqlite";

/** A prepared statement, typed by whoever wrote its text. */
export interface Statement<Parameters extends readonly SQLInputValue[], Row = never> {
  get(...parameters: Parameters): Row | undefined;
  all(...parameters: Parameters): Row[];
  /** Answers how many rows it changed. */
  run(...parameters: Parameters): number;
}

export function prepare<Parameters extends readonly SQLInputValue[], Row = never>(
  database: DatabaseSync,
  sql: string,
): Statement<Parameters, Row> {
  const statement = database.prepare(sql);
  return {
    get: (...parameters) => statement.get(...parameters) as Row | undefined,
    all: (...parameters) => statement.all(...parameters) as Row[],
    run: (...parameters) => Number(statement.run(...parameters).changes),
  };
}
