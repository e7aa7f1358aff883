import type { AdminToolSource } from "@colloquy/protocol";

/** What came of the last look at each source of tools, for operators. */
export interface ToolSourceReports {
  /** The sources of an App's tools, in their order; none for an App that is not configured. */
  sources(app: string): readonly AdminToolSource[];
}
