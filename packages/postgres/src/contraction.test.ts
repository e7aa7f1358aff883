// Migrations expand first and contract a version later, so that the previous version keeps working on the
// next schema (docs/operations.md, "Upgrade and rollback"). This file lists the statements that a migration
// may always use. Every other statement is a contraction, which must be listed with the first version that
// does not use what it removes.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { isWithoutPostgres, PostgresServer } from "../../server/test/postgres-server.ts";
import { type Migration, readMigrations } from "@colloquy/engine/internal/store/migrations";
import { Connections } from "./connections.ts";
import { migrate as migratePostgres } from "./migrate.ts";
import { migrate as migrateSqlite } from "@colloquy/engine/internal/store/sqlite/database";

interface Contraction {
  readonly dialect: "postgres" | "sqlite";
  /** File of the migration. */
  readonly name: string;
  /** The statement without comments, and with single spaces. */
  readonly statement: string;
  /** First schema version whose program neither reads nor writes what the statement removes. */
  readonly unusedSince: number;
}

const CONTRACTIONS: readonly Contraction[] = [];

const withoutPostgres = await isWithoutPostgres();

const FOLDERS = { postgres: "migrations", sqlite: "../../engine/src/store/sqlite/migrations" };

const DIALECTS = (["postgres", "sqlite"] as const).map((dialect) => ({
  dialect,
  migrations: readMigrations(join(import.meta.dirname, FOLDERS[dialect])),
}));

describe.each(DIALECTS)("migrations of $dialect", ({ dialect, migrations }) => {
  const listed = CONTRACTIONS.filter((contraction) => contraction.dialect === dialect);

  it("remove nothing that the previous version uses, and require nothing that it does not write", () => {
    // A node of the previous version still runs beside it: see CONTRACTIONS.
    const tooEarly = contractionsOf(migrations).filter(({ name, statement, version }) => {
      const contraction = listed.find((other) => other.name === name && other.statement === statement);
      return contraction === undefined || contraction.unusedSince >= version;
    });
    expect(tooEarly).toEqual([]);
  });

  it("have each listed contraction", () => {
    const found = contractionsOf(migrations).map(({ name, statement }) => ({ name, statement }));
    for (const { name, statement } of listed) expect(found).toContainEqual({ name, statement });
  });
});

describe("a contraction", () => {
  const before = "CREATE TABLE turns (number bigint NOT NULL); CREATE UNIQUE INDEX one ON turns (number);";
  const contractions = (sql: string) =>
    contractionsOf([
      { version: 1, name: "0001_a.sql", sql: before },
      { version: 2, name: "0002_b.sql", sql },
    ]).map(({ statement }) => statement);

  it.each([
    "DROP TABLE turns",
    "DROP TABLE IF EXISTS turns",
    "DROP INDEX one",
    "DROP SEQUENCE epochs",
    "ALTER TABLE turns DROP COLUMN number",
    "ALTER TABLE turns DROP number",
    "alter table turns drop column number",
    "ALTER TABLE turns RENAME TO tours",
    "ALTER TABLE turns RENAME COLUMN number TO place",
    "ALTER TABLE turns ALTER COLUMN number TYPE text",
    "ALTER TABLE turns ALTER number SET DATA TYPE text",
    "ALTER TABLE turns ALTER COLUMN number SET NOT NULL",
    "ALTER TABLE turns ALTER COLUMN number DROP DEFAULT",
    "ALTER TABLE turns ADD COLUMN model text NOT NULL",
    "ALTER TABLE turns ADD model text",
    "ALTER TABLE turns ADD COLUMN model text DEFAULT 'x', DROP COLUMN number",
    "ALTER TABLE turns ADD COLUMN cost numeric(10, 2) NOT NULL, ADD COLUMN model text DEFAULT 'not null'",
    "ALTER TABLE turns ADD COLUMN model text UNIQUE",
    "ALTER TABLE turns ADD COLUMN model text CHECK (model <> '')",
    "ALTER TABLE turns ADD CONSTRAINT positive CHECK (number > 0)",
    "CREATE UNIQUE INDEX other ON turns (number)",
    "CREATE UNIQUE INDEX CONCURRENTLY other ON turns (number)",
    "CREATE TRIGGER refuses BEFORE INSERT ON turns EXECUTE FUNCTION refuse()",
    "CREATE TRIGGER refuses AFTER INSERT ON turns BEGIN SELECT RAISE(ABORT, 'no'); END",
    "CREATE TRIGGER removes AFTER INSERT ON turns BEGIN DELETE FROM turns WHERE number = new.number; END",
    "CREATE TRIGGER calls AFTER INSERT ON turns FOR EACH ROW EXECUTE FUNCTION other()",
    "CREATE FUNCTION removes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM turns; RETURN NULL; END $$",
    "CREATE TRIGGER changes AFTER DELETE ON turns BEGIN UPDATE turns SET number = 1; END",
    "DELETE FROM turns",
    "DO 'ALTER TABLE turns DROP COLUMN number'",
  ])("is recognized: %s", (statement) => {
    expect(contractions(`-- Why.\n${statement.replaceAll(" ", "\n  ")};`)).toEqual([statement]);
  });

  it.each([
    "CREATE TABLE others (a text NOT NULL, b text NOT NULL UNIQUE)",
    "CREATE TABLE others (a text); CREATE UNIQUE INDEX others_by_a ON others (a)",
    "CREATE UNLOGGED TABLE counts (a integer)",
    "CREATE INDEX CONCURRENTLY other ON turns (number)",
    "CREATE INDEX other ON turns (number); DROP INDEX other",
    "ALTER TABLE turns ADD COLUMN model text, ADD COLUMN cost numeric(10, 2) NOT NULL DEFAULT 0",
    "ALTER TABLE turns ADD COLUMN note text -- DROP COLUMN number; and NOT NULL, one day",
    "CREATE TABLE jobs (a integer); CREATE TRIGGER notes AFTER INSERT ON turns BEGIN INSERT INTO jobs (a) VALUES (1); END",
    "CREATE TABLE jobs (a integer); CREATE FUNCTION notes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO jobs (a) VALUES (1); RETURN NULL; END $$; CREATE TRIGGER notes AFTER INSERT ON turns FOR EACH ROW EXECUTE FUNCTION notes()",
    "CREATE TABLE others (a text); CREATE TRIGGER more AFTER DELETE ON turns BEGIN DELETE FROM others WHERE a = 'x;'; END",
    `CREATE TABLE others (a text);
     CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM others; RETURN NULL; END $$;
     CREATE TRIGGER more AFTER DELETE ON turns FOR EACH ROW EXECUTE FUNCTION forget()`,
    "INSERT INTO turns (number) VALUES (1); UPDATE turns SET number = 2",
  ])("is not recognized in: %s", (sql) => {
    expect(contractions(sql)).toEqual([]);
  });
});

