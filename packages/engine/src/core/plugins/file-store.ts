// Port for file store plugins, which store the bytes of uploaded files. Their metadata is in the database.

import type { z } from "zod";
import type { Clock } from "../ports/driven/clock.ts";
import type { Logger } from "../ports/driven/logger.ts";
import type { Chosen, SettingsFindings } from "./backend.ts";
import { definePlugin, type Plugin, type PluginMetadata } from "./plugin.ts";

/** Offsets of the first and the last byte of a range, both inclusive. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/**
 * Stores bytes by name. A name is an App, a slash and a UUID, and is never reused. All nodes of an
 * installation must open the same store. Methods reject with an `Unavailable` (507 if the disk is full) or
 * any other Error.
 */
export interface FileStore {
  /**
   * Stores bytes. Resolves once they are durable. If `content` fails, rejects with its error; `remove` must
   * then remove whatever was stored.
   */
  put(name: string, content: AsyncIterable<Uint8Array>): Promise<void>;
  /**
   * Opens stored bytes, or a range within their length. Returns `null` for an unknown name. The iteration
   * rejects if reading fails.
   */
  get(name: string, range: ByteRange | null): Promise<AsyncIterable<Uint8Array> | null>;
  /** Removes bytes, including the remains of an unfinished `put`. Resolves for an unknown name. */
  remove(name: string): Promise<void>;
  close(): Promise<void>;
}

export interface FileStoreContext {
  /** Absolute path of the data directory; `null` if the process may not write to the local disk. */
  readonly directory: string | null;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface FileStoreDefinition<Name extends string, Settings extends z.ZodObject>
  extends PluginMetadata {
  /** Value of `kind` in the configuration section. */
  readonly name: Name;
  /** Schema of the other settings; `describe` documents them. Texts may contain `{{env.NAME}}`. */
  readonly settings?: Settings | undefined;
  check?(settings: z.output<Settings>, findings: SettingsFindings): void;
  /** Opens the store. Rejects with an Error that tells the operator what to do. */
  open(settings: z.output<Settings>, context: FileStoreContext): FileStore | Promise<FileStore>;
}

export interface FileStorePlugin<Name extends string = string, Settings extends z.ZodObject = z.ZodObject>
  extends FileStoreDefinition<Name, Settings> {
  readonly kind: "colloquy/file-store";
}

/** Defines a plugin that stores the bytes of files, selected by `"files": { "kind": NAME }`. */
export function defineFileStore<const Name extends string, Settings extends z.ZodObject = z.ZodObject<{}>>(
  definition: FileStoreDefinition<Name, Settings>,
): FileStorePlugin<Name, Settings> {
  return definePlugin("file-store", definition);
}

export function isFileStore(plugin: Plugin): plugin is FileStorePlugin {
  return plugin.kind === "colloquy/file-store";
}

/** The configured file store. */
export type ChosenFileStore = Chosen<FileStorePlugin>;
