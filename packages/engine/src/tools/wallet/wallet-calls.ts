// Implements the wallet tools. Loaded with the first call, because viem is large.

import type { z } from "zod";
import type { WalletSettings } from "../../core/app-settings.ts";
import type { ActionRequest } from "../../core/action.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Clock } from "../../core/ports/driven/clock.ts";
import type { ToolTurn } from "../../core/ports/driven/tool.ts";
import { amountOf } from "./amounts.ts";
import { createChains, estimateGas, readBalance, readGasPrice, type Chain, type Chains } from "./chains.ts";
import {
  addressOfName,
  contractsWithEns,
  nameOfAddress,
  normalizeName,
  type EnsContracts,
} from "./ens-names.ts";
import { readToken, readTokenBalance, type TokenFacts } from "./token-contract.ts";
import { prepareTransaction, readTransaction } from "./transaction-request.ts";
import { readTypedData } from "./typed-data.ts";
import { addressOrUsers, addressOfUser, chainOfUser, chainOrUsers, readAddress } from "./users-wallet.ts";
import { listChains, type WalletInputs } from "./wallet-inputs.ts";

type Input<Name extends keyof WalletInputs> = z.infer<WalletInputs[Name]>;
/** Returns JSON; throws an Error whose message can be shown to a model. */
type Call<Name extends keyof WalletInputs, Output = unknown> = (
  input: Input<Name>,
  turn: ToolTurn,
  signal: AbortSignal,
) => Promise<Output>;

/** Time limit in milliseconds for the chain requests that describe a transaction. */
const DESCRIPTION_MS = 5_000;

export interface WalletCalls {
  readonly balance: Call<"balance">;
  readonly tokenBalance: Call<"tokenBalance">;
  readonly tokenInfo: Call<"token">;
  readonly ensName: Call<"ensName">;
  readonly estimateGas: Call<"gas">;
  readonly transaction: Call<"transaction", ActionRequest>;
  readonly signature: Call<"signature", ActionRequest>;
}

export function createWalletCalls(settings: WalletSettings, clock: Clock): WalletCalls {
  const chains = createChains(settings, clock);
  const chainOf = (chainId: number | undefined, turn: ToolTurn, signal: AbortSignal): Chain =>
    chains.open(chainOrUsers(chainId, turn, chains.settings), signal);
  return {
    async balance({ address, chain_id }, turn, signal) {
      const chain = chainOf(chain_id, turn, signal);
      const owner = addressOrUsers(address, turn);
      const balance = amountOf(await readBalance(chain, owner.address), chain.currency);
      return { address: owner.address, address_source: owner.source, chain: summaryOf(chain), balance };
    },
    async tokenBalance({ token, address, chain_id }, turn, signal) {
      const chain = chainOf(chain_id, turn, signal);
      const owner = addressOrUsers(address, turn);
      const contract = readAddress(token, "token");
      const [balance, facts] = await Promise.all([
        readTokenBalance(chain, contract, owner.address),
        readToken(chain, contract),
      ]);
      const { symbol, name, decimals, totalSupply, notes } = facts;
      return {
        address: owner.address,
        address_source: owner.source,
        chain: summaryOf(chain),
        token: { address: contract, symbol, name, decimals },
        balance: tokenAmount(balance, facts),
        notes: [
          ...notes,
          ...(totalSupply !== null && balance > totalSupply
            ? ["The contract reports a balance above its total supply, so one of the two is wrong."]
            : []),
        ],
      };
    },
    tokenInfo: ({ token, chain_id }, turn, signal) => tokenInfo(chainOf(chain_id, turn, signal), token),
    ensName: (input, turn, signal) => lookUpName(chains, input, turn, signal),
    async estimateGas(input, turn, signal) {
      return await estimate(chainOf(input.chain_id, turn, signal), input, turn);
    },
    async transaction(input, turn, signal) {
      const chain = chainOf(input.chain_id, turn, signal);
      const late = new AbortController();
      const timer = clock.after(DESCRIPTION_MS, () => late.abort());
      const described = chains.open(chain.id, AbortSignal.any([signal, late.signal]));
      return await prepareTransaction(input, { chain, described }, turn).finally(() => timer.stop());
    },
    signature: async ({ typed_data }) => ({
      kind: "wallet_signature",
      request: { typed_data: readTypedData(typed_data as JsonObject, chains.settings) },
    }),
  };
}

