// Public API: a scripted model, and contract suites for backends, transports and file stores, for Vitest and Node's test
// runner.

export {
  type Carrier as TransportServer,
  describeClusterBus as describeTransport,
} from "./bus/cluster-bus.suite.ts";
export { describeFileStore, type OpenFiles } from "./files/file-store.suite.ts";
export { ManualClock } from "./manual-clock.ts";
export { type ScriptedCall, ScriptedModel } from "./models/scripted-model.ts";
export type { OpenedStore, OpenStore } from "./store/fixtures/given-store.ts";
export { describeStoreContract as describeStore } from "./store/store-contract.suite.ts";
