import type { Plant } from "./plants.ts";

/** The faults that `--plant` knows. */
export const PLANTS: Readonly<Record<string, Plant>> = {
  none: { fault: "nothing, a copy of the sources as they are", replacements: [] },
};
