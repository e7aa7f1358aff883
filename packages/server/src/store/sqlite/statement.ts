import type { DatabaseSync, SQLInputValue } from "node:sqlite";

/** A prepared statement, typed where its text is written. */
export interface Statement<Parameters extends readonly SQLInputValue[], Row = never> {
  get(...parameters: Parameters): Row | undefined;
  all(...parameters: Parameters): Row[];
  iterate(...parameters: Parameters): Iterable<Row>;
  /** Returns how many rows it changed. */
  run(...parameters: Parameters): number;
}

/** Prepares a statement in one database. */
export type Prepare = <Parameters extends readonly SQLInputValue[], Row = never>(
  sql: string,
) => Statement<Parameters, Row>;

export function prepareIn(database: DatabaseSync): Prepare {
  return <Parameters extends readonly SQLInputValue[], Row>(sql: string): Statement<Parameters, Row> => {
    const statement = database.prepare(sql);
    return {
      get: (...parameters) => statement.get(...parameters) as Row | undefined,
      all: (...parameters) => statement.all(...parameters) as Row[],
      iterate: (...parameters) => statement.iterate(...parameters) as Iterable<unknown> as Iterable<Row>,
      run: (...parameters) => Number(statement.run(...parameters).changes),
    };
  };
}
