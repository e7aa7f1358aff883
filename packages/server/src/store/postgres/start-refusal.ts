// What is told to the person who starts a process on a database that takes no connection from it.

import { DatabaseError } from "pg";
import { connectionLost } from "./failures.ts";

/** Invalid authorization, wrong password, no such database, not taking connections (postgresql.org/docs/current/errcodes-appendix.html). */
const REFUSALS: ReadonlySet<string> = new Set(["28000", "28P01", "3D000", "53300", "57P03"]);

/** `insufficient_privilege`. */
const NOT_ALLOWED = "42501";
/** From version 15 on a new database lets its owner alone make tables. */
export const MAY_CREATE_MEND =
  "Make this user the owner of the database (ALTER DATABASE … OWNER TO …), or let it make tables there (GRANT CREATE ON SCHEMA public TO …).";

const LOST = connectionLost(null).name;

/** Runs `open`. What keeps it from the database is thrown as a sentence with what to do; the rest as it is. */
export async function refusingToStart<Result>(open: () => Promise<Result>): Promise<Result> {
  try {
    return await open();
  } catch (error) {
    if (error instanceof DatabaseError && error.code === NOT_ALLOWED) {
      throw new Error(`The database does not let its user: ${reasonOf(error)}. ${MAY_CREATE_MEND}`, {
        cause: error,
      });
    }
    const isRefusal = error instanceof DatabaseError && REFUSALS.has(error.code ?? "");
    if (!(error instanceof Error) || (error.name !== LOST && !isRefusal)) throw error;
    throw new Error(
      `The database cannot be reached: ${reasonOf(isRefusal ? error : (error.cause ?? error))}. ` +
        "See that it runs, that COLLOQUY_DATABASE_URL is right, and that this machine may connect (pg_hba.conf).",
      { cause: error },
    );
  }
}

/** Where a name has several addresses, the error of all of them together has no words. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(reasonOf).join("; ");
  return (error instanceof Error ? error.message : String(error)).replace(/\.$/, "");
}
