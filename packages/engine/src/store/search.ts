// The search index of messages. Triggers in both databases queue ended messages and drop removed ones,
// because nodes of the previous version do not know the index, and imports write rows directly (migration
// 0006).

import { createHash } from "node:crypto";
import {
  type FoundPart,
  type IndexedBatch,
  INDEXED_BYTES,
  type SearchQuery,
  type SearchStore,
} from "../core/ports/driven/search-store.ts";
import { type IndexedWord, partsOf } from "../core/search-text.ts";
import { hiddenFrom } from "../core/session-access.ts";
import { DEFAULT_APP } from "../core/session.ts";
import { addressOf } from "../core/wallet-id.ts";
import {
  change,
  inList,
  look,
  type On,
  prepare,
  read,
  type SharedPort,
  type Value,
  type Work,
} from "./shared.ts";

/** Maximum parts of removed messages that a batch deletes from SQLite's index, at two milliseconds each. */
const REMOVED = 16;
/** Maximum candidates that a search compares in each scope before it uses the index. */
const NEWEST = 500;
/** Maximum jobs and messages of a batch. In SQLite, other changes wait for a batch, for about 3 ms. */
const [JOBS, MESSAGES] = [32, 32];
/** Number of places per millisecond. Further messages take places of the next one. */
const PLACES = 1024;
/** Key of the advisory lock of the node that is indexing; an arbitrary number that nothing else uses. */
const LOCK = 7_236_501_916;

interface IndexedSession {
  readonly key: number;
  readonly owned_by: string | null;
  readonly public_key: string | null;
}

/**
 * Returns the prefix of a session's words in the index. Sessions of one owner or one wallet share a scope,
 * and a search reads one scope at a time. Scopes of two owners may collide: a scope narrows a search, but
 * grants no access.
 */
function scopeOf({ key, owned_by: owner, public_key: wallet }: IndexedSession): string {
  if (owner !== null) return scopeOfOwner(owner);
  return wallet === null ? `k${key.toString(36)}` : scopeOfWallet(wallet);
}

const scopeOfOwner = (owner: string) => `o${shortHash(owner)}`;
const scopeOfWallet = (address: string) => `w${shortHash(address)}`;

function shortHash(text: string): string {
  return createHash("sha256").update(text).digest().readUInt32BE().toString(36);
}

interface JobRow {
  readonly id: number;
  readonly session_key: number;
  readonly first: number;
  readonly last: number;
}

interface MessageRow {
  readonly position: number;
  /** Milliseconds since the Unix epoch. */
  readonly created_at: number;
  readonly content: string;
  readonly bytes: number;
}

