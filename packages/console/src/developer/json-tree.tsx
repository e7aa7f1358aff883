// A collapsible JSON tree. Renders only open nodes, and only the start of long lists and strings until asked
// for more.

import { useState, type ReactNode } from "react";
import { classes } from "@colloquy/ui/parts";
import { pointer } from "./changed-paths.ts";
import styles from "./json-tree.module.css";

export interface JsonTreeProps {
  readonly value: unknown;
  /** JSON pointers of changed values and everything above them. */
  readonly changed?: ReadonlySet<string>;
  /** Number of levels open initially. */
  readonly openTo?: number;
}

/** Entries, and characters of a string, shown before asking for more. */
const ENTRIES_SHOWN = 100;
const CHARACTERS_SHOWN = 2_000;
const NOTHING: ReadonlySet<string> = new Set();

export function JsonTree({ value, changed = NOTHING, openTo = 1 }: JsonTreeProps): ReactNode {
  return isTree(value) ? (
    <Entries value={value} path="" changed={changed} openTo={openTo} />
  ) : (
    <ul className={styles["tree"]}>
      <li className={styles["entry"]}>
        <Scalar value={value} />
      </li>
    </ul>
  );
}

type Tree = readonly unknown[] | Readonly<Record<string, unknown>>;

interface At {
  readonly path: string;
  readonly changed: ReadonlySet<string>;
  readonly openTo: number;
}

function Entries({ value, path, changed, openTo }: At & { readonly value: Tree }): ReactNode {
  const [shown, setShown] = useState(ENTRIES_SHOWN);
  const entries = Object.entries(value);
  const missing = entries.length - shown;
  return (
    <ul className={styles["tree"]}>
      {entries.slice(0, shown).map(([key, value]) => (
        <li key={key}>
          <Entry name={key} value={value} path={pointer(path, key)} changed={changed} openTo={openTo} />
        </li>
      ))}
      {missing > 0 && (
        <li>
          <button type="button" className={styles["more"]} onClick={() => setShown(shown + ENTRIES_SHOWN)}>
            Show {Math.min(missing, ENTRIES_SHOWN)} of {missing} more
          </button>
        </li>
      )}
    </ul>
  );
}

function Entry({ name, value, ...at }: At & { readonly name: string; readonly value: unknown }): ReactNode {
  const isChanged = at.changed.has(at.path);
  const key = (
    <>
      {isChanged && <Mark />}
      <span className={styles["key"]}>{name}: </span>
    </>
  );
  if (isTree(value) && Object.keys(value).length > 0)
    return (
      <Branch value={value} isChanged={isChanged} {...at}>
        {key}
      </Branch>
    );
  return (
    <div className={classes(styles["entry"], isChanged && styles["changed"])}>
      {key}
      <Scalar value={value} />
    </div>
  );
}

function Branch({
  value,
  isChanged,
  children,
  ...at
}: At & { readonly value: Tree; readonly isChanged: boolean; readonly children: ReactNode }): ReactNode {
  const [isOpen, setOpen] = useState(at.openTo > 1);
  const count = Object.keys(value).length;
  return (
    <details
      open={isOpen}
      className={classes(styles["branch"], isChanged && styles["changed"])}
      onToggle={(event) => {
        if (event.target === event.currentTarget) setOpen(event.currentTarget.open);
      }}
    >
      <summary>
        {children}
        <span className={styles["count"]}>{Array.isArray(value) ? `[${count}]` : `{${count}}`}</span>
      </summary>
      {isOpen && <Entries value={value} {...at} openTo={at.openTo - 1} />}
    </details>
  );
}

function Mark(): ReactNode {
  return (
    <span className={styles["mark"]}>
      <span aria-hidden>● </span>
      <span className="cq-unseen">changed </span>
    </span>
  );
}

function Scalar({ value }: { readonly value: unknown }): ReactNode {
  const [isWhole, setWhole] = useState(false);
  if (typeof value !== "string")
    return (
      <span className={styles[typeof value === "number" ? "number" : "word"]}>{JSON.stringify(value)}</span>
    );
  const missing = isWhole ? 0 : value.length - CHARACTERS_SHOWN;
  return (
    <>
      <span className={styles["string"]}>
        {JSON.stringify(missing > 0 ? `${value.slice(0, CHARACTERS_SHOWN)}…` : value)}
      </span>
      {missing > 0 && (
        <button type="button" className={styles["more"]} onClick={() => setWhole(true)}>
          Show {missing} more characters
        </button>
      )}
    </>
  );
}

function isTree(value: unknown): value is Tree {
  return typeof value === "object" && value !== null;
}
