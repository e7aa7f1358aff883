import type { ToolHandler } from "@colloquy/client";
import { useEffect } from "react";
import { useColloquyContext } from "./colloquy-provider.tsx";
import { useLatest } from "./use-latest.ts";

/**
 * Runs calls of the client tool `name` in the sessions that components below the provider show, with the handler of the latest render.
 * Each call runs in one client only. When the component unmounts, it runs no more calls and aborts the running ones.
 */
export function useClientTool(name: string, handler: ToolHandler): void {
  const { pool } = useColloquyContext();
  const latest = useLatest(handler);
  useEffect(
    () => pool.runTools({ [name]: (input, run) => latest.current(input, run) }),
    [pool, name, latest],
  );
}