const lock = prepare<[], { readonly taken: number }>(
  (on) =>
    on.sqlite("SELECT 1 AS taken") +
    on.postgres(`SELECT 1 AS taken WHERE pg_try_advisory_xact_lock(${LOCK})`),
);
const newJobs = prepare<[number], JobRow>(
  `SELECT id, session_key, first, last FROM search_jobs WHERE backlog = 0 ORDER BY id LIMIT $1`,
);
const oldJobs = prepare<[number], JobRow>(
  `SELECT id, session_key, first, last FROM search_jobs WHERE backlog = 1 ORDER BY id DESC LIMIT $1`,
);
// The lock excludes commands that remove messages while they are indexed. SKIP LOCKED: never wait for such a
// command.
const lockSessions = prepare<[readonly number[]], IndexedSession>(
  (on) =>
    `SELECT key, owned_by, public_key FROM sessions WHERE key ${inList(on, "$1", "bigint")} ${on.postgres("FOR UPDATE SKIP LOCKED")}`,
);
const removedDocs = prepare<[number], { readonly doc: number }>(
  (on) =>
    on.sqlite("SELECT doc FROM search_documents WHERE removed = 1 LIMIT $1") +
    on.postgres("SELECT doc FROM search_documents WHERE $1::integer < 0"),
);
const deleteDocs = prepare<[readonly number[]]>(
  (on) => `DELETE FROM search_documents WHERE doc ${inList(on, "$1", "bigint")}`,
);
// In SQLite, the words of several parts are written and deleted by one statement. FTS5 writes a segment for each
// statement that reads other tables, also for those of a trigger, so one for each part would take twice as long.
const addWords = prepare<[readonly number[]]>(
  (on) =>
    on.sqlite(
      "INSERT INTO search_index (rowid, words) SELECT doc, words FROM search_texts WHERE doc IN (SELECT value FROM json_each($1))",
    ) + on.postgres("SELECT WHERE $1::bigint[] IS NULL"),
);
const deleteWords = prepare<[readonly number[]]>(
  (on) =>
    on.sqlite(
      "INSERT INTO search_index (search_index, rowid, words) SELECT 'delete', doc, words FROM search_texts WHERE doc IN (SELECT value FROM json_each($1))",
    ) + on.postgres("SELECT WHERE $1::bigint[] IS NULL"),
);
const nextMessage = prepare<[key: number, from: number, to: number], MessageRow>(
  (on) => `SELECT position, created_at, content, octet_length(content) AS bytes FROM messages m
   WHERE session_key = $1 AND position >= $2::bigint AND position <= $3::bigint AND status <> 'streaming' AND content <> ''
     AND NOT EXISTS (SELECT 1 FROM search_documents d
       WHERE d.session_key = m.session_key AND d.position = m.position ${on.sqlite("AND d.removed = 0")})
   ORDER BY position LIMIT 1`,
);
/** SQLite's view `search_texts` contains the same words. */
const LEXEMES =
  "array_to_tsvector(string_to_array($7 || '_' || replace($8, ' ', ' ' || $7 || '_'), ' ') || ('s' || $3::bigint::text))";
const insert = prepare<
  [
    doc: number,
    messageDoc: number,
    key: number,
    position: number,
    start: number,
    length: number,
    scope: string,
    words: string,
  ]
>(
  (on) => `INSERT INTO search_documents (doc, message_doc, session_key, position, start, length, scope, words)
   VALUES ($1, $2, $3, $4, $5, $6, $7, ${on.sqlite("$8")}${on.postgres(LEXEMES)})
   ON CONFLICT (doc) DO NOTHING`,
);
const lastPlace = prepare<[from: number, below: number], { readonly doc: number | null }>(
  "SELECT max(doc) AS doc FROM search_documents WHERE doc >= $1 AND doc < $2",
);
const deleteJobs = prepare<[readonly number[]]>(
  (on) => `DELETE FROM search_jobs WHERE id ${inList(on, "$1", "bigint")}`,
);
const shorten = prepare<[number, number]>("UPDATE search_jobs SET first = $2 WHERE id = $1");

function* addBatch(): Work<IndexedBatch> {
  if ((yield* lock.get()) === undefined) return { messages: 0, removed: 0, hasMore: false };
  const removed = yield* removeDocs();
  const fresh = yield* newJobs.all(JOBS);
  const jobs = fresh.length < JOBS ? [...fresh, ...(yield* oldJobs.all(JOBS - fresh.length))] : fresh;
  if (jobs.length === 0) return { messages: 0, removed, hasMore: removed === REMOVED };
  const keys = [...new Set(jobs.map(({ session_key: key }) => key))];
  const sessions = new Map((yield* lockSessions.all(keys)).map((session) => [session.key, session]));
  const done: number[] = [];
  const added: number[] = [];
  let [messages, bytes] = [0, 0];
  let hasMore = removed === REMOVED || (jobs.length === JOBS && sessions.size > 0);
  for (const { id, session_key: key, first, last } of jobs) {
    const session = sessions.get(key);
    if (session === undefined) continue;
    let next: number | null = first;
    while (next !== null && messages < MESSAGES && bytes < INDEXED_BYTES) {
      const row: MessageRow | undefined = yield* nextMessage.get(key, next, last);
      if (row === undefined) next = null;
      else {
        // Leave a long message to the next batch.
        if (bytes > 0 && bytes + row.bytes > INDEXED_BYTES) break;
        added.push(...(yield* add(session, row)));
        messages += 1;
        bytes += row.bytes;
        next = row.position < last ? row.position + 1 : null;
      }
    }
    if (next === null) done.push(id);
    else {
      hasMore = true;
      if (next > first) yield* shorten.run(id, next);
      break;
    }
  }
  if (added.length > 0) yield* addWords.run(added);
  if (done.length > 0) yield* deleteJobs.run(done);
  return { messages, removed, hasMore };
}

