// Building blocks of the operators' pages: heading, scrolling tables, state labels.

import { IconButton, RotateCw, classes } from "@colloquy/ui/parts";
import { useId, type ReactNode } from "react";
import type { Query } from "./administration.tsx";
import styles from "./operator.module.css";

/** Heading of a page, with its actions at the right. */
export function ViewHeading({
  title,
  query,
  children,
}: {
  readonly title: string;
  /** The page's query, to run it again. */
  readonly query?: Pick<Query<unknown>, "isLoading" | "refetch">;
  readonly children?: ReactNode;
}): ReactNode {
  return (
    <div className={styles["heading"]}>
      <h2>{title}</h2>
      <div className={styles["actions"]}>
        {children}
        {query && (
          <IconButton label="Load again" aria-busy={query.isLoading} onClick={query.refetch}>
            <RotateCw size={16} />
          </IconButton>
        )}
      </div>
    </div>
  );
}

/** Shows a problem or a loading state; renders nothing for a response without a problem. */
export function Pending({ answer, problem }: Pick<Query<unknown>, "answer" | "problem">): ReactNode {
  return (
    <>
      <div role="alert" className={styles["alert"]}>
        {problem !== null && (
          <p className={classes(styles["notice"], styles["wrong-notice"])}>
            {problem}
            {answer !== null && " Showing the last result."}
          </p>
        )}
      </div>
      {answer === null && problem === null && <p className={styles["empty"]}>Loading…</p>}
    </>
  );
}

export interface Column<Row> {
  readonly label: string;
  readonly cell: (row: Row) => ReactNode;
  /** A number or a time: right-aligned, with tabular digits. */
  readonly isNumber?: boolean;
}

/** A named table, in a region that scrolls if it is too wide. The first column names the row. */
export function DataTable<Row>({
  caption,
  columns,
  rows,
  rowKey,
  isCaptionShown = false,
  empty,
}: {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  readonly isCaptionShown?: boolean;
  /** Shown if there are no rows. */
  readonly empty: string;
}): ReactNode {
  if (rows.length === 0) return <p className={styles["empty"]}>{empty}</p>;
  return (
    <div className={styles["table"]} role="region" aria-label={caption} tabIndex={0}>
      <table>
        <caption className={isCaptionShown ? undefined : "cq-unseen"}>{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ label, isNumber }) => (
              <th key={label} scope="col" className={isNumber === true ? styles["number"] : undefined}>
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)}>
              {columns.map(({ label, cell, isNumber }, at) => {
                const className = isNumber === true ? styles["number"] : undefined;
                return at === 0 ? (
                  <th key={label} scope="row" className={className}>
                    {cell(row)}
                  </th>
                ) : (
                  <td key={label} className={className}>
                    {cell(row)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export type Tone = "good" | "busy" | "warning" | "bad" | "quiet";

/** A state as a word; the colour only supports it. */
export function Badge({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }): ReactNode {
  return <span className={classes(styles["badge"], styles[tone])}>{children}</span>;
}

/** Names and values, in as many columns as fit. */
export function Facts({ facts }: { readonly facts: readonly (readonly [string, ReactNode])[] }): ReactNode {
  return (
    <dl className={styles["facts"]}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A labelled choice among few values. */
export function Choice<Value extends string>({
  label,
  value,
  options,
  onChange,
}: {
  readonly label: string;
  readonly value: Value;
  readonly options: readonly (readonly [value: Value, label: string])[];
  readonly onChange: (value: Value) => void;
}): ReactNode {
  const id = useId();
  return (
    <div className={styles["choice"]}>
      <label htmlFor={id}>{label}</label>
      <select
        id={id}
        value={value}
        onChange={(event) => {
          const chosen = options.find(([option]) => option === event.target.value);
          if (chosen !== undefined) onChange(chosen[0]);
        }}
      >
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}
