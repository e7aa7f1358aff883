// The real checker of schemas, shared by the tests of a file.

import type { SchemaChecks } from "../src/core/ports/driven/schema-check.ts";
import { SchemaChecker } from "../src/schemas/schema-checker.ts";
import { ManualClock } from "./manual-clock.ts";

export const schemaChecks: SchemaChecks = new SchemaChecker({ clock: new ManualClock() });