async function tokenInfo(chain: Chain, token: string) {
  const contract = readAddress(token, "token");
  const facts = await readToken(chain, contract);
  const { symbol, name, decimals, totalSupply, notes } = facts;
  return {
    chain: summaryOf(chain),
    token: { address: contract, symbol, name, decimals },
    total_supply: totalSupply === null ? null : tokenAmount(totalSupply, facts),
    notes,
  };
}

function summaryOf({ id, name }: Chain) {
  return { id, name };
}

function tokenAmount(raw: bigint, { symbol, decimals }: TokenFacts) {
  if (decimals === null) return { raw: raw.toString(), formatted: null, symbol, decimals };
  return { ...amountOf(raw, { symbol: symbol ?? "", decimals }), symbol };
}

async function estimate(chain: Chain, input: Input<"gas">, turn: ToolTurn) {
  const sender =
    input.from === undefined
      ? addressOfUser(turn)
      : { address: readAddress(input.from, "from"), source: "given" };
  const fields = { ...readTransaction(input, chain), from: sender?.address ?? null };
  const [outcome, price] = await Promise.all([estimateGas(chain, fields), readGasPrice(chain)]);
  if (outcome.reverted) {
    const doubt = sender === null ? " The sender is not known, which may be why: give from." : "";
    throw new Error(`This transaction would fail: ${outcome.reason}.${doubt}`);
  }
  return {
    chain: summaryOf(chain),
    from: sender?.address ?? null,
    from_source: sender?.source ?? "not known, so the estimate may be wrong",
    to: fields.to,
    value: amountOf(fields.value, chain.currency),
    gas: outcome.value.toString(),
    gas_price: amountOf(price, { symbol: "gwei", decimals: 9 }),
    fee: amountOf(outcome.value * price, chain.currency),
    note: "Estimated at the price of this moment. Some rollups charge for their data on top.",
  };
}

async function lookUpName(chains: Chains, input: Input<"ensName">, turn: ToolTurn, signal: AbortSignal) {
  const { chain, contracts } = await chainWithEns(chains, input.chain_id, turn, signal);
  if (input.name !== undefined) {
    if (input.address !== undefined) throw new RangeError("Give a name or an address, not both.");
    const address = await addressOfName(chain, contracts, input.name);
    return { chain: summaryOf(chain), name: normalizeName(input.name), address };
  }
  const owner = addressOrUsers(input.address, turn);
  const name = await nameOfAddress(chain, contracts, owner.address);
  return { chain: summaryOf(chain), address: owner.address, address_source: owner.source, name };
}

/** Returns the given chain; or else the user's chain if it has ENS, or else the first chain that has ENS. */
async function chainWithEns(
  chains: Chains,
  chainId: number | undefined,
  turn: ToolTurn,
  signal: AbortSignal,
): Promise<{ readonly chain: Chain; readonly contracts: EnsContracts }> {
  const users = chainOfUser(turn);
  const order = chains.settings.toSorted(
    (left, right) => Number(right.id === users) - Number(left.id === users),
  );
  for (const { id, contracts: configured } of order) {
    if (chainId !== undefined && chainId !== id) continue;
    const contracts = await contractsWithEns(id, configured);
    if (contracts !== null) return { chain: chains.open(id, signal), contracts };
  }
  throw new Error(
    `There is no ENS on ${chainId ?? "any of the chains"}. The chains are: ${listChains(chains.settings)}.`,
  );
}
