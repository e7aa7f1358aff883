import type { ActionRequest } from "../../../core/action.ts";
import type { ChainSettings } from "../../../core/app-settings.ts";
import type { Clock } from "../../../core/ports/driven/clock.ts";
import { SecretMissing, type Tool, type ToolTurn } from "../../../core/ports/driven/tool.ts";
import { toolTurn } from "../../testing/tool-turn.ts";
import { createWalletTools } from "../wallet-tools.ts";

/** A caller of the wallet tools, as a turn calls them. */
export interface WalletCaller {
  readonly tools: readonly Tool[];
  call(name: string, input: unknown, of?: Partial<ToolTurn>, signal?: AbortSignal): Promise<unknown>;
  ask(name: string, input: unknown, of?: Partial<ToolTurn>): Promise<ActionRequest | null>;
}

export function createWalletCaller(chains: readonly ChainSettings[], clock: Clock): WalletCaller {
  const tools = createWalletTools({ chains }, clock);
  const find = (name: string): Tool => {
    const tool = tools.find((tool) => tool.name === name);
    if (tool === undefined) throw new Error(`There is no tool ${name}.`);
    return tool;
  };
  return {
    tools,
    call: (name, input, of = {}, signal = new AbortController().signal) =>
      find(name).execute(input, {
        callId: "call-1",
        signal,
        turn: toolTurn("default", of),
        effect: "unsafe",
        progress: () => {},
        attach: () => {},
        secret: (slot) => {
          throw new SecretMissing(slot);
        },
      }),
    ask: async (name, input, of = {}) => (await find(name).ask?.(input, toolTurn("default", of))) ?? null,
  };
}

/** Returns a turn whose user has connected a wallet. */
export function connected(address: string, chainId: number | string | null = null): Partial<ToolTurn> {
  return { userState: { connection: { is_connected: true }, evm: { address, chain_id: chainId } } };
}
