// What becomes of a draft when it was decided. The store asks, so that it knows no outcome by its name.

/**
 * `kept`: the draft is written. `void`: it leaves no trace, and the session is answered as it was. `hidden`: as `void`, and the session is not
 * loaded either, because it belongs to another App than who asks may see.
 */
export type Fate = "kept" | "void" | "hidden";

/** For outcomes in one word: `ok`, or why not. */
export function fateOf(outcome: string): Fate {
  if (outcome === "ok") return "kept";
  return outcome === "other_app" || outcome === "app_mismatch" ? "hidden" : "void";
}
