import { describe, expect, it } from "vitest";
import { ManualClock } from "../../test/manual-clock.ts";
import { createWalletTools } from "@colloquy/engine/internal/tools/wallet/wallet-tools";
import { WALLET_TOOLS } from "@colloquy/engine/internal/config/app-tools";
import { useAppConfigs } from "./testing/app-configs.ts";
import { problemTexts } from "./testing/config-directory.ts";

const { load, app, problems } = useAppConfigs();

const CHAINS = {
  "8453": { name: "Base", rpcURL: "https://base.test/{{env.RPC_KEY}}" },
  "1": {
    name: "Ethereum",
    rpcURL: "https://eth.test/rpc?key={{ env.RPC_KEY }}",
    currency: { symbol: "TEST", decimals: 6 },
    contracts: { multicall3: { address: "0xcA11bde05977b3631167028862bE2a173976CA11", blockCreated: 1 } },
  },
};

describe("wallets", () => {
  const environment = { RPC_KEY: "sk-rpc" };

  it("uses all chains, lowest id first, or those that the App lists", async () => {
    const chains = (await app({ wallet: true }, environment, CHAINS)).tools.wallet?.chains ?? [];
    expect(chains.map(({ id, name, currency, contracts }) => ({ id, name, currency, contracts }))).toEqual([
      {
        id: 1,
        name: "Ethereum",
        currency: { symbol: "TEST", decimals: 6 },
        contracts: CHAINS["1"].contracts,
      },
      { id: 8453, name: "Base", currency: { symbol: "ETH", decimals: 18 }, contracts: null },
    ]);
    expect(chains.map(({ rpcURL }) => rpcURL.reveal())).toEqual([
      "https://eth.test/rpc?key=sk-rpc",
      "https://base.test/sk-rpc",
    ]);
    expect(JSON.stringify(chains)).not.toContain("sk-rpc");
    const named = await app({ wallet: { chains: [8453, 1] } }, environment, CHAINS);
    expect(named.tools.wallet?.chains.map(({ id }) => id)).toEqual([8453, 1]);
    expect((await app({ wallet: false }, environment, CHAINS)).tools.wallet).toBeNull();
    expect((await app({}, environment, CHAINS)).tools.wallet).toBeNull();
  });

  it("rejects missing and invalid chains", async () => {
    expect(await problems({ wallet: true })).toEqual([
      'wallet: needs at least one chain in "chains", beside "apps".',
    ]);
    expect(await problems({ wallet: "yes" })).toEqual([
      "wallet: must be true or false or an object, not text.",
    ]);
    const result = await load(
      {
        apps: { defi: { wallet: { chains: [1, 10, 1, 42161] } } },
        chains: {
          "1": { name: "Ethereum", rpcURL: "{{env.RPC_KEY}}" },
          "5": { name: "", rpcURL: "https://{{env.GONE}}" },
          "6": { name: "six", rpcURL: "https://x.test", contracts: { ens: { address: "0x1" } } },
          one: { name: "x", rpcURL: "https://x.test" },
        },
      },
      environment,
    );
    const found = problemTexts(result);
    expect(found.toSorted()).toEqual(
      [
        'chains["1"].rpcURL: must be an http or https URL without user name and password.',
        'chains["5"].name: must not be blank.',
        'chains["6"].contracts.ens.address: must be an address: 0x and 40 hexadecimal digits.',
        "chains.one: must be the number of a chain, such as 1 for Ethereum.",
        'apps.defi.wallet.chains[1]: 10 is not configured. Did you mean "1"?',
        "apps.defi.wallet.chains[2]: 1 is in the list already.",
        "apps.defi.wallet.chains[3]: 42161 is not configured. Known here: 1, 5, 6, one.",
      ].toSorted(),
    );
  });
});

it("lists the names of all wallet tools in WALLET_TOOLS", async () => {
  const chains = (await app({ wallet: true }, { RPC_KEY: "x" }, CHAINS)).tools.wallet?.chains ?? [];
  const tools = createWalletTools({ chains }, new ManualClock());
  expect(tools.map(({ name }) => name).toSorted()).toEqual(WALLET_TOOLS.toSorted());
});
