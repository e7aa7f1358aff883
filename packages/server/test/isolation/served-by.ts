import { Hidden } from "@colloquy/engine/internal/core/hidden";

/** Returns the settings of all protocols that serve only configured Apps. */
export function servedBy(...apps: readonly string[]): Readonly<Record<string, Hidden<unknown>>> {
  return {
    openai: new Hidden({ apps }),
    "ag-ui": new Hidden({ apps }),
    aomi: new Hidden({ apps }),
    "mcp-server": new Hidden({ apps }),
  };
}
