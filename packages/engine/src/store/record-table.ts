// Derives tables from field declarations: columns, and conversion between records and rows.

import {
  type Cell,
  type Columns,
  type ColumnType,
  emptyRecord,
  type Fields,
  type RecordOf,
  type RowOf,
} from "../core/field.ts";

/** A column that is not a field of the record. `by` is the writer's context: the session's key, or the time. */
interface OwnColumn<Record> {
  readonly type: ColumnType;
  readonly fixed?: true;
  toCell(record: Record, by: number): Cell;
}

/** A table that commands update. `columns` contains `changing`, then `key`, then the rest. */
export interface ChangingTable {
  readonly columns: Columns;
  readonly changing: Columns;
  readonly key: Columns;
}

/** Cells are in the order of `columns`. */
export interface RecordTable<Record, Row> extends ChangingTable {
  /** Returns the cells of a new row. */
  insertCells(record: Record, by: number): Cell[];
  /** Returns the changing cells, then those of the key. */
  updateCells(record: Record, by: number): Cell[];
  toRecord(row: Row): Record;
}

interface WrittenColumn<Record> extends OwnColumn<Record> {
  readonly name: string;
}

export function tableOf<const F extends Fields>(
  fields: F,
  key: readonly string[],
  own: Readonly<Record<string, OwnColumn<RecordOf<F>>>>,
): RecordTable<RecordOf<F>, RowOf<F>> {
  const written = [
    ...Object.keys(fields).flatMap((field) => columnsOf(fields, field)),
    ...Object.entries(own).map(([name, column]) => ({ name, ...column })),
  ];
  const isKey = ({ name }: WrittenColumn<RecordOf<F>>) => key.includes(name);
  const changing = written.filter((column) => column.fixed !== true && !isKey(column));
  const updated = [...changing, ...written.filter(isKey)];
  const inserted = [...updated, ...written.filter((column) => !updated.includes(column))];
  return {
    columns: typesOf(inserted),
    changing: typesOf(changing),
    key: typesOf(written.filter(isKey)),
    insertCells: (record, by) => inserted.map((column) => column.toCell(record, by)),
    updateCells: (record, by) => updated.map((column) => column.toCell(record, by)),
    toRecord: recordReader(fields),
  };
}

function columnsOf<F extends Fields>(fields: F, field: string): WrittenColumn<RecordOf<F>>[] {
  const { columns = {}, fixed } = fields[field] ?? {};
  return Object.entries(columns).map(([name, { type, toCell }]) => ({
    name,
    type,
    ...(fixed && { fixed }),
    toCell: (record) => toCell(record[field as keyof RecordOf<F>] as never, record as never),
  }));
}

function typesOf(columns: readonly WrittenColumn<never>[]): Columns {
  return Object.fromEntries(columns.map(({ name, type }) => [name, type]));
}

function recordReader<F extends Fields>(fields: F): (row: RowOf<F>) => RecordOf<F> {
  const readers = Object.entries(fields).map(([name, { fromRow }]) => ({ name, fromRow }));
  const required = Object.keys(fields).filter((name) => fields[name]?.optional !== true);
  const empty = emptyRecord(required.map((name) => [name, null]));
  return (row) => {
    const record = { ...empty } as Record<string, unknown>;
    for (const { name, fromRow } of readers) {
      const value = fromRow(row as never);
      if (value !== undefined) record[name] = value;
    }
    return record as RecordOf<F>;
  };
}
