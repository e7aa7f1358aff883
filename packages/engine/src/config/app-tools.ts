// Reads the tool settings of an App section by section, so that an invalid section does not hide problems of another.

import { ClientTool } from "@colloquy/protocol";
import { z } from "zod";
import {
  COUNTING_TOOL,
  type ChainSettings,
  type OwnTool,
  type ToolSettings,
  type WalletSettings,
} from "../core/app-settings.ts";
import { Hidden } from "../core/hidden.ts";
import { isServerURL, SERVER_URL_RULE } from "../core/setting-schemas.ts";
import {
  ApprovalValue,
  BUILT_IN_TOOLS,
  DEFAULT_TOOLS,
  durationMs,
  ToolValue,
  WalletSection,
} from "./app-schema.ts";
import { ChainSection } from "./sections.ts";
import { suggestion } from "../core/nearest-name.ts";
import { fillPlaceholders, type Filling } from "./placeholders.ts";
import { formatPath } from "./problem.ts";
import { recordOf } from "./schema-parts.ts";
import type { AppSources } from "./sources.ts";

export interface ToolReader extends Filling {
  /** Path of the App's section, such as `["apps", "default"]`. */
  readonly path: readonly string[];
  readonly chains: ChainReading;
}

/**
 * Reads the tool settings from an App's unvalidated section; the schema validates its shape separately.
 * `sources` are the sources of plugins in it. If `findings` has problems afterwards, the returned settings
 * must not be used.
 */
export function readTools(
  section: Readonly<Record<string, unknown>>,
  sources: AppSources,
  reader: ToolReader,
): ToolSettings {
  const client = readEntries(section["clientTools"], ClientTool, (_name, tool) => tool);
  const settings: ToolSettings = {
    ...readOwnAndBuiltIn(section["tools"], reader),
    sources: sources.valid,
    wallet: readWallet(section["wallet"], reader),
    ...(Object.keys(client).length > 0 && { client }),
    ...(section["allowClientTools"] === true && { allowsClientTools: true }),
    effects: readEntries(
      section["effects"],
      z.enum(["read", "idempotent", "unsafe"]),
      (_name, effect) => effect,
    ),
    approvals: readApprovals(section, reader),
  };
  const prefixes = sources.written.map(({ name }) => `${name}_`);
  refuseCommonPrefixes(sources.written, reader);
  checkClientTools(settings, section, prefixes, reader);
  refuseUnknownTools(settings, section, prefixes, reader);
  return settings;
}

/**
 * Servers `pay` and `pay_eu` could both have a tool `pay_eu_send`, so an approval for one would also match
 * the other.
 */
function refuseCommonPrefixes(written: AppSources["written"], { path, findings }: ToolReader): void {
  for (const [index, { name, location }] of written.entries()) {
    const [same] = written.slice(0, index).filter((one) => one.name === name);
    if (same !== undefined) {
      findings.problem(
        [...path, ...location],
        `has the name of ${formatPath(same.location)}, so the names of their tools would be mixed up. Choose another one.`,
      );
    }
    const other = written.find((one) => one.name !== name && `${name}_`.startsWith(`${one.name}_`));
    if (other === undefined) continue;
    findings.problem(
      [...path, ...location],
      `begins with the name of the server "${other.name}" and "_", so the names of their tools could be mixed up. Choose another one.`,
    );
  }
}

/**
 * Rejects client tools that have the name of another tool, a rule for such calls, or a schema that cannot be
 * checked.
 */
function checkClientTools(
  { client = {}, builtIn, effects, approvals }: ToolSettings,
  section: Readonly<Record<string, unknown>>,
  prefixes: readonly string[],
  { path, findings }: ToolReader,
): void {
  const names = new Set([...builtIn, ...namesIn(section["tools"]), ...WALLET_TOOLS, COUNTING_TOOL]);
  for (const [name, { inputSchema }] of Object.entries(client)) {
    const place = [...path, "clientTools", name];
    if (names.has(name) || prefixes.some((prefix) => name.startsWith(prefix)))
      findings.problem(place, "is or may be the name of a tool of the server. Choose another one.");
    if (Object.hasOwn(approvals, name))
      findings.problem(
        [...path, "approvals", name],
        "runs in the client, which can ask its user. Remove the rule.",
      );
    if (Object.hasOwn(effects, name))
      findings.problem(
        [...path, "effects", name],
        'runs in the client. Use "repeatable" of the tool instead.',
      );
    if (inputSchema["type"] !== "object" || !isSchema(inputSchema))
      findings.problem([...place, "inputSchema"], 'must be a JSON Schema (draft 7) with the type "object".');
  }
}

