import { z } from "zod";
import type { ChainSettings } from "../core/app-settings.ts";
import { Hidden } from "../core/hidden.ts";
import { ChainSection } from "./file-schema.ts";
import { fillPlaceholders, type Filling } from "./placeholders.ts";
import { isServerURL, SERVER_URL_RULE } from "./schema-parts.ts";

/** Chains by id, in file order. `null` marks an invalid section, so that Apps may still refer to the chain. */
export type ChainReading = ReadonlyMap<string, ChainSettings | null>;

/** Reads the unvalidated `chains` section; the schema validates its shape separately. */
export function readChains(section: unknown, filling: Filling): ChainReading {
  const entries = z.record(z.string(), z.unknown()).safeParse(section).data ?? {};
  return new Map(Object.entries(entries).map(([id, entry]) => [id, readChain(id, entry, filling)]));
}

function readChain(id: string, entry: unknown, filling: Filling): ChainSettings | null {
  const chain = ChainSection.safeParse(entry).data;
  if (chain === undefined) return null;
  const path = ["chains", id, "rpcURL"];
  const before = filling.findings.problems.length;
  const rpcURL = fillPlaceholders(chain.rpcURL, path, { ...filling, slots: null });
  if (filling.findings.problems.length === before && !isServerURL(rpcURL)) {
    filling.findings.problem(path, `${SERVER_URL_RULE.split(";")[0]}.`);
  }
  const contracts = Object.entries(chain.contracts ?? {}).map(([name, { address, blockCreated }]) => [
    name,
    { address, ...(blockCreated !== undefined && { blockCreated }) },
  ]);
  return {
    id: Number(id),
    name: chain.name,
    rpcURL: new Hidden(rpcURL),
    currency: chain.currency,
    contracts: chain.contracts === undefined ? null : Object.fromEntries(contracts),
  };
}
