import { describe, expect, it } from "vitest";
import type { ChainSettings } from "../core/app-settings.ts";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import { createInputCheck } from "./input-check.ts";
import { createWalletTools } from "./wallet/wallet-tools.ts";

describe("createInputCheck", () => {
  it.each([[[1]], [[1, 10]]])("names the configured chains if the input names another chain: %j", (ids) => {
    const chains = ids.map((id) => ({ id, name: `Chain ${id}` }) as ChainSettings);
    const tools = createWalletTools({ chains }, new ManualClock());
    const [balance] = tools.filter(({ name }) => name === "wallet_balance");
    expect(createInputCheck(balance!)({ chain_id: 5 })).toMatch(
      new RegExp(`expected .*${ids.join(", ")}\\.$`),
    );
  });
});