/** Deletes some parts of removed messages, and returns how many. */
function* removeDocs(): Work<number> {
  const docs = (yield* removedDocs.all(REMOVED)).map(({ doc }) => doc);
  if (docs.length === 0) return 0;
  yield* deleteWords.run(docs);
  return yield* deleteDocs.run(docs);
}

/** Adds the parts of a message. The first part gets the highest place, so searches find it first. Returns the places. */
function* add(session: IndexedSession, { position, created_at: at, content }: MessageRow): Work<number[]> {
  const docs: number[] = [];
  const scope = scopeOf(session);
  let doc = yield* freePlace(at * PLACES);
  let first: number | null = null;
  for (const { start, length, words } of [...partsOf(content)].toReversed()) {
    const text = words.join(" ");
    while ((yield* insert.run(doc, first ?? doc, session.key, position, start, length, scope, text)) === 0) {
      doc += 1;
    }
    first ??= doc;
    docs.push(doc);
    doc += 1;
  }
  return docs;
}

/**
 * Returns the place after the last one of a moment, or of the first later moment with a free place: messages of one
 * commit have the same time, and looking for a free place one by one would be quadratic.
 */
function* freePlace(from: number): Work<number> {
  for (let start = from; ; start += PLACES) {
    const last = (yield* lastPlace.get(start, start + PLACES))?.doc ?? null;
    if (last === null) return start;
    if (last < start + PLACES - 1) return last + 1;
  }
}

interface FoundRow {
  readonly place: number;
  readonly message_place: number;
  readonly session_id: string;
  readonly title: string;
  readonly message_id: string;
  readonly role: FoundPart["role"];
  readonly created_at: number;
  readonly text: string;
}

/** Parameters of every search. `patterns` have the words for SQLite. */
type Words = [
  match: string,
  before: number,
  limit: number,
  candidates: string,
  scope: string,
  patterns: readonly string[],
];

/**
 * Translates a condition from PostgreSQL's syntax to SQLite's. Words never contain these characters
 * (`wordsIn`).
 */
function matchOf(parameter: string): string {
  return `replace(replace(replace(${parameter}, '''', '"'), ':*', '*'), '&', 'AND')`;
}

const PART = ["doc", "message_doc", "session_key", "position", "start", "length", "words"];

/** Selects parts by index. CROSS JOIN preserves the order of the index, which is by place. */
function indexedParts(on: On): string {
  return (
    on.sqlite(
      `search_index CROSS JOIN search_documents d ON d.doc = search_index.rowid CROSS JOIN sessions s ON s.key = d.session_key
       WHERE search_index MATCH ${matchOf("$1")} AND search_index.rowid < $2 AND d.removed = 0`,
    ) +
    // OFFSET 0 is an optimization fence: the planner might otherwise scan most of the table in result order.
    on.postgres(
      `(SELECT ${PART.join(", ")} FROM search_documents WHERE words @@ $1::tsquery AND doc < $2 OFFSET 0) AS d
       JOIN sessions s ON s.key = d.session_key
       WHERE $4::text IS NOT NULL AND $5::text IS NOT NULL AND $6::text[] IS NOT NULL`,
    )
  );
}

/**
 * Selects the newest parts of a scope. In SQLite, only those with the words of `candidates`, which are not
 * prefixes; all if it is empty.
 */
