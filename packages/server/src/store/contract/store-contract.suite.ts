// The contract of every store: the guarantees of core/ports as tests.

import { describe } from "vitest";
import { describeActions } from "./actions.suite.ts";
import { describeAdmin } from "./admin.suite.ts";
import { describeBatches } from "./batches.suite.ts";
import { describeChat } from "./chat.suite.ts";
import { describeClientTools } from "./client-tools.suite.ts";
import { describeDeletion } from "./deletion.suite.ts";
import { describeUserState } from "./user-state.suite.ts";
import { describeAppScope } from "./app-scope.suite.ts";
import { describeMessagePages } from "./message-pages.suite.ts";
import { describeWaitingTurns } from "./waiting-turns.suite.ts";
import { describeDurability } from "./durability.suite.ts";
import { describeEvents } from "./events.suite.ts";
import { describeAudit } from "./audit.suite.ts";
import { describeExpiry } from "./expiry.suite.ts";
import { describeFold } from "./fold.suite.ts";
import { describeHistory } from "./history.suite.ts";
import { describeInterrupt } from "./interrupt.suite.ts";
import { describeJobs } from "./jobs.suite.ts";
import { describeKeys } from "./keys.suite.ts";
import { describeLists } from "./lists.suite.ts";
import { describeLeases } from "./leases.suite.ts";
import { describeOwners } from "./owners.suite.ts";
import { describeQueue } from "./queue.suite.ts";
import { describeFork } from "./fork.suite.ts";
import { describeReplace } from "./replace.suite.ts";
import { describeRunTime } from "./run-time.suite.ts";
import type { OpenStore } from "./testing/given-store.ts";
import { describeSecrets } from "./secrets.suite.ts";
import { describeSessions } from "./sessions.suite.ts";
import { describeTurnProgress } from "./turn-progress.suite.ts";
import { describeVersions } from "./versions.suite.ts";

export function describeStoreContract(name: string, openStore: OpenStore): void {
  describe(`the store's contract, ${name}`, () => {
    describeSessions(openStore);
    describeDeletion(openStore);
    describeUserState(openStore);
    describeAppScope(openStore);
    describeOwners(openStore);
    describeMessagePages(openStore);
    describeVersions(openStore);
    describeLists(openStore);
    describeExpiry(openStore);
    describeChat(openStore);
    describeInterrupt(openStore);
    describeFork(openStore);
    describeReplace(openStore);
    describeQueue(openStore);
    describeLeases(openStore);
    describeRunTime(openStore);
    describeTurnProgress(openStore);
    describeActions(openStore);
    describeClientTools(openStore);
    describeWaitingTurns(openStore);
    describeHistory(openStore);
    describeEvents(openStore);
    describeJobs(openStore);
    describeKeys(openStore);
    describeSecrets(openStore);
    describeAudit(openStore);
    describeAdmin(openStore);
    describeBatches(openStore);
    describeDurability(openStore);
    describeFold(openStore);
  });
}
