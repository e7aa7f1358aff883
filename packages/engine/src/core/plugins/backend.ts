// Ports for backend plugins, which store conversations, and transport plugins, which carry notifications
// between nodes.

import type { z } from "zod";
import type { Finding } from "../finding.ts";
import type { Hidden } from "../hidden.ts";
import type { Clock } from "../ports/driven/clock.ts";
import type { Logger } from "../ports/driven/logger.ts";
import type { RateCounters } from "../ports/driven/rate-counters.ts";
import type { Store } from "../ports/driven/store.ts";
import type { TableAccess, TableStore } from "../ports/driven/table-store.ts";
import type { Transport } from "../ports/driven/transport.ts";
import { definePlugin, type Plugin, type PluginMetadata } from "./plugin.ts";

/** Describes the process that opens a store, with services for the store. */
export interface BackendContext {
  /**
   * `node`: a long-lived process that runs turns. `command`: a short-lived command, which must not disturb
   * running nodes.
   */
  readonly role: "node" | "command";
  /**
   * False if the store must already exist. If it does not, `open` rejects with an Error that names the
   * location.
   */
  readonly mayCreate: boolean;
  /** Absolute path of the data directory; `null` if the process may not write to the local disk. */
  readonly directory: string | null;
  /** Process id, for error messages about a second process; `null` if unknown. */
  readonly processId: number | null;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Ends the process. Call it once if writes are no longer reliable. */
  onFatal(error: Error): void;
  /**
   * Call this after a failover, before returning a result of the new server: earlier reads may have been
   * lost.
   */
  onServerChange(): void;
}

export interface TransportContext {
  /** Separates clusters that share a server: 1 to 63 of `a-z`, `0-9`, `_` and `-`. */
  readonly cluster: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface CountersContext {
  /** Name of this node, unique across all nodes and restarts. */
  readonly node: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Implemented by backends whose store several processes can use at the same time. */
export interface SharedStore<Settings> {
  /**
   * Returns an id of the database for `TransportContext.cluster`. Must not depend on the URL used to reach
   * it.
   */
  identity(settings: Settings): Promise<string>;
  /** Creates a transport over the database itself. If absent, the configuration must name a transport. */
  transport?(settings: Settings, context: TransportContext): Transport | Promise<Transport>;
  /** What an operator should check if no notification arrives, as a sentence for `colloquy doctor`. */
  readonly remedy?: string | undefined;
  /** Opens rate-limit counters shared by all nodes. If absent, or `null`, every node counts its own requests. */
  counters?(settings: Settings, context: CountersContext): Promise<RateCounters | null>;
}

export interface Examination {
  readonly findings: readonly Finding[];
  /** Number of sealed secrets by master key id; `null` if the store could not be read. */
  readonly secretsByKey: Readonly<Record<string, number>> | null;
}

/** Reports problems that a schema cannot express, while the configuration is read. */
export interface SettingsFindings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /**
   * Returns a setting's name for messages: its path, such as `backend.url`, or the environment variable that
   * sets it.
   */
  nameOf(setting: string): string;
  warn(message: string): void;
}

interface BackendSettings<Name extends string, Settings extends z.ZodObject> extends PluginMetadata {
  /** Value of `kind` in the configuration section. */
  readonly name: Name;
  /** Schema of the other settings; `describe` documents them. Texts may contain `{{env.NAME}}`. */
  readonly settings?: Settings | undefined;
  check?(settings: z.output<Settings>, findings: SettingsFindings): void;
}

export interface BackendDefinition<Name extends string, Settings extends z.ZodObject>
  extends BackendSettings<Name, Settings> {
  /**
   * Opens the store, and creates or migrates it if necessary. Rejects with an Error that tells the operator
   * what to do.
   */
  open(settings: z.output<Settings>, context: BackendContext): Store | Promise<Store>;
  /** Present if several processes may use the store at the same time. */
  readonly nodes?: SharedStore<z.output<Settings>> | undefined;
  /** Checks the store for `colloquy doctor`. Must not change anything: nodes may be running. */
  examine?(
    settings: z.output<Settings>,
    context: { readonly directory: string; readonly clock: Clock },
  ): Promise<Examination>;
  /** Runs `work` on the tables, for `colloquy migrate`, `export` and `import`. */
  withTables?<Result>(
    settings: z.output<Settings>,
    context: { readonly directory: string; readonly access: TableAccess; readonly at: number },
    work: (store: TableStore) => Promise<Result>,
  ): Promise<Result>;
}

export interface BackendPlugin<Name extends string = string, Settings extends z.ZodObject = z.ZodObject>
  extends BackendDefinition<Name, Settings> {
  readonly kind: "colloquy/backend";
}

/** Defines a plugin that stores conversations, selected by `"backend": { "kind": NAME }`. */
export function defineBackend<const Name extends string, Settings extends z.ZodObject = z.ZodObject<{}>>(
  definition: BackendDefinition<Name, Settings>,
): BackendPlugin<Name, Settings> {
  return definePlugin("backend", definition);
}

export function isBackend(plugin: Plugin): plugin is BackendPlugin {
  return plugin.kind === "colloquy/backend";
}

export interface TransportDefinition<Name extends string, Settings extends z.ZodObject>
  extends BackendSettings<Name, Settings> {
  /** Creates a transport. It connects when started. */
  open(settings: z.output<Settings>, context: TransportContext): Transport | Promise<Transport>;
  /** What an operator should check if no notification arrives, as a sentence for `colloquy doctor`. */
  readonly remedy?: string | undefined;
}

export interface TransportPlugin<Name extends string = string, Settings extends z.ZodObject = z.ZodObject>
  extends TransportDefinition<Name, Settings> {
  readonly kind: "colloquy/transport";
}

/** Defines a plugin that carries notifications between nodes, selected by `"transport": { "kind": NAME }`. */
export function defineTransport<const Name extends string, Settings extends z.ZodObject = z.ZodObject<{}>>(
  definition: TransportDefinition<Name, Settings>,
): TransportPlugin<Name, Settings> {
  return definePlugin("transport", definition);
}

export function isTransport(plugin: Plugin): plugin is TransportPlugin {
  return plugin.kind === "colloquy/transport";
}

/** A configured plugin with its settings, which may contain passwords. */
export interface Chosen<Kind extends { open(settings: never, context: never): unknown }> {
  readonly plugin: Kind;
  readonly settings: Hidden<Parameters<Kind["open"]>[0]>;
}