function isSchema(schema: object): boolean {
  try {
    z.fromJSONSchema(schema as z.core.JSONSchema.JSONSchema, { defaultTarget: "draft-7" });
    return true;
  } catch {
    return false;
  }
}

/** Tools whose actions only the user of the session can decide. */
const ASKING_THE_USER: ReadonlySet<string> = new Set([
  "ask_user",
  "wallet_request_transaction",
  "wallet_request_signature",
]);

function readApprovals(
  section: Readonly<Record<string, unknown>>,
  reader: ToolReader,
): ToolSettings["approvals"] {
  const read = readEntries(section["approvals"], ApprovalValue, (_name, value) => value);
  return Object.fromEntries(
    Object.entries(read).map(([name, value]) => {
      if (typeof value !== "object") return [name, value];
      checkApproval(name, value, section, reader);
      const { when, expiresAfter, remindAfter, approvers, owner } = value;
      return [
        name,
        {
          when,
          ...(expiresAfter !== undefined && { expiresMs: durationMs(expiresAfter) }),
          ...(remindAfter !== undefined && { remindMs: durationMs(remindAfter) }),
          ...(approvers !== undefined && { approvers }),
          ...(owner !== undefined && { owner }),
        },
      ];
    }),
  );
}

function checkApproval(
  name: string,
  { when, expiresAfter, remindAfter, approvers, owner }: Extract<ApprovalValue, { readonly when: unknown }>,
  section: Readonly<Record<string, unknown>>,
  { path, findings }: ToolReader,
): void {
  const place = [...path, "approvals", name];
  if (
    remindAfter !== undefined &&
    expiresAfter !== undefined &&
    durationMs(remindAfter) >= durationMs(expiresAfter)
  )
    findings.problem([...place, "remindAfter"], 'must be shorter than "expiresAfter".');
  if (owner !== undefined && approvers === undefined)
    findings.problem([...place, "owner"], 'needs "approvers": without them, the user decides.');
  if (approvers === undefined) return;
  if (ASKING_THE_USER.has(name))
    findings.problem([...place, "approvers"], "only the user can answer requests of this tool. Remove it.");
  if (when === "never")
    findings.problem([...place, "approvers"], 'never decide, because "when" is "never". Remove one of them.');
  if (section["users"] === undefined)
    findings.problem([...place, "approvers"], 'needs "users" in the App, whose tokens have the claim.');
  else if (owner !== "may" && recordOf(section["users"])["required"] !== true)
    findings.problem(
      [...place, "owner"],
      'is "may_not", which needs "required": true in "users": otherwise approvers could ask without a token, and approve their own requests.',
    );
}

/** Reads the valid entries of a section and skips the others. */
function readEntries<Schema extends z.ZodType, Settings>(
  section: unknown,
  schema: Schema,
  read: (name: string, entry: z.infer<Schema>) => Settings,
): Readonly<Record<string, Settings>> {
  const valid = Object.entries(recordOf(section)).flatMap(([name, entry]) => {
    const parsed = schema.safeParse(entry);
    return parsed.success ? [[name, read(name, parsed.data)] as const] : [];
  });
  return Object.fromEntries(valid);
}

function readOwnAndBuiltIn(section: unknown, reader: ToolReader): Pick<ToolSettings, "builtIn" | "own"> {
  if (section === undefined) return { builtIn: DEFAULT_TOOLS, own: {} };
  if (Array.isArray(section)) {
    return { builtIn: BUILT_IN_TOOLS.filter((name) => section.includes(name)), own: {} };
  }
  const own: [string, OwnTool][] = [];
  const builtIn: string[] = [];
  for (const [name, value] of Object.entries(readEntries(section, ToolValue, (_name, tool) => tool))) {
    const path = [...reader.path, "tools", name];
    if (value !== true) {
      own.push([name, value]);
      checkOwnTool(value, path, reader);
    } else if (BUILT_IN_TOOLS.some((known) => known === name)) {
      builtIn.push(name);
    } else {
      reader.findings.problem(path, `is not a built-in tool.${suggestion(name, BUILT_IN_TOOLS)}`);
    }
  }
  return { builtIn, own: Object.fromEntries(own) };
}

