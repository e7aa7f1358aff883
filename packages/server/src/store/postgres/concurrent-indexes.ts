// Indexes that a migration builds while everybody goes on reading and writing the table: one statement each, outside of the migration's
// transaction, because PostgreSQL builds them in several of its own.

export interface ConcurrentIndex {
  readonly name: string;
  readonly sql: string;
}

/** A migration in two parts: what is one transaction, and the indexes that are built behind it. */
export interface SplitMigration {
  readonly transaction: string;
  readonly indexes: readonly ConcurrentIndex[];
}

const CONCURRENTLY = /^CREATE (?:UNIQUE )?INDEX CONCURRENTLY (\w+) [^;]+;/gm;

/** Such a statement begins at the beginning of a line and has no semicolon within; any other one fails in the transaction. */
export function splitMigration(sql: string): SplitMigration {
  const indexes = Array.from(sql.matchAll(CONCURRENTLY), ([statement, name = ""]) => ({
    name,
    sql: statement,
  }));
  return { transaction: sql.replaceAll(CONCURRENTLY, ""), indexes };
}