// The text of a migration may hide its effect; the resulting tables do not.
describe("a process of the previous version", () => {
  it("finds all of its columns in the next schema of sqlite, and no new required column", () => {
    const { migrations } = DIALECTS[1]!;
    const database = new DatabaseSync(":memory:");
    const schemas = migrations.map((_migration, index) => {
      migrateSqlite(database, migrations.slice(0, index + 1), 5);
      return database.prepare(SQLITE_COLUMNS).all() as unknown as readonly Column[];
    });
    database.close();
    expectToServe("sqlite", migrations, schemas);
  });

  it.skipIf(withoutPostgres)(
    "finds them in the schema of postgres",
    async () => {
      const { migrations } = DIALECTS[0]!;
      const server = await PostgresServer.start();
      try {
        const name = await server.createDatabase();
        const schemas: (readonly Column[])[] = [];
        for (const { version } of migrations) {
          const connections = new Connections({ url: server.url(name) });
          await migratePostgres(connections, migrations.slice(0, version));
          await connections.end();
          schemas.push((await server.query(name, POSTGRES_COLUMNS)) as unknown as readonly Column[]);
        }
        expectToServe("postgres", migrations, schemas);
      } finally {
        await server.stop();
      }
    },
    60_000,
  );
});

interface Column {
  readonly table: string;
  readonly column: string;
  readonly type: string;
  /** 1 if an insert without this column is rejected. */
  readonly required: number;
}

const SQLITE_COLUMNS = `SELECT t.name AS "table", c.name AS "column", c.type AS type, c."notnull" AND c.dflt_value IS NULL AND c.pk = 0 AS required
  FROM pragma_table_list t JOIN pragma_table_xinfo(t.name) c WHERE t.schema = 'main' AND t.name NOT LIKE 'sqlite_%'`;
const POSTGRES_COLUMNS = `SELECT table_name AS "table", column_name AS "column", data_type AS type,
    (is_nullable = 'NO' AND column_default IS NULL AND is_identity = 'NO' AND is_generated = 'NEVER')::integer AS required
  FROM information_schema.columns WHERE table_schema = 'public'`;

/**
 * Expects that each version works on the next schema. `schemas` contains the columns after each migration.
 */
function expectToServe(
  dialect: Contraction["dialect"],
  migrations: readonly Migration[],
  schemas: readonly (readonly Column[])[],
): void {
  expect(schemas[0]!.length).toBeGreaterThan(50);
  for (const [index, { name }] of migrations.entries()) {
    if (index === 0 || CONTRACTIONS.some((other) => other.dialect === dialect && other.name === name))
      continue;
    const [before, after] = [schemas[index - 1]!, schemas[index]!];
    const tables = new Set(before.map(({ table }) => table));
    const known = new Set(before.map(({ table, column }) => `${table}.${column}`));
    const isSame = ({ table, column, type, required }: Column) =>
      after.some(
        (other) =>
          other.table === table &&
          other.column === column &&
          other.type === type &&
          other.required <= required,
      );
    const lost = before.filter((column) => !isSame(column));
    const asked = after.filter(
      ({ table, column, required }) =>
        required === 1 && tables.has(table) && !known.has(`${table}.${column}`),
    );
    expect({ name, lost, asked }).toEqual({ name, lost: [], asked: [] });
  }
}