function candidatesOf(on: On, hasWords: boolean, before: string, candidates: string, scope: string): string {
  if (hasWords && on.sqlite("sqlite") !== "")
    return `SELECT ${PART.map((column) => `d.${column}`).join(", ")}
       FROM search_index CROSS JOIN search_documents d ON d.doc = search_index.rowid
       WHERE search_index MATCH ${matchOf(candidates)} AND search_index.rowid < ${before} AND d.removed = 0 AND ${scope} IS NOT NULL
       ORDER BY search_index.rowid DESC LIMIT ${NEWEST}`;
  return `SELECT ${PART.join(", ")} FROM search_documents ${on.sqlite("INDEXED BY search_documents_by_scope")}
     WHERE scope = ${scope}::text AND doc < ${before} ${on.sqlite("AND removed = 0")} ${on.postgres(`AND ${candidates}::text IS NOT NULL`)}
     ORDER BY doc DESC LIMIT ${NEWEST}`;
}

/** Selects the candidates with all words. */
function comparedParts(hasWords: boolean) {
  return (on: On): string => `(${candidatesOf(on, hasWords, "$2", "$4", "$5")}) AS d
     ${on.sqlite("CROSS")} JOIN sessions s ON s.key = d.session_key
     WHERE ${on.sqlite("NOT EXISTS (SELECT 1 FROM json_each($6) AS w WHERE instr(' ' || d.words || ' ', w.value) = 0)")}
       ${on.postgres("d.words @@ $1::tsquery AND $6::text[] IS NOT NULL")}`;
}

function countCandidates(hasWords: boolean) {
  return prepare<[before: number, candidates: string, scope: string], { readonly n: number }>(
    (on) => `SELECT count(*) AS n FROM (${candidatesOf(on, hasWords, "$1", "$2", "$3")}) AS c`,
  );
}
const counts = { ofScope: countCandidates(false), withWords: countCandidates(true) };

/** `where` restricts the sessions `s` and parts `d`. Reads the texts of returned parts only. */
function searchText(on: On, parts: (on: On) => string, where: string): string {
  return `SELECT f.doc AS place, f.message_doc AS message_place, coalesce(s.spelling, s.id) AS session_id, s.title,
     m.id AS message_id, m.role, m.created_at, substr(m.content, f.start + 1, f.length) AS text
   FROM (
     SELECT d.doc, d.message_doc, d.session_key, d.position, d.start, d.length FROM ${parts(on)} AND ${where}
     ORDER BY ${on.sqlite(parts === indexedParts ? "search_index.rowid" : "d.doc")}${on.postgres("d.doc")} DESC LIMIT $3
   ) AS f ${on.sqlite("CROSS")} JOIN sessions s ON s.key = f.session_key
     ${on.sqlite("CROSS")} JOIN messages m ON m.session_key = f.session_key AND m.position = f.position
   ORDER BY f.doc DESC`;
}

/** Returns the searches that compare candidates, and the one that uses the index. */
function prepareSearch<Who extends readonly Value[]>(where: (on: On) => string) {
  const search = (parts: (on: On) => string) =>
    prepare<[...Words, ...Who], FoundRow>((on) => searchText(on, parts, where(on)));
  return {
    ofScope: search(comparedParts(false)),
    withWords: search(comparedParts(true)),
    indexed: search(indexedParts),
  };
}

const ofSession = prepareSearch<[key: number]>(() => "d.session_key = $7::bigint");
const APP = `coalesce(s.app, '${DEFAULT_APP}')`;
// The lists of the user and of the user's proved wallets show the same sessions.
const ofUser = prepareSearch<
  [
    apps: readonly string[],
    owner: string,
    ownerApps: readonly string[],
    provedApps: readonly string[],
    wallets: readonly string[],
    addresses: readonly string[],
    walletApps: readonly string[],
  ]
