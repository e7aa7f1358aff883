// Export and erasure of one person's data.

import { logAudit, type Actor, type AuditEntry } from "../core/audit.ts";
import { toWireAction } from "../core/action.ts";
import { NotFound } from "../core/errors.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { HeldSession, SessionsOf } from "../core/ports/driven/session-store.ts";
import type { Store } from "../core/ports/driven/store.ts";
import type { AuditTrail } from "./audit-trail.ts";
import type { Erased, ExportLine } from "../core/ports/driving/user-data-service.ts";
import type { Files } from "./files.ts";
import { Purges } from "./purges.ts";
import type { Threads } from "./threads.ts";

/** Sessions of one read. */
const PORTION = 100;
/** Records of one page, and actions of one session. */
const LISTED = 1000;

interface UserDataOptions {
  readonly store: Store;
  readonly threads: Threads;
  readonly files: Pick<Files, "removeUnused">;
  readonly audit: AuditTrail;
  readonly clock: Clock;
  readonly logger: Pick<Logger, "info" | "warn">;
}

export class UserData {
  readonly #options: UserDataOptions;
  readonly #purges: Purges;

  constructor(options: UserDataOptions) {
    this.#options = options;
    const { store, clock } = options;
    this.#purges = new Purges(async () => {
      // The words of the removed messages first.
      while ((await store.search.index()).removed > 0);
      return await store.purge();
    }, clock);
  }

  /** Reads one session after the other, as fast as the caller takes the lines. */
  async *export(whose: SessionsOf, by: Actor): AsyncGenerator<ExportLine> {
    const counts = { sessions: 0, messages: 0, actions: 0, secrets: 0 };
    await this.#options.audit.note(await this.#entry("user_exported", whose, by, {}));
    for await (const session of this.#sessions(whose)) {
      try {
        for await (const line of this.#linesOf(session)) {
          if (line.kind !== "done") counts[`${line.kind}s`] += 1;
          yield line;
        }
      } catch (error) {
        // Deleted in the meantime.
        if (!(error instanceof NotFound)) throw error;
      }
    }
    for (const { app, name } of await this.#secretsOf(whose)) {
      counts.secrets += 1;
      yield { kind: "secret", app, name };
    }
    yield { kind: "done", ...counts };
  }

  /**
   * Deletes all sessions and secrets, and the salt of the user's pseudonym in the audit trail. After a
   * partial failure, call it again.
   * @throws Unavailable 503 `not_purged` if the write-ahead log may still contain deleted text
   */
  async erase(whose: SessionsOf, by: Actor): Promise<Erased> {
    const { store } = this.#options;
    let [sessions, messages, secrets] = [0, 0, 0];
    for await (const { id, messageCount } of this.#sessions(whose)) {
      if (!(await this.#remove(id))) continue;
      sessions += 1;
      messages += messageCount;
    }
    const { owner } = whose;
    for (const app of new Set((await this.#secretsOf(whose)).map(({ app }) => app)))
      secrets += owner === null ? 0 : await store.secrets.remove(app, owner, null);
    const erased = { sessions, messages, secrets };
    const entry = await this.#entry("user_erased", whose, by, erased);
    await store.audit.endErasure(entry, owner);
    logAudit(this.#options.logger, [entry]);
    this.#log(whose);
    await this.#options.files.removeUnused();
    await this.#purges.run();
    return erased;
  }

  /**
   * Logs the erased user, whom the database no longer contains, so that `colloquy users erase-again` can
   * repeat the erasure after a restore of an older backup.
   */
  #log({ owner, publicKey, app }: SessionsOf): void {
    const { logger, clock } = this.#options;
    const at = new Date(clock.now()).toISOString();
    logger.warn(
      { erased: { at, owner, public_key: publicKey, app } },
      "a user was erased; keep this line as long as your backups",
    );
  }

  /** Returns false if the session was deleted in the meantime. */
  async #remove(id: string): Promise<boolean> {
    try {
      await this.#options.threads.remove(id, null);
      return true;
    } catch (error) {
      if (error instanceof NotFound) return false;
      throw error;
    }
  }

  async *#sessions(whose: SessionsOf): AsyncGenerator<HeldSession> {
    const { sessions } = this.#options.store;
    for (let after = 0, isEnd = false; !isEnd; ) {
      const held = await sessions.heldBy(whose, after, PORTION);
      yield* held;
      after = held.at(-1)?.key ?? after;
      isEnd = held.length < PORTION;
    }
  }

  async *#linesOf({ id, spelling, userState, publicKey }: HeldSession): AsyncGenerator<ExportLine> {
    const { store, threads } = this.#options;
    const thread = await threads.get(id, null);
    yield { kind: "session", session: { ...thread, user_state: userState, public_key: publicKey } };
    for (let after: string | null = null, isEnd = false; !isEnd; ) {
      const page = await threads.messages(id, after, LISTED, null);
      for (let last = after, records = await page.read(last); records.length > 0; ) {
        for (const record of records) yield { kind: "message", message: record };
        last = records.at(-1)?.id ?? null;
        records = await page.read(last);
      }
      after = page.next;
      isEnd = after === null;
    }
    for (const action of (await store.actions.list(id, LISTED)) ?? [])
      yield { kind: "action", session_id: spelling, action: toWireAction(action) };
  }

  async #secretsOf({ owner, app }: SessionsOf): Promise<readonly { app: string; name: string }[]> {
    if (owner === null) return [];
    const slots = await this.#options.store.secrets.ofClient(owner);
    return slots.filter((slot) => app === null || slot.app === app);
  }

  /** Writes the audit entry. It contains the user's pseudonym, whose salt the erasure removes, and no wallet address. */
  async #entry(
    action: "user_erased" | "user_exported",
    { owner, app }: SessionsOf,
    by: Actor,
    counts: Partial<Erased>,
  ): Promise<AuditEntry> {
    const target = owner === null ? null : await this.#options.audit.subjectOf(owner);
    return { action, actor: by, app, target, details: { ...counts } };
  }
}
