// Building blocks for export schemas. Field declarations receive them as a parameter, so that only readers of
// exports import this module and zod, which would delay the start of the store's thread.

import * as protocol from "@colloquy/protocol";
import { z } from "zod";

export const LINE_SCHEMAS = {
  z,
  protocol,
  count: z.int().min(0),
  position: z.int().min(1),
  /** Milliseconds since the Unix epoch. */
  time: z.int().min(0),
  word: z.string().min(1),
  bit: z.union([z.literal(0), z.literal(1)]),
};

export type LineSchemas = typeof LINE_SCHEMAS;
