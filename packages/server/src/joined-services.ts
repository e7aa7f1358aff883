// Everything that routes may ask of conversations, from the three that do it.

import type { Config } from "./config/config.ts";
import type { AppCatalog } from "./core/ports/apps.ts";
import type { ConversationService } from "./core/ports/services.ts";
import type { Store } from "./core/ports/store.ts";
import { DEFAULT_APP } from "./core/session.ts";
import type { Conversations } from "./sessions/conversations.ts";
import { ModelChoices } from "./sessions/model-choice.ts";
import type { Registry } from "./sessions/registry.ts";
import { Threads } from "./sessions/threads.ts";
import type { Dispatcher } from "./turns/dispatcher.ts";

export interface JoinedParts {
  readonly config: Config;
  readonly store: Store;
  readonly single: Conversations;
  readonly registry: Registry;
  readonly dispatcher: Dispatcher;
  readonly apps: AppCatalog;
}

export function joinServices(parts: JoinedParts): ConversationService {
  const { config, store, single, registry, dispatcher, apps } = parts;
  const walletListing = config.server.walletListing === "on";
  const threads = new Threads({ store, registry, dispatcher, walletListing });
  const choices = new ModelChoices(store, registry, apps);
  return {
    chat: (request, admit) => single.chat(request, admit),
    isRepeat: (sessionId, key) => store.jobs.isKeyUsed(sessionId, key),
    state: (request, admit) => single.state(request, admit),
    interrupt: (sessionId, admit) => single.interrupt(sessionId, admit),
    ensure: async (sessionId, admit) => void (await single.ensure(sessionId, admit)),
    create: (sessionId, publicKey, admit) => threads.create(sessionId, publicKey, admit),
    thread: (sessionId, app) => threads.thread(sessionId, app),
    threads: (query) => threads.threads(query),
    rename: (sessionId, title, app) => threads.rename(sessionId, title, app),
    remove: (sessionId, app) => threads.remove(sessionId, app),
    messages: (sessionId, after, limit, app) => threads.messages(sessionId, after, limit, app),
    setModel: (request, admit) => choices.setModel(request, admit),
    listModels: (request) => choices.listModels(request),
    listApps: (opened) => [DEFAULT_APP, ...opened].flatMap((name) => apps.get(name)?.descriptor ?? []),
    appOf: (sessionId) => single.appOf(sessionId),
  };
}
