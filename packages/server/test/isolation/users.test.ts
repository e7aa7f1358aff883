// Signed-in users are isolated: every kind of caller tries every operation on what belongs to one user. The
// statuses are recorded in users-matrix.md; update it with `npx vitest run packages/server/test/isolation
// -u`.

import { AuditPage, type AuditEntry } from "@colloquy/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newSession, send, type Call } from "../black-box/client.ts";
import { EventReader } from "../black-box/event-reader.ts";
import { addressOfWallet, newAccount } from "../sign-in-messages.ts";
import { claimCall, nameFile } from "./conversation.ts";
import {
  APPROVER_OPERATIONS,
  OPERATIONS as ALL_OPERATIONS,
  type ClassifiedOperation,
  type Target,
} from "./classified-operations.ts";
import { expectedForUser, isTheOwner } from "./expected-for-user.ts";
import { renderMatrix, type Row } from "./matrix.ts";
import { sendOperation, type Answer } from "./sent-operation.ts";
import {
  startUserService,
  USER_APPS,
  USER_CALLERS,
  type Person,
  type UserApp,
  type UserCaller,
  type UserService,
} from "./user-callers.ts";

const OPERATIONS: Readonly<Record<string, ClassifiedOperation>> = {
  ...ALL_OPERATIONS,
  ...APPROVER_OPERATIONS,
};

let service: UserService;
/** Credentials of the owner, by App. */
let ownCredentials: Readonly<Record<UserApp, NonNullable<Call["headers"]>>>;
const rows: Row[] = [];
/** All responses to the owner, which must contain the canaries; otherwise this test proves nothing. */
const answersToOwner: Record<UserApp, string> = { shop: "", club: "" };
beforeAll(async () => {
  service = await startUserService();
  const { credentials, owner } = service;
  ownCredentials = {
    shop: await credentials("own token", "shop", owner),
    club: await credentials("own token", "club", owner),
  };
});
afterAll(() => service.close());

const canariesOf = (app: UserApp): readonly string[] => {
  const { conversation, secret } = service.drafts[app].canaries;
  return [...conversation, secret];
};
const found = (texts: readonly string[], text: string) => texts.filter((one) => text.includes(one));

/** Operations that change or delete data that later callers try to reach. */
const destroys = (name: string, { removes }: ClassifiedOperation) =>
  removes === true || name.startsWith("DELETE ") || name.endsWith("/owner");

/** Returns the conversation with canaries, or a new one of another person for callers that may destroy it. */
async function targetFor(
  name: string,
  operation: ClassifiedOperation,
  caller: UserCaller,
  app: UserApp,
): Promise<{ readonly person: Person; readonly target: Target }> {
  const mayDestroy = expectedForUser(name, operation, caller, app) < 300 && destroys(name, operation);
  const person = mayDestroy ? { subject: newSession(), account: newAccount() } : service.owner;
  const { rig, slot } = service.drafts[app];
  const conversation = mayDestroy ? await service.converse(app, person, false) : service.conversations[app];
  const wallet = addressOfWallet(person.account);
  // A list names no session.
  const isList = name === "GET /api/sessions";
  return {
    person,
    target: {
      app,
      rig,
      slot,
      wallet,
      conversation: isList ? { ...conversation, session: newSession() } : conversation,
    },
  };
}

async function call(
  name: string,
  operation: ClassifiedOperation,
  caller: UserCaller,
  app: UserApp,
): Promise<Answer> {
  const { person, target } = await targetFor(name, operation, caller, app);
  const headers = await service.credentials(caller, app, person);
  // The service accepts only ten wrong admin keys a minute.
  if (operation.class === "admin") service.passMinute();
  const key = operation.class === "admin" ? headers["SERVICE-APP-KEY"] : undefined;
  return await sendOperation(service.url, name, operation, target, {
    ...(key !== undefined && { Authorization: `Bearer ${String(key)}` }),
    ...headers,
  });
}

async function stateOf(app: UserApp): Promise<string> {
  const { session } = service.conversations[app];
  return (await send(service.url, "GET", "/api/state", { session, headers: ownCredentials[app] })).text;
}

const cells = USER_APPS.flatMap((app) => Object.keys(OPERATIONS).map((name) => ({ app, name })));

describe.each(cells)("$name on a conversation of a user of $app", ({ app, name }) => {
  it("returns the expected status to each caller, and canaries only to the owner and operators", async () => {
    const operation = OPERATIONS[name]!;
    const statuses: Partial<Record<UserCaller, number>> = {};
    const leaks: Partial<Record<UserCaller, readonly string[]>> = {};
    for (const caller of USER_CALLERS) {
      const isOwner = isTheOwner(caller, app);
      const received = service.drafts[app].model.received.length;
      const before = isOwner ? null : await stateOf(app);
      const { status, text } = await call(name, operation, caller, app);
      statuses[caller] = status;
      if (isOwner) {
        answersToOwner[app] += text;
        continue;
      }
      const isOperator = operation.class === "admin" && status < 300;
      const seen = isOperator && !name.endsWith("/audit") ? "" : text;
      const prompts = service.drafts[app].model.received.slice(received).join("\n");
      const leaked = found(canariesOf(app), seen + prompts);
      if (leaked.length > 0) leaks[caller] = leaked;
      // Operators read and work on conversations by design.
      if (!isOperator) expect([caller, await stateOf(app)]).toEqual([caller, before]);
    }
    const wrong = USER_CALLERS.flatMap((caller) => {
      const expected = expectedForUser(name, operation, caller, app);
      const sent = expected === 200 ? (operation.allowed ?? 200) : expected;
      return statuses[caller] === sent ? [] : [`${caller}: ${statuses[caller]}, not ${expected}`];
    });
    expect(wrong).toEqual([]);
    expect(leaks).toEqual({});
    rows.push({ app, name, class: operation.class, statuses: Object.values(statuses) });
  });
});

