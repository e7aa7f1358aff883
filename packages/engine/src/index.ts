// Public API of the engine. Modules under `internal/` are for Colloquy's own packages and may change in any release.

export type { Action, Attachment, Message, Snapshot, Thread, UpdateEvent } from "@colloquy/protocol";
export type { Finding } from "./core/finding.ts";
export { ServiceError } from "./core/errors.ts";
export {
  type BackendContext,
  type BackendDefinition,
  type BackendPlugin,
  type CountersContext,
  defineBackend,
  defineTransport,
  type Examination,
  type SettingsFindings,
  type SharedStore,
  type TransportContext,
  type TransportDefinition,
  type TransportPlugin,
} from "./core/plugins/backend.ts";
export {
  type ByteRange,
  defineFileStore,
  type FileStore,
  type FileStoreContext,
  type FileStoreDefinition,
  type FileStorePlugin,
} from "./core/plugins/file-store.ts";
export {
  defineModelProvider,
  type ModelProvider,
  type ModelProviderDefinition,
  type ModelProviderPlugin,
  type ProviderContext,
} from "./core/plugins/model-provider.ts";
export type { Plugin, PluginMetadata, PluginNeeds } from "./core/plugins/plugin.ts";
export {
  defineTool,
  defineToolSource,
  type GuardedFetch,
  type PluginSource,
  type PluginTool,
  type SourceContext,
  type SourceFindings,
  type SourceScope,
  type ToolSourceDefinition,
  type ToolSourcePlugin,
  ToolsUnavailable,
} from "./core/plugins/tool-source.ts";
export type { ToolContext, ToolFile } from "./core/ports/driven/tool.ts";
export type { Clock, Timer } from "./core/ports/driven/clock.ts";
export type { Packet, Transport, TransportReceiver } from "./core/ports/driven/transport.ts";
export type { RateCounters, WindowCount } from "./core/ports/driven/rate-counters.ts";
export type { Store } from "./core/ports/driven/store.ts";
export type { Logger } from "./core/ports/driven/logger.ts";
export {
  type ChatInput,
  type Conversation,
  createEngine,
  type DecideInput,
  type DownloadInput,
  type Engine,
  type EngineEvent,
  type EngineOptions,
  type MessagesInput,
  type StateInput,
  type SubscribeInput,
  type UploadInput,
} from "./wiring/engine.ts";
