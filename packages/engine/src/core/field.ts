// Declares the fields of stored records: value type, database columns and export format. Record and row types, reads,
// writes, copies, exports and imports derive from these declarations.

import type { z } from "zod";
import type { JsonValue } from "./json.ts";
import type { LineSchemas } from "./line-schemas.ts";

/** Column type in PostgreSQL. SQLite uses INTEGER for all numbers. */
export type ColumnType = "bigint" | "integer" | "smallint" | "text";
/** Column types by name. */
export type Columns = Readonly<Record<string, ColumnType>>;
export type Cell = string | number | null;

type SchemaFrom<Schema> = (from: LineSchemas) => Schema;

export interface Column<Stored extends Cell, Schema extends z.ZodType> {
  readonly type: ColumnType;
  /** Carries the cell type; never set. */
  readonly stored?: Stored;
  /** Validates the column's value in an import. A column that older exports lack needs a default. */
  readonly schema: SchemaFrom<Schema>;
  /** True if the column stores JSON text. Exports embed it as JSON. */
  readonly isJson: boolean;
  toCell(value: never, record: never): Stored;
}

/** Options of a field declaration. */
export interface Options {
  /** True if the field is written only on insert. */
  readonly fixed?: true;
  /** True if exports omit the field because the importing store assigns or computes it. */
  readonly computed?: true;
  /** True if the record omits the field when it has no value. */
  readonly optional?: true;
  /** Session fields only: true if a fork copies the field. */
  readonly copied?: boolean;
  /** Session fields only: value in a new session. */
  readonly initial?: unknown;
}

export interface Field<Value> extends Options {
  readonly columns: Readonly<Record<string, Column<Cell, z.ZodType>>>;
  fromRow(row: never): Value;
}

/** Fields of a record by name. */
export type Fields = Readonly<Record<string, Field<unknown>>>;

type ValueOf<F> = F extends { fromRow(row: never): infer Value } ? Value : never;
type Flat<T> = { [Key in keyof T]: T[Key] };

type Optional<F extends Fields> = {
  [Name in keyof F]: F[Name] extends { readonly optional: true } ? Name : never;
}[keyof F];

/** A record with these fields. */
export type RecordOf<F extends Fields> = Flat<
  { readonly [Name in keyof F as Exclude<Name, Optional<F>>]: ValueOf<F[Name]> } & {
    readonly [Name in keyof F as Extract<Name, Optional<F>>]?: Exclude<ValueOf<F[Name]>, undefined>;
  }
>;

type Union<T> = (T extends unknown ? (one: T) => void : never) extends (all: infer All) => void ? All : never;
type ColumnsOf<F extends Fields> = Union<F[keyof F]["columns"]>;
type StoredIn<C> = C extends Column<infer Stored, z.ZodType> ? Stored : never;
type SchemaOf<C> = C extends { readonly schema: SchemaFrom<infer Schema> } ? Schema : never;

/** A row with the columns of these fields. */
export type RowOf<F extends Fields> = {
  readonly [Name in keyof ColumnsOf<F>]: StoredIn<ColumnsOf<F>[Name]>;
};

type Computed<F extends Fields> = {
  [Name in keyof F]: F[Name] extends { readonly computed: true } ? keyof F[Name]["columns"] : never;
}[keyof F];

/** Names of the columns that are not exported. */
export type ComputedColumn<F extends Fields> = Computed<F> & string;

/** Schemas of the exported columns, by name. */
export type LineShape<F extends Fields> = {
  [Name in keyof ColumnsOf<F> as Name extends Computed<F> ? never : Name]: SchemaOf<ColumnsOf<F>[Name]>;
};

/** Returns the schemas of the exported columns, by name. */
export function lineShapeOf<F extends Fields>(fields: F, from: LineSchemas): LineShape<F> {
  const exported = Object.values(fields).filter(({ computed }) => computed !== true);
  const columns = exported.flatMap((field) => Object.entries(field.columns));
  return Object.fromEntries(columns.map(([name, { schema }]) => [name, schema(from)])) as LineShape<F>;
}

/** Returns the names of the columns that are not exported. */
export function computedColumnsOf(fields: Fields): readonly string[] {
  return Object.values(fields).flatMap((field) =>
    field.computed === true ? Object.keys(field.columns) : [],
  );
}

/** Returns the names of the columns that contain JSON. */
export function jsonColumnsOf(fields: Fields): readonly string[] {
  return Object.values(fields).flatMap(({ columns }) =>
    Object.keys(columns).filter((name) => columns[name]?.isJson === true),
  );
}

type Initial<F extends Fields> = {
  readonly [Name in keyof F as F[Name] extends { readonly initial: unknown } ? Name : never]: ValueOf<
    F[Name]
  >;
};

/**
 * Returns the initial values. The object has all fields in declaration order, so that new records share the hidden
 * class of records read from the store.
 */
export function initialOf<F extends Fields>(fields: F): Initial<F> {
  return emptyRecord(
    Object.entries(fields).map(([name, { initial = null }]) => [name, initial]),
  ) as Initial<F>;
}

/** Returns a record with these values. `JSON.parse` creates fast properties; assignments in a loop do not. */
export function emptyRecord(values: readonly (readonly [name: string, value: unknown])[]): object {
  return JSON.parse(JSON.stringify(Object.fromEntries(values))) as object;
}

type Copied<F extends Fields> = {
  readonly [Name in keyof F as F[Name] extends { readonly copied: true } ? Name : never]: ValueOf<F[Name]>;
};

