// Everything that routes and administration may ask of conversations, from the three that do it.

import type { Config } from "../config/config.ts";
import type { AppCatalog } from "../core/ports/driven/apps.ts";
import type { ConversationService } from "../core/ports/driving/services.ts";
import type { Store } from "../core/ports/driven/store.ts";
import { DEFAULT_APP } from "../core/session.ts";
import type { Conversations } from "../sessions/conversations.ts";
import { ModelChoices } from "../sessions/model-choice.ts";
import type { Registry } from "../sessions/registry.ts";
import { Threads } from "../sessions/threads.ts";
import type { Dispatcher } from "../turns/dispatcher.ts";

export interface JoinedParts {
  readonly config: Config;
  readonly store: Store;
  readonly single: Conversations;
  readonly registry: Registry;
  readonly dispatcher: Dispatcher;
  readonly apps: AppCatalog;
}

export interface JoinedServices extends ConversationService {
  /** As `interrupt`, whatever the App; creates nothing, and does nothing where there is no such session. */
  interruptExisting(sessionId: string): Promise<void>;
}

export function joinServices(parts: JoinedParts): JoinedServices {
  const { config, store, single, registry, dispatcher, apps } = parts;
  const walletListing = config.server.walletListing === "on";
  const threads = new Threads({ store, registry, dispatcher, walletListing });
  const choices = new ModelChoices(store, registry, apps);
  return {
    chat: (request, admit) => single.chat(request, admit),
    isRepeat: (sessionId, key) => store.jobs.isKeyUsed(sessionId, key),
    state: (request, admit) => single.state(request, admit),
    interrupt: (sessionId, admit, apps) => single.interrupt(sessionId, admit, apps),
    interruptExisting: (sessionId) => single.interruptExisting(sessionId),
    ensure: async (sessionId, admit) => void (await single.ensure(sessionId, admit)),
    create: (sessionId, publicKey, admit, apps) => threads.create(sessionId, publicKey, admit, apps),
    thread: (sessionId, apps) => threads.thread(sessionId, apps),
    threads: (query) => threads.threads(query),
    allThreads: (query) => threads.allThreads(query),
    rename: (sessionId, title, apps) => threads.rename(sessionId, title, apps),
    remove: (sessionId, apps) => threads.remove(sessionId, apps),
    messages: (sessionId, after, limit, apps) => threads.messages(sessionId, after, limit, apps),
    setModel: (request, admit) => choices.setModel(request, admit),
    listModels: (request, admit) => choices.listModels(request, admit),
    listApps: (opened) => [DEFAULT_APP, ...opened].flatMap((name) => apps.get(name)?.descriptor ?? []),
    appOf: (sessionId) => single.appOf(sessionId),
  };
}
