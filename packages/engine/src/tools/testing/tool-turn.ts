import type { ToolTurn } from "../../core/ports/driven/tool.ts";

/** Creates a turn of the App `app`, by default without a client. */
export function toolTurn(app = "default", of: Partial<ToolTurn> = {}): ToolTurn {
  return {
    app,
    model: "test/model",
    clientId: null,
    publicKey: null,
    walletId: null,
    walletProved: false,
    userState: null,
    ...of,
  };
}