/** Returns a function that picks the fields that a fork copies. */
export function copierOf<F extends Fields>(fields: F): (record: Copied<F>) => Copied<F> {
  const names = Object.keys(fields).filter((name) => fields[name]?.copied === true);
  return (record) =>
    Object.fromEntries(names.map((name) => [name, record[name as keyof Copied<F>]])) as unknown as Copied<F>;
}

// Declarations.

/** A declared field with one column. */
export type Declared<
  Name extends string,
  Value,
  Stored extends Cell,
  S extends z.ZodType,
  O extends Options,
> = O & {
  readonly columns: { readonly [N in Name]: Column<Stored, S> };
  fromRow(row: never): Value;
};

export interface Codec<Value, Stored> {
  write(value: Value, record: never): Stored;
  read(cell: Stored, row: never): Value;
}

function fieldOf<Name extends string, Value, Stored extends Cell, S extends z.ZodType, O extends Options>(
  name: Name,
  column: Omit<Column<Stored, S>, "toCell">,
  codec: Codec<Value, Stored>,
  options: O,
): Declared<Name, Value, Stored, S, O> {
  const columns = { [name]: { ...column, toCell: codec.write } } as unknown as {
    readonly [N in Name]: Column<Stored, S>;
  };
  const fromRow = (row: never): Value => codec.read((row as { readonly [N in Name]: Stored })[name], row);
  return { ...options, columns, fromRow };
}

type Stored<S extends z.ZodType> = z.output<S> & Cell;

/** Declares a field that is stored unchanged. */
function plain(type: ColumnType) {
  return <const Name extends string, S extends z.ZodType<Cell>, const O extends Options = {}>(
    name: Name,
    schema: SchemaFrom<S>,
    options: O = {} as O,
  ): Declared<Name, Stored<S>, Stored<S>, S, O> =>
    fieldOf(
      name,
      { type, schema, isJson: false },
      { write: (value: Stored<S>) => value, read: (cell) => cell },
      options,
    );
}

export const text = plain("text");
export const integer = plain("integer");
export const bigint = plain("bigint");

/** Declares a text column with a codec. */
export function textAs<
  const Name extends string,
  Value,
  S extends z.ZodType<string | null>,
  const O extends Options = {},
>(
  name: Name,
  schema: SchemaFrom<S>,
  codec: Codec<Value, Stored<S>>,
  options: O = {} as O,
): Declared<Name, Value, Stored<S>, S, O> {
  return fieldOf(name, { type: "text", schema, isJson: false }, codec, options);
}

/** Declares a boolean, stored as 1 or 0. */
export function flag<const Name extends string, S extends z.ZodType<0 | 1>, const O extends Options = {}>(
  name: Name,
  schema: SchemaFrom<S>,
  options: O = {} as O,
): Declared<Name, boolean, number, S, O> {
  return fieldOf(
    name,
    { type: "smallint", schema, isJson: false },
    { write: (value: boolean) => (value ? 1 : 0), read: (cell) => cell === 1 },
    options,
  );
}

/** Declares a NOT NULL JSON column. `read` types the parsed value. */
export function json<
  const Name extends string,
  Value extends object | JsonValue,
  S extends z.ZodType,
  const O extends Options = {},
>(
  name: Name,
  schema: SchemaFrom<S>,
  read: (stored: unknown) => Value,
  options: O = {} as O,
): Declared<Name, Value, string, S, O> {
  return fieldOf(
    name,
    { type: "text", schema, isJson: true },
    { write: (value: Value) => JSON.stringify(value), read: (cell) => read(JSON.parse(cell)) },
    options,
  );
}

/** Declares a JSON column that is NULL for an empty value. `read` types the parsed value and repairs values of earlier versions. */
export function optionalJson<
  const Name extends string,
  Value extends object | null | undefined,
  S extends z.ZodType,
  const O extends Options = {},
>(
  name: Name,
  schema: SchemaFrom<S>,
  { empty, isEmpty, read }: OptionalCodec<Value>,
  options: O = {} as O,
): Declared<Name, Value, string | null, S, O> {
  return fieldOf(
    name,
    { type: "text", schema, isJson: true },
    {
      write: (value: Value) => (isEmpty(value) ? null : JSON.stringify(value)),
      read: (cell) => (cell === null ? empty : read(JSON.parse(cell))),
    },
    options,
  );
}

export interface OptionalCodec<Value> {
  readonly empty: NoInfer<Value>;
  isEmpty(this: void, value: NoInfer<Value>): boolean;
  read(this: void, stored: unknown): Value;
}

type Half<Name extends string, Value, S extends z.ZodType<Cell>> = readonly [
  name: Name,
  type: ColumnType,
  schema: SchemaFrom<S>,
  write: (value: Value) => Stored<S>,
];

/** Declares a field stored in two columns. */
export function pair<
  Value,
  const First extends string,
  A extends z.ZodType<Cell>,
  const Second extends string,
  B extends z.ZodType<Cell>,
>(
  first: Half<First, Value, A>,
  second: Half<Second, Value, B>,
  join: (first: Stored<A>, second: Stored<B>) => Value,
) {
  const halves = [first, second].map(([name, type, schema, toCell]) => [
    name,
    { type, schema, isJson: false, toCell },
  ]);
  const columns = Object.fromEntries(halves) as {
    readonly [N in First]: Column<Stored<A>, A>;
  } & { readonly [N in Second]: Column<Stored<B>, B> };
  const fromRow = (row: never): Value =>
    join((row as Record<First, Stored<A>>)[first[0]], (row as Record<Second, Stored<B>>)[second[0]]);
  return { columns, fromRow };
}