/** Properties of AI SDK tools that this service ignores. Tools work without them, so they cause only a warning. */
const IGNORED = [
  "contextSchema",
  "deferLoading",
  "inputExamples",
  "onInputAvailable",
  "onInputDelta",
  "onInputStart",
  "providerOptions",
  "strict",
] as const;

function checkOwnTool(tool: OwnTool, path: readonly string[], { findings }: ToolReader): void {
  const properties: Readonly<Partial<Record<string, unknown>>> = { ...tool };
  const has = (name: string): boolean => properties[name] !== undefined && properties[name] !== false;
  if (has("needsApproval")) {
    const message = `has "needsApproval", which has no effect here. Use the App's "approvals" instead.`;
    findings.problem(path, message);
  }
  if (has("toModelOutput")) {
    const message = `has "toModelOutput", which has no effect here: the model would receive the whole result. Return from "execute" only what the model may see.`;
    findings.problem(path, message);
  }
  for (const name of IGNORED.filter(has)) findings.warn(path, `has "${name}", which has no effect here.`);
}

function readWallet(section: unknown, { path, chains, findings }: ToolReader): WalletSettings | null {
  const wallet = WalletSection.safeParse(section).data ?? false;
  if (wallet === false) return null;
  if (chains.size === 0) {
    findings.problem([...path, "wallet"], 'needs at least one chain in "chains", beside "apps".');
    return null;
  }
  const ids = wallet === true ? [...chains.keys()] : wallet.chains.map(String);
  for (const [index, id] of ids.entries()) {
    const location = [...path, "wallet", "chains", index];
    if (!chains.has(id)) {
      findings.problem(location, `${id} is not configured.${suggestion(id, [...chains.keys()])}`);
    } else if (ids.indexOf(id) < index) {
      findings.problem(location, `${id} is in the list already.`);
    }
  }
  return { chains: ids.flatMap((id) => chains.get(id) ?? []) };
}

/** Chains by id, in file order. `null` marks an invalid section, so that Apps may still refer to the chain. */
type ChainReading = ReadonlyMap<string, ChainSettings | null>;

/** Reads the unvalidated `chains` section; the schema validates its shape separately. */
export function readChains(section: unknown, filling: Filling): ChainReading {
  return new Map(Object.entries(recordOf(section)).map(([id, entry]) => [id, readChain(id, entry, filling)]));
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

// `effects` and `approvals` use the tool names that a model sees. For servers, only the prefixes are known in advance.

/** The tools of an App with a wallet. */
export const WALLET_TOOLS = [
  "wallet_balance",
  "wallet_token_balance",
  "wallet_token_info",
  "wallet_ens_name",
  "wallet_estimate_gas",
  "wallet_request_transaction",
  "wallet_request_signature",
] as const;

/**
 * Rejects names in `effects` and `approvals` that no tool of the App can have: a misspelt name would leave the intended
 * tool without approval. `section` is the App's unvalidated section, so that an invalid tool or server is not also
 * reported as an unknown name.
 */
function refuseUnknownTools(
  { builtIn, effects, approvals }: ToolSettings,
  section: Readonly<Record<string, unknown>>,
  prefixes: readonly string[],
  { path, findings }: ToolReader,
): void {
  const { tools, wallet, clientTools } = section;
  const hasWallet = wallet !== undefined && wallet !== false;
  const names = new Set([
    ...builtIn,
    ...namesIn(tools),
    ...namesIn(clientTools),
    ...(hasWallet ? WALLET_TOOLS : []),
  ]);
  const known = [...names, ...prefixes.map((prefix) => `${prefix}…`)];
  for (const [key, entries] of Object.entries({ effects, approvals })) {
    for (const name of Object.keys(entries)) {
      if (names.has(name) || prefixes.some((prefix) => name.startsWith(prefix))) continue;
      findings.problem([...path, key, name], `no tool of this App has this name.${suggestion(name, known)}`);
    }
  }
}

/** Returns the strings of a list, or the keys of an object. */
function namesIn(section: unknown): readonly string[] {
  if (typeof section !== "object" || section === null) return [];
  return Array.isArray(section) ? section.filter((name) => typeof name === "string") : Object.keys(section);
}
