// The real checker of schemas, shared by the tests of a file.

import type { SchemaChecks } from "@colloquy/engine/internal/core/ports/driven/schema-check";
import { SchemaChecker } from "@colloquy/engine/internal/schemas/schema-checker";
import { ManualClock } from "./manual-clock.ts";

export const schemaChecks: SchemaChecks = new SchemaChecker({ clock: new ManualClock() });
