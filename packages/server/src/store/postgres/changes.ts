// Collects the drafts of one transaction by row: a row that two commands change is written once.

import type { ActionRecord } from "../../core/action.ts";
import type { Removal, SessionDraft } from "../../core/commands/draft.ts";
import { TITLE_LEASE_MS } from "../../core/commands/finish-title.ts";
import type { MessageRecord } from "../../core/message.ts";
import { DELETED_MS } from "../../core/session.ts";
import { LEASE_MS, type StepRecord, type TurnRecord } from "../../core/turn.ts";
import { auditRow } from "../audit.ts";
import type { Row } from "./bulk.ts";
import type { SessionState } from "./session-state.ts";

/** New and changed rows of one table. */
class ChangedRows<Record> {
  readonly #added = new Map<string, { readonly key: number; readonly record: Record }>();
  readonly #changed = new Map<string, { readonly key: number; readonly record: Record }>();

  add(key: number, number: number, record: Record): void {
    this.#added.set(`${key}/${number}`, { key, record });
  }

  change(key: number, number: number, record: Record): void {
    const place = `${key}/${number}`;
    const rows = this.#added.has(place) ? this.#added : this.#changed;
    rows.set(place, { key, record });
  }

  added(toRow: (key: number, record: Record) => Row): Row[] {
    return Array.from(this.#added.values(), ({ key, record }) => toRow(key, record));
  }

  changed(toRow: (key: number, record: Record) => Row): Row[] {
    return Array.from(this.#changed.values(), ({ key, record }) => toRow(key, record));
  }
}

/** Changes to the checkpointed text of one turn. */
interface StreamedText {
  readonly key: number;
  readonly turn: number;
  /** Pieces at this offset and beyond are removed. */
  from: number;
  pieces: { readonly offset: number; readonly text: string }[];
}

export class Changes {
  readonly sessions = new Map<number, { readonly state: SessionState; readonly at: number }>();
  readonly messages = new ChangedRows<MessageRecord>();
  readonly turns = new ChangedRows<TurnRecord>();
  readonly actions = new ChangedRows<ActionRecord>();
  readonly events: Row[] = [];
  readonly systemEvents: Row[] = [];
  readonly steps: { readonly key: number; readonly turn: number; readonly step: StepRecord }[] = [];
  readonly streamed = new Map<string, StreamedText>();
  /** Rows of leases by session; `null` for a released one. */
  readonly leases = new Map<number, Row | null>();
  /** When title jobs are due, by session; `null` for a job to delete. */
  readonly titles = new Map<number, number | null>();
  readonly usedKeys = new Map<string, Row>();
  readonly removed = new Set<number>();
  /** Ids of deleted sessions, with the time until which they count as deleted. */
  readonly deleted: Row[] = [];
  /**
   * Positions at which conversations are cut off, by session. The transaction contains no other command of
   * such a session.
   */
  readonly removals = new Map<number, Removal>();
  /** Numbers of the last removed events, by session. The transaction contains no other command of such a session. */
  readonly floors = new Map<number, number>();
  readonly audited: Row[] = [];

  /** Must be called before `SessionState.apply`. */
  add(state: SessionState, draft: SessionDraft): void {
    const { key } = state.session;
    for (const entry of draft.audited) this.audited.push(auditRow(draft.at, entry));
    if (draft.isRemoved) {
      this.removed.add(key);
      this.deleted.push([state.session.id, draft.at + DELETED_MS]);
      return;
    }
    if (draft.writesSession) this.sessions.set(key, { state, at: draft.at });
    for (const message of draft.addedMessages) this.messages.add(key, message.position, message);
    for (const message of draft.changedMessages.values())
      this.messages.change(key, message.position, message);
    for (const turn of draft.addedTurns) this.turns.add(key, turn.number, turn);
    for (const turn of draft.changedTurns.values()) this.turns.change(key, turn.number, turn);
    for (const action of draft.addedActions) this.actions.add(key, action.number, action);
    for (const action of draft.changedActions.values()) this.actions.change(key, action.number, action);
    if (draft.removal !== null) this.removals.set(key, draft.removal);
    if (draft.floor !== null) this.floors.set(key, draft.floor);
    const floor = draft.floor ?? 0;
    for (const [index, { number }] of draft.events.entries()) {
      if (number > floor) this.events.push([key, number, draft.at, draft.eventTexts[index] ?? ""]);
    }
    for (const { number, item } of draft.systemEvents) {
      this.systemEvents.push([key, number, JSON.stringify(item)]);
    }
    for (const turn of draft.obsoleteCheckpoints) this.#goBack(key, turn, 0);
    for (const { turn, step } of draft.addedSteps) this.steps.push({ key, turn, step });
    for (const { turn, offset, text } of draft.checkpoints) {
      this.#goBack(key, turn, offset).pieces.push({ offset, text });
    }
    for (const used of draft.usedKeys) {
      this.usedKeys.set(`${key}/${used.key}`, [key, used.key, used.digest, used.turn, used.at]);
    }
    if (draft.lease !== null) {
      const { lease } = draft;
      const row =
        lease.kind === "taken" ? [key, lease.owner, lease.epoch, draft.at, draft.at + LEASE_MS] : null;
      this.leases.set(key, row);
    }
    if (draft.wantsTitle) this.titles.set(key, draft.at + TITLE_LEASE_MS);
    else if (state.session.titleSource === "placeholder" && draft.session.titleSource !== "placeholder") {
      this.titles.set(key, null);
    }
  }

  #goBack(key: number, turn: number, offset: number): StreamedText {
    const place = `${key}/${turn}`;
    const streamed = this.streamed.get(place) ?? { key, turn, from: offset, pieces: [] };
    streamed.from = Math.min(streamed.from, offset);
    streamed.pieces = streamed.pieces.filter((piece) => piece.offset < offset);
    this.streamed.set(place, streamed);
    return streamed;
  }
}
