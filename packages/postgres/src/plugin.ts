// The backend plugin. Imports the driver on first use.

import { z } from "zod";
import { defineBackend } from "@colloquy/engine/internal/core/plugins/backend";
import { isPlainText, urlProblem } from "./url.ts";

const load = async () => {
  const [{ openPostgresStore }, { refusingToStart }] = await Promise.all([
    import("./open.ts"),
    import("./server-check.ts"),
  ]);
  return { openPostgresStore, refusingToStart };
};

/** Pool size of a command. Leaves the server's connections to the running nodes. */
const COMMAND_CONNECTIONS = 2;

export const postgres = defineBackend({
  name: "postgresql",
  version: "0.1.0",
  settings: z.strictObject({
    url: z
      .string()
      .superRefine((text, { addIssue }) => {
        const message = urlProblem(text);
        if (message !== null) addIssue({ code: "custom", message });
      })
      .describe(
        "URL of the database, such as `postgres://user:password@db.example.com:5432/colloquy`. Keep it out of the file: `{{env.NAME}}`.",
      ),
    sharedLimits: z
      .boolean()
      .optional()
      .describe(
        "`false` lets each node allow the full rate limits, and saves two connections a node. By default, nodes count together.",
      ),
  }),
  check({ url }, { environment, nameOf, warn }) {
    if (!isPlainText(url, environment["PGSSLMODE"] ?? "")) return;
    warn(
      `${nameOf("url")} names another machine, and the connection is not encrypted: it carries conversations and, ` +
        "with some authentication methods, the password. Add ?sslmode=verify-full to the URL (docs/security.md).",
    );
  },
  async open({ url }, { role, logger, onServerChange }) {
    const { openPostgresStore, refusingToStart } = await load();
    if (role === "command")
      return await refusingToStart(() => openPostgresStore({ url, connections: COMMAND_CONNECTIONS }));
    const onStandbyWait = (problem: string | null): void => {
      if (problem === null) logger.info({}, "commits reach the synchronous standby again");
      else logger.error({}, problem);
    };
    const onWarning = (warning: string): void => logger.warn({}, warning);
    return await refusingToStart(() => openPostgresStore({ url, onStandbyWait, onServerChange, onWarning }));
  },
  nodes: {
    async identity({ url }) {
      const [{ databaseIdentity }, { refusingToStart }] = await Promise.all([
        import("./inspection.ts"),
        import("./server-check.ts"),
      ]);
      return await refusingToStart(() => databaseIdentity(url));
    },
    async transport({ url }, { cluster, clock, logger }) {
      const { PostgresTransport } = await import("./transport.ts");
      return new PostgresTransport({ url, channel: cluster, clock, logger });
    },
    remedy:
      "Notifications need a persistent connection: point COLLOQUY_DATABASE_URL at the server, not at a transaction-mode connection pool.",
    async counters({ url, sharedLimits }, { node, clock, logger }) {
      if (sharedLimits === false) return null;
      const { openRateCounters } = await import("./rate-counters.ts");
      return await openRateCounters({ url, node, timers: clock, logger });
    },
  },
  async examine({ url }, { clock }) {
    const { examinePostgres } = await import("./inspection.ts");
    return await examinePostgres(url, () => clock.now());
  },
  async withTables({ url }, { access }, work) {
    const [{ withPostgresTables }, { refusingToStart }] = await Promise.all([
      import("./tables.ts"),
      import("./server-check.ts"),
    ]);
    return await refusingToStart(() => withPostgresTables({ url, access }, work));
  },
});
