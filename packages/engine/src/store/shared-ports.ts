// The ports that are written once for both databases (shared.ts).

import type { AdminStore } from "../core/ports/driven/admin-store.ts";
import type { Store } from "../core/ports/driven/store.ts";
import { actions } from "./actions.ts";
import { admin } from "./admin.ts";
import { audit } from "./audit.ts";
import { feedback } from "./feedback.ts";
import { files } from "./files.ts";
import { jobs } from "./jobs.ts";
import { keys } from "./keys.ts";
import { search } from "./search.ts";
import { secrets } from "./secrets.ts";
import type { SharedMethod, SharedPort } from "./shared.ts";
import { users } from "./users.ts";

export interface SharedPorts
  extends Pick<
    Store,
    "actions" | "audit" | "feedback" | "files" | "jobs" | "keys" | "search" | "secrets" | "users"
  > {
  readonly admin: Omit<AdminStore, "used">;
}

const SHARED: { readonly [P in keyof SharedPorts]: SharedPort<SharedPorts[P]> } = {
  actions,
  admin,
  audit,
  feedback,
  files,
  jobs,
  keys,
  search,
  secrets,
  users,
};

type AnyMethod = SharedMethod<never[], unknown>;

/** Maps each method of each port with `make`, which gets the full name, such as "keys.find". */
export function makeShared<Made>(
  make: (name: string, method: AnyMethod) => Made,
): Readonly<Record<string, Readonly<Record<string, Made>>>> {
  return mapEntries(SHARED, (port, methods) =>
    mapEntries<AnyMethod, Made>(methods, (name, method) => make(`${port}.${name}`, method)),
  );
}

/** Returns the ports with methods that call `ask`. */
export function sharedPorts(
  ask: (name: string, method: AnyMethod, parameters: readonly never[]) => Promise<unknown>,
): SharedPorts {
  const ports = makeShared(
    (name, method) =>
      (...parameters: never[]) =>
        ask(name, method, parameters),
  );
  return ports as unknown as SharedPorts;
}

function mapEntries<Value, Made>(
  object: Readonly<Record<string, Value>>,
  make: (name: string, value: Value) => Made,
): Readonly<Record<string, Made>> {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, make(name, value)]));
}
