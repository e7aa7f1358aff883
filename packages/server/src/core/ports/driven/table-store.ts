// A store as its tables, row by row, for what moves data between stores. Whatever a later migration adds is here by itself, because tables
// and columns come from the schema. Rules about sessions do not hold here: whoever writes through this port has to keep them.

/** What stands in a column; what is true or false is 1 or 0, JSON is text. */
export type Cell = string | number | null;

/** Cells in the order of the table's columns. */
export type TableRow = readonly Cell[];

export interface Column {
  readonly name: string;
  readonly kind: "number" | "text";
  /** Whether it may be `null`. */
  readonly isOptional: boolean;
}

export interface Table {
  readonly name: string;
  readonly columns: readonly Column[];
  /** Names of the columns of its primary key, in the order of that. */
  readonly key: readonly string[];
}

/** Part of a table, in the order of its key: numbers by their value, texts by their bytes. */
export interface Extract {
  /** Cells of the key behind which it begins, `null` for the beginning. */
  readonly after: TableRow | null;
  /** Rows at most, and about how many characters; at least one row, if there is one. */
  readonly rows: number;
  readonly characters: number;
  /** Only rows that have this value in this column. */
  readonly where?: Where;
}

export interface Where {
  readonly column: string;
  readonly value: Cell;
}

/** What is known of a move into this database. While it is unfinished, no server starts on the database. */
export interface MoveNote {
  readonly isFinished: boolean;
  readonly text: string;
}

export interface TableReader {
  count(table: Table): Promise<number>;
  /** No rows are the end. */
  extract(table: Table, part: Extract): Promise<readonly TableRow[]>;
  /** The last number that each store-wide sequence gave out, 0 for none. */
  sequences(): Promise<Readonly<Record<string, number>>>;
  moveNote(): Promise<MoveNote | null>;
}

export interface TableWriter extends TableReader {
  /** Rejects when a row is there already. */
  insert(table: Table, rows: readonly TableRow[]): Promise<void>;
  /** Removes the rows with this value, `null` for all of them. */
  remove(table: Table, where: Where | null): Promise<void>;
  /** Lets a sequence go on behind `number`, if it has not come so far. */
  raise(sequence: string, number: number): Promise<void>;
  /** A number that was never given out before. */
  take(sequence: string): Promise<number>;
  noteMove(note: MoveNote): Promise<void>;
}

/**
 * What a database is opened for. `source`: data is moved out of it; no server may be running, and nobody writes meanwhile. `target`: data is
 * moved into it, maybe not for the first time; no server may be running. `alone`: something else that no server may see. `beside`: a server
 * may be running, as with every other command that administers.
 */
export type TableAccess = "source" | "target" | "alone" | "beside";

export interface TableStore {
  /** Says it to a person, without a password: `sqlite:/data` or `postgres://host:5432/name`. */
  readonly place: string;
  /** All that hold what a restart must not lose, without the store's own bookkeeping; by name. */
  readonly tables: readonly Table[];
  /** Reads one state of the database, which nobody changes meanwhile. */
  read<Result>(work: (reader: TableReader) => Promise<Result>): Promise<Result>;
  /** Changes the database: all that `work` does, or nothing of it. */
  change<Result>(work: (writer: TableWriter) => Promise<Result>): Promise<Result>;
  /** Rejects with a sentence for the person at the terminal when somebody else has the database in use. */
  refuseServed(): Promise<void>;
  /** After many rows were written: what the database knows about its tables is brought up to date. */
  tidy(): Promise<void>;
}