interface Statement {
  readonly version: number;
  readonly name: string;
  /** The statement without comments, and with single spaces. */
  readonly statement: string;
}

/** Returns the statements that could break a program of the previous version. */
function contractionsOf(migrations: readonly Migration[]): readonly Statement[] {
  const statements = migrations.flatMap(({ version, name, sql }) =>
    statementsOf(sql).map((statement) => ({ version, name, statement })),
  );
  const unique = new Set(
    statements.map(({ statement }) => /^CREATE UNIQUE INDEX (?:CONCURRENTLY )?(\w+)/i.exec(statement)?.[1]),
  );
  return statements.filter(({ version, statement }) => {
    const made = statements
      .filter((other) => other.version === version)
      .map((other) => /^CREATE (?:(?:UNLOGGED |VIRTUAL )?TABLE|FUNCTION) (\w+)/i.exec(other.statement)?.[1]);
    return version > 1 && !isExpansion(statement, { made, unique });
  });
}

interface Known {
  /** Tables and functions that the same migration creates. */
  readonly made: readonly (string | undefined)[];
  /** Unique indexes, on which inserts may rely. */
  readonly unique: ReadonlySet<string | undefined>;
}

function isExpansion(statement: string, { made, unique }: Known): boolean {
  if (/^(CREATE ((UNLOGGED |VIRTUAL )?TABLE|INDEX|SEQUENCE|VIEW)|INSERT INTO|UPDATE) /i.test(statement))
    return true;
  if (/^CREATE (TRIGGER|FUNCTION) /i.test(statement)) return isOnlyNoting(statement, made);
  const [, guarded] = /^CREATE UNIQUE INDEX \w+ ON (\w+)/i.exec(statement) ?? [];
  if (guarded !== undefined) return made.includes(guarded);
  const [, dropped] = /^DROP INDEX (\w+)$/i.exec(statement) ?? [];
  if (dropped !== undefined) return !unique.has(dropped);
  const [, actions] = /^ALTER TABLE \w+ (.*)$/i.exec(statement) ?? [];
  return actions !== undefined && partsOf(actions).every(addsWhatMayBeMissing);
}

/** Returns true for triggers that write only what the migration creates, and refuse nothing. */
function isOnlyNoting(statement: string, made: Known["made"]): boolean {
  const [, called] = /^CREATE TRIGGER \w+ AFTER .* EXECUTE FUNCTION (\w+)\(\)$/i.exec(statement) ?? [];
  if (called !== undefined) return made.includes(called);
  const [, on, body] =
    /^CREATE TRIGGER \w+ (?:AFTER .*?|BEFORE DELETE) ON (\w+) .*?BEGIN (.*) END$/i.exec(statement) ??
    /^CREATE FUNCTION (\w+)\(\) RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN (.*) END \$\$$/i.exec(
      statement,
    ) ??
    [];
  if (body === undefined || /\bRAISE\b/i.test(body)) return false;
  if (/ BEFORE /i.test(statement.slice(0, statement.indexOf(" BEGIN "))) && !made.includes(on)) return false;
  const written = Array.from(
    body.matchAll(/\b(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)/gi),
    ([, table]) => table,
  );
  return written.length > 0 && written.every((table) => made.includes(table));
}

function addsWhatMayBeMissing(action: string): boolean {
  const definition = action.replaceAll(/'[^']*'/g, "''");
  if (!/^ADD COLUMN /i.test(definition)) return false;
  if (/ (UNIQUE|PRIMARY KEY|CHECK|REFERENCES)\b/i.test(definition)) return false;
  return !/ NOT NULL\b/i.test(definition) || / DEFAULT /i.test(definition);
}

function statementsOf(sql: string): readonly string[] {
  const text = sql.replaceAll(/--.*$/gm, "").replaceAll(/\s+/g, " ");
  // The body of a trigger or function has semicolons of its own.
  const whole =
    /\s*CREATE TRIGGER [^;]*? BEGIN .*? END(?=;|$)|\s*CREATE FUNCTION [^;$]*\$\$.*?\$\$|(?:'[^']*'|[^;'])+/g;
  return (text.match(whole) ?? []).map((part) => part.trim()).filter((part) => part !== "");
}

/** Splits at commas outside of parentheses and strings. */
function partsOf(text: string): readonly string[] {
  const parts = text.match(/(?:'[^']*'|\((?:[^()]|\([^()]*\))*\)|[^,'(])+/g) ?? [];
  return parts.map((part) => part.trim());
}