>((on) => {
  const within = (value: string, parameter: string) => `${value} ${inList(on, parameter, "text")}`;
  return `${within(APP, "$7")}
     AND (s.owned_by IS NULL OR s.owned_by = $8 AND (s.app IS NULL OR ${within("s.app", "$9")}))
     AND (s.wallet_id IS NULL OR NOT ${within(APP, "$10")} OR ${within("s.wallet_id", "$11")})
     AND (s.owned_by = $8 OR ${within("s.public_key", "$12")} AND ${within(APP, "$13")})`;
});
const searchedSession = prepare<[string], IndexedSession & { readonly app: string | null }>(
  "SELECT key, owned_by, public_key, app FROM sessions WHERE id = $1",
);
function* find(query: SearchQuery): Work<readonly FoundPart[]> {
  const { sessions } = query;
  if (sessions.kind === "session") {
    const session = yield* searchedSession.get(sessions.id);
    if (session === undefined) return [];
    if (hiddenFrom({ app: session.app, owner: session.owned_by }, sessions.access) !== null) return [];
    return yield* findIn(ofSession, query, scopeOf(session), [session.key], `s${session.key}`);
  }
  const { apps, provedApps = [], user } = sessions.access;
  const { owner, apps: ownerApps, wallets = [] } = user;
  const addresses = [...new Set(wallets.map(addressOf))];
  // As `provedWallets`: a wallet counts where it is proved.
  const walletApps = provedApps.filter((app) => ownerApps.includes(app));
  const scopes = new Set([scopeOfOwner(owner), ...addresses.map(scopeOfWallet)]);
  const who = [apps, owner, ownerApps, provedApps, wallets, addresses, walletApps] as const;
  const found: FoundPart[] = [];
  for (const scope of scopes) found.push(...(yield* findIn(ofUser, query, scope, [...who])));
  return found.toSorted((left, right) => right.place - left.place).slice(0, query.limit);
}

/**
 * `also` is a further index word that all parts must have. Before the first result, SQLite reads all entries
 * of a prefix, and PostgreSQL all parts with the words. A search therefore compares a bounded number of
 * candidates first, and uses the index only if they are not enough, which means that the words are rare.
 */
function* findIn<Who extends readonly Value[]>(
  searches: ReturnType<typeof prepareSearch<Who>>,
  { words, before: place, limit }: SearchQuery,
  scope: string,
  who: Who,
  also: string | null = null,
): Work<readonly FoundPart[]> {
  const before = place ?? Number.MAX_SAFE_INTEGER;
  const patterns = words.map(({ word, isPrefix }) => ` ${word}${isPrefix ? "" : " "}`);
  const whole = words.filter(({ isPrefix }) => !isPrefix);
  const hasWhole = whole.length > 0 || also !== null;
  const first = hasWhole ? matching(scope, whole, also) : "";
  const wanted: Words = [matching(scope, words, also), before, limit, first, scope, patterns];
  const candidates = hasWhole ? "withWords" : "ofScope";
  const found = yield* searches[candidates].all(...wanted, ...who);
  const isComplete =
    found.length === limit || ((yield* counts[candidates].get(before, first, scope))?.n ?? 0) < NEWEST;
  return (isComplete ? found : yield* searches.indexed.all(...wanted, ...who)).map(toFound);
}

/** Returns the condition on the words of a part, in PostgreSQL's syntax. */
function matching(scope: string, words: readonly IndexedWord[], also: string | null): string {
  const scoped = words.map(({ word, isPrefix }) => `'${scope}_${word}'${isPrefix ? ":*" : ""}`);
  return [...(also === null ? [] : [`'${also}'`]), ...scoped].join(" & ");
}

function toFound(row: FoundRow): FoundPart {
  return {
    place: row.place,
    messagePlace: row.message_place,
    sessionId: row.session_id,
    title: row.title,
    messageId: row.message_id,
    role: row.role,
    createdAt: row.created_at,
    text: row.text,
  };
}

const due = prepare<[], { readonly found: number }>(
  (on) => `SELECT 1 AS found WHERE EXISTS (SELECT 1 FROM search_jobs)
    ${on.sqlite("OR EXISTS (SELECT 1 FROM search_documents WHERE removed = 1)")}`,
);

export const search: SharedPort<SearchStore> = {
  isDue: look("search", function* () {
    return (yield* due.get()) !== undefined;
  }),
  index: change("search", () => addBatch()),
  find: read("search", (_at, query) => find(query)),
};
