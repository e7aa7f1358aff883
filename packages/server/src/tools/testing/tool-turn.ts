import type { ToolTurn } from "../../core/ports/tool.ts";

/** A turn of the App `app` by nobody in particular, for tests of tools. */
export function toolTurn(app = "default", of: Partial<ToolTurn> = {}): ToolTurn {
  return { app, clientId: null, publicKey: null, userState: null, ...of };
}