describe("after all operations", () => {
  it("the owner has seen the conversation", () => {
    for (const app of USER_APPS) {
      const texts = service.drafts[app].canaries.conversation;
      expect(found(texts, answersToOwner[app])).toEqual(texts);
    }
  });

  it.each(USER_APPS)("no canary is in the stream of another user of %s", async (app) => {
    const carol = { subject: "carol", account: newAccount() };
    const { session } = await service.converse(app, carol, false);
    const headers = await service.credentials("own token", app, carol);
    const include = "tools,messages,state";
    const reader = await EventReader.connect(service.url, session, { include, headers });
    const message = service.drafts[app].texts.message;
    const call = {
      session: service.conversations[app].session,
      headers: { Prefer: "wait=20", ...ownCredentials[app] },
    };
    const sent = await send(service.url, "POST", `/api/chat?app=${app}&message=${message}`, call);
    expect([sent.status, found([message], sent.text)]).toEqual([200, [message]]);
    const json = { title: "The end" };
    await send(service.url, "PATCH", `/api/sessions/${session}`, { session, headers, json });
    // The bus keeps order: events of the owner's conversation would have arrived before.
    await reader.find((event) => event.type === "title_changed" && event.new_title === json.title);
    reader.leave();
    expect(found(canariesOf(app), JSON.stringify(reader.events) + reader.other.join("\n"))).toEqual([]);
  });

  it.each(USER_APPS)("no file of the owner is in a result of another user of %s", async (app) => {
    const headers = await service.credentials("own token", app, { subject: "carol", account: newAccount() });
    const { file } = service.conversations[app];
    const received = service.drafts[app].model.received.length;
    const call = await claimCall(service.url, app, headers);
    const refused = await nameFile(service.url, call, headers, file);
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining("attachment_not_found")]);
    const after = await send(service.url, "GET", "/api/state", { session: call.session, headers });
    const prompts = service.drafts[app].model.received.slice(received).join("\n");
    expect(found(canariesOf(app), refused.text + after.text + prompts)).toEqual([]);
  });

  it("each entry of the audit trail is a line of the log, without its details", async () => {
    const { url, owner, logged } = service;
    const key = (await service.credentials("key with admin:write", "shop", owner))["SERVICE-APP-KEY"];
    const headers = { Authorization: `Bearer ${String(key)}` };
    service.passMinute();
    const entries: AuditEntry[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const page = await send(url, "GET", `/api/admin/audit?limit=200${cursor}`, { headers });
      const { entries: some, next_cursor: next } = page.as(AuditPage);
      entries.push(...some);
      cursor = next === null ? null : `&cursor=${next}`;
    }
    const lines = logged
      .map((line) => JSON.parse(line) as [fields: Record<string, unknown>, message: string])
      .flatMap(([fields, message]) => (message === "audit" ? [fields] : []));
    const texts = new Set(lines.map(textOf));
    const named = entries.filter(({ action }) => action !== "login_failed");
    expect(named.filter((entry) => !texts.has(textOf(lineOf(entry))))).toEqual([]);
    expect([...new Set(named.map(({ action }) => action))].toSorted()).toEqual([
      "action_decided",
      "key_created",
      "secrets_removed",
      "secrets_set",
      "session_deleted",
      "session_read",
      "session_transferred",
      "user_erased",
      "user_exported",
    ]);
    expect(lines.filter((line) => "details" in line)).toEqual([]);
  });

  it("no canary is in the log, and no secret in a prompt", () => {
    const logged = service.logged.join("\n");
    for (const app of USER_APPS) {
      const { canaries, model } = service.drafts[app];
      expect(found(canariesOf(app), logged)).toEqual([]);
      expect(model.received.length).toBeGreaterThan(0);
      expect(found([canaries.secret], model.received.join("\n"))).toEqual([]);
    }
    expect(logged).not.toContain(addressOfWallet(service.owner.account));
  });

  it("users-matrix.md is up to date", async () => {
    expect(rows).toHaveLength(cells.length);
    const headings = {
      shop: "On a conversation of a user of an App with `users`, where wallets are claimed:",
      club: 'On a conversation of a wallet, in an App with `wallets: "proved"` and without `users`. All but the anonymous caller have a key of the App:',
    };
    await expect(renderMatrix(rows, USER_CALLERS, headings)).toMatchFileSnapshot("users-matrix.md");
  });
});

/** Returns the fields of the line that the log has for an entry. */
function lineOf({ action, app, target, actor, request_id }: AuditEntry): Readonly<Record<string, unknown>> {
  const { kind, id, name, address } = actor;
  const who = { actor_kind: kind, actor_id: id, actor_name: name, address, request_id };
  return Object.fromEntries(
    Object.entries({ action, app, target, ...who }).filter(([, value]) => value !== null),
  );
}

/** The fields in the order of their names. */
function textOf(line: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(line, Object.keys(line).toSorted());
}
