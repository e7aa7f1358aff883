// The matrix of docs/security.md, and the table of routes that it must be complete by.

import { CALLERS } from "./given-apps.ts";

export interface Row {
  readonly app: string;
  /** Method and path. */
  readonly name: string;
  readonly class: string;
  /** What each caller got, in the order of `CALLERS`. */
  readonly statuses: readonly number[];
}

const BEGIN =
  "<!-- The isolation matrix: written by ISOLATION_MATRIX=write npx vitest run packages/server/test/isolation -->";
const END = "<!-- End of the isolation matrix -->";

/** Two tables in Markdown, one an App. */
export function renderMatrix(rows: readonly Row[]): string {
  const apps = [...new Set(rows.map(({ app }) => app))];
  return apps
    .map((app) =>
      renderTable(
        app,
        rows.filter((row) => row.app === app),
      ),
    )
    .join("\n\n");
}

function renderTable(app: string, rows: readonly Row[]): string {
  const head = ["Operation", "Class", ...CALLERS];
  const lines = rows.map((row) => [`\`${row.name}\``, row.class, ...row.statuses.map(String)]);
  const table = [head, head.map(() => "---"), ...lines].map((cells) => `| ${cells.join(" | ")} |`);
  const rule = app === "closed" ? '`requireKey: "all"`' : '`requireKey: "chat"`, the default';
  return [`On a session of an App with ${rule}:`, "", ...table].join("\n");
}

/** The document with this matrix in the place of the one it has. */
export function replaceMatrix(document: string, matrix: string): string {
  const [before, rest] = document.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined)
    throw new Error(`docs/security.md must have the line ${BEGIN}`);
  return `${before}${BEGIN}\n\n${matrix}\n\n${END}${after}`;
}

/** Method and path of each route in the tree that the framework prints; HEAD goes with GET. */
export function routesIn(tree: string): string[] {
  const parents: string[] = [];
  return tree.split("\n").flatMap((line) => {
    const {
      indent = "",
      path,
      methods,
    } = /^(?<indent>[\s│]*)[├└]── (?<path>\S*)(?: \((?<methods>[A-Z, ]+)\))?/.exec(line)?.groups ?? {};
    if (path === undefined) return [];
    const depth = indent.length / 4;
    parents.length = depth;
    parents.push(path);
    const whole = `/${parents.join("")}`.replaceAll(/\/+/g, "/").replaceAll(/:([a-z_]+)/g, "{$1}");
    const names = methods?.split(", ").filter((method) => method !== "HEAD") ?? [];
    return names.map((method) => `${method} ${whole.length > 1 ? whole.replace(/\/$/, "") : whole}`);
  });
}
