// Methods of ports that are written once for both databases, as generators that yield statements: read
// `yield*` as `await`. SQLite's thread runs each statement at once, so that nothing can happen between two of
// them; PostgreSQL's adapter awaits each (ADR 36). A failed statement abandons the generator: its `catch` and
// `finally` do not run. A repeated transaction starts a new one.

export type Value = string | number | null | readonly (string | number | null)[];

/** Adds text to a statement for one database only. */
export interface On {
  sqlite(text: string): string;
  postgres(text: string): string;
}

const SQLITE: On = { sqlite: (text) => text, postgres: () => "" };
const POSTGRES: On = { sqlite: () => "", postgres: (text) => text };

/** A statement to run. The answer is its rows, or the number of changed rows. */
export interface StatementCall {
  readonly sqlite: string;
  readonly postgres: string;
  readonly parameters: readonly Value[];
  readonly wants: "rows" | "count";
}

/** Work in one transaction: yields statements, receives their answers, and returns its result. */
export type Work<Result> = Generator<StatementCall, Result, unknown>;

/** A statement, typed where its text is written. */
export interface Statement<Parameters extends readonly Value[], Row = never> {
  get(...parameters: Parameters): Work<Row | undefined>;
  all(...parameters: Parameters): Work<Row[]>;
  /** Runs the statement and returns the number of changed rows. */
  run(...parameters: Parameters): Work<number>;
}

/**
 * The text is PostgreSQL's, with parameters such as `$1` or `$1::bigint`. SQLite gets them without their
 * types, and lists as JSON.
 */
export function prepare<Parameters extends readonly Value[], Row = never>(
  text: string | ((on: On) => string),
): Statement<Parameters, Row> {
  const textOn = (on: On) => (typeof text === "string" ? text : text(on));
  const sqlite = textOn(SQLITE).replaceAll(/\$(\d+)(::\w+)?/g, "?$1");
  const texts = { sqlite, postgres: textOn(POSTGRES) };
  return {
    *get(...parameters) {
      return ((yield { ...texts, parameters, wants: "rows" }) as Row[])[0];
    },
    *all(...parameters) {
      return (yield { ...texts, parameters, wants: "rows" }) as Row[];
    },
    *run(...parameters) {
      return (yield { ...texts, parameters, wants: "count" }) as number;
    },
  };
}

/** SQL for membership in a list, which is a parameter. */
export function inList(on: On, parameter: string, type: "bigint" | "text"): string {
  return (
    on.postgres(`= ANY(${parameter}::${type}[])`) +
    on.sqlite(`IN (SELECT value FROM json_each(${parameter}))`)
  );
}

/**
 * SQL for the time in a parameter, or else the database's time, in milliseconds since the Unix epoch. SQLite
 * always gets a time.
 */
export function timeOrNow(parameter: string, on: On = POSTGRES): string {
  const otherwise = "floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint";
  return on.sqlite(parameter) + on.postgres(`coalesce(${parameter}::bigint, ${otherwise})`);
}

/**
 * Calls about the same subject keep their order; reads do not wait for each other. A function gets the
 * parameters of the call.
 */
type Subject = string | ((...parameters: never[]) => string);

/** Returns the subject of calls about a session. */
export function ofSession(id: string): string {
  return `session ${id}`;
}

/**
 * `way` is a method of PostgreSQL's `Calls`. SQLite runs "alone" in a transaction that writes, and the others
 * in one that reads.
 */
export interface SharedMethod<Parameters extends readonly unknown[], Answer> {
  readonly way: "look" | "read" | "alone";
  readonly subject: Subject;
  readonly work: (at: never, ...parameters: Parameters) => Work<Answer>;
}

/** A port whose methods are written once. */
export type SharedPort<Port> = {
  readonly [M in keyof Port]: Port[M] extends (...parameters: infer Parameters) => Promise<infer Answer>
    ? SharedMethod<Parameters, Answer>
    : never;
};

/** A method that runs one statement. `at` is `null` to use the database's own time. */
export function look<Parameters extends readonly unknown[], Answer>(
  subject: Subject,
  work: (at: number | null, ...parameters: Parameters) => Work<Answer>,
): SharedMethod<Parameters, Answer> {
  return { way: "look", subject, work };
}

/** A method that runs any number of statements on one snapshot of the database. */
export function read<Parameters extends readonly unknown[], Answer>(
  subject: Subject,
  work: (at: number | null, ...parameters: Parameters) => Work<Answer>,
): SharedMethod<Parameters, Answer> {
  return { way: "read", subject, work };
}

/** A method that writes, in a separate transaction. `at` is the time on the store's clock. */
export function change<Parameters extends readonly unknown[], Answer>(
  subject: Subject,
  work: (at: number, ...parameters: Parameters) => Work<Answer>,
): SharedMethod<Parameters, Answer> {
  return { way: "alone", subject, work };
}
