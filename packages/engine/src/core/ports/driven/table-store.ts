// A store as tables and rows, for moving data between stores. Tables and columns come from the schema, so new
// ones are included. This port enforces no rules about sessions; its callers must. Implemented by `tables.ts`
// of each store.

/** Value of a column; booleans are 1 or 0, JSON is text. */
export type Cell = string | number | null;

/** Cells in the order of the table's columns. */
export type TableRow = readonly Cell[];

export interface Column {
  readonly name: string;
  readonly kind: "number" | "text";
  /** True if cells may be `null`. */
  readonly isOptional: boolean;
}

export interface Table {
  readonly name: string;
  readonly columns: readonly Column[];
  /** Columns of the primary key, in order. */
  readonly key: readonly string[];
}

/** Range of a table in key order, which compares numbers by value and texts by bytes. */
export interface Extract {
  /** Key after which the page begins, `null` for the first page. */
  readonly after: TableRow | null;
  /** Maximum rows and approximate maximum characters; a page holds at least one row if any is left. */
  readonly rows: number;
  readonly characters: number;
  /** Restricts the range to rows with this value in this column. */
  readonly where?: Where;
}

export interface Where {
  readonly column: string;
  readonly value: Cell;
}

/** State of a move into this database. Servers refuse to start on the database until the move is finished. */
export interface MoveNote {
  readonly isFinished: boolean;
  readonly text: string;
}

export interface TableReader {
  count(table: Table): Promise<number>;
  /** An empty page is the end. */
  extract(table: Table, part: Extract): Promise<readonly TableRow[]>;
  /** The last value of each store-wide sequence, 0 for none. */
  sequences(): Promise<Readonly<Record<string, number>>>;
  moveNote(): Promise<MoveNote | null>;
}

export interface TableWriter extends TableReader {
  /** Rejects if a row exists. */
  insert(table: Table, rows: readonly TableRow[]): Promise<void>;
  /** Removes the rows with this value, `null` for all of them. */
  remove(table: Table, where: Where | null): Promise<void>;
  /** Advances a sequence to at least `number`. Rejects if there is no such sequence. */
  raise(sequence: string, number: number): Promise<void>;
  /** Returns the next value of a sequence. Rejects if there is no such sequence. */
  take(sequence: string): Promise<number>;
  noteMove(note: MoveNote): Promise<void>;
}

/**
 * Purpose of opening a database. `source`: to move data out, without servers and writers. `target`: to start
 * or continue a move into it, without servers. `alone`: without servers. `beside`: a server may be running.
 */
export type TableAccess = "source" | "target" | "alone" | "beside";

export interface TableStore {
  /** Name of the database without a password: `sqlite:/data` or `postgres://host:5432/name`. */
  readonly place: string;
  /** All tables whose data must survive a restart, by name, without the store's bookkeeping. */
  readonly tables: readonly Table[];
  /** Reads one consistent state of the database. */
  read<Result>(work: (reader: TableReader) => Promise<Result>): Promise<Result>;
  /** Runs `work` in one transaction. */
  change<Result>(work: (writer: TableWriter) => Promise<Result>): Promise<Result>;
  /** Rejects with a user-facing message if the database is in use. */
  refuseServed(): Promise<void>;
  /** Updates the database's statistics after many writes. */
  tidy(): Promise<void>;
}
