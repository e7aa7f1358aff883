// Nodes that share a database must share the key that signs the tokens of wallets.

import { describe, expect, it } from "vitest";
import { loadConfig } from "../src/config/load-config.ts";
import { buildServer } from "../src/wiring/server.ts";
import { expectProblem, send } from "./black-box/client.ts";
import { isWithoutPostgres } from "./postgres-server.ts";
import { newAccount, SignIns } from "./sign-in-messages.ts";
import { usePostgres } from "./use-postgres.ts";

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

describe.skipIf(await isWithoutPostgres())("a node on PostgreSQL without COLLOQUY_SECRET_KEY", () => {
  const postgres = usePostgres();

  it("answers 503 to a wallet that signs in", async () => {
    const environment = {
      HOST: "127.0.0.1",
      PORT: "0",
      COLLOQUY_DATABASE_URL: postgres.url(await postgres.createDatabase()),
    };
    const loaded = await loadConfig({ environment, workingDirectory: import.meta.dirname });
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
    const onFatal = (error: Error): never => {
      throw error;
    };
    const server = await buildServer(loaded.config, { logger: SILENT, onFatal });
    const { url } = await server.listen();
    try {
      const wallets = new SignIns(url);
      const nonce = "0".repeat(60);
      const answer = await wallets.signIn(newAccount(), {}, { nonce });
      expect(expectProblem(answer, 503, "siwe_unavailable")).toContain("no master key");
      expectProblem(await send(url, "POST", "/api/auth/siwe/nonce"), 503, "siwe_unavailable");
    } finally {
      await server.stop({ graceMs: 0 });
    }
  });
});
