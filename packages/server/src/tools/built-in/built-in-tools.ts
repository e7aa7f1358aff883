import type { Clock } from "../../core/ports/driven/clock.ts";
import type { Tool } from "../../core/ports/driven/tool.ts";
import { askUser } from "./ask-user.ts";
import { calculator } from "./calculator.ts";
import { createCurrentTimeTool } from "./current-time.ts";

/** Returns the built-in tools. An App that names no tools has the first two (contract section 4). */
export function builtInTools(
  clock: Clock,
): Readonly<Record<"current_time" | "calculator" | "ask_user", Tool>> {
  return { current_time: createCurrentTimeTool(clock), calculator, ask_user: askUser };
}
