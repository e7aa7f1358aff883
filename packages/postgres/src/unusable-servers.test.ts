// Servers that a store refuses to start on: a standby, and one with a certificate of an own authority.

import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isWithout } from "../../server/test/programs.ts";
import { isWithoutPostgres } from "../../server/test/postgres-server.ts";
import { useOwnPostgres } from "../../server/test/use-postgres.ts";
import { examinePostgres } from "./inspection.ts";
import { openPostgresStore } from "./open.ts";
import { refusingToStart } from "./server-check.ts";

const run = promisify(execFile);
const start = (url: string) => refusingToStart(() => openPostgresStore({ url }));

describe.skipIf((await isWithoutPostgres()) || (await isWithout("openssl")))("a server", () => {
  const server = useOwnPostgres();
  let folder = "";
  beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), "colloquy-authority-"))));
  afterAll(() => rm(folder, { recursive: true }));

  it("is refused when it is a standby, and the doctor says the same", async () => {
    const url = server.url(await server.createDatabase());
    await (await start(url)).close();
    await server.halt();
    const signal = join(server.folder, "data/standby.signal");
    await writeFile(signal, "");
    await server.give(signal);
    await server.resume();
    await expect(start(url)).rejects.toThrow(
      "The database is a standby and accepts no writes. Point COLLOQUY_DATABASE_URL at the primary, or promote this server.",
    );
    expect((await examinePostgres(url, Date.now)).findings[0]).toMatchObject({
      health: "broken",
      found: expect.stringContaining("is a standby") as string,
    });
    await server.halt();
    await rm(signal);
    await server.resume();
  });

  it("is refused with the way out when its certificate is of an own authority", async () => {
    const [certificate, key] = [join(folder, "ca.pem"), join(server.folder, "key.pem")];
    const files = ["-keyout", key, "-out", certificate];
    const names = ["-subj", "/CN=db", "-addext", "subjectAltName=IP:127.0.0.1"];
    await run("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", ...files, ...names]);
    const served = join(server.folder, "certificate.pem");
    await run("cp", [certificate, served]);
    await Promise.all([server.give(key), server.give(served)]);
    const settings = { ssl: "on", ssl_cert_file: served, ssl_key_file: key };
    for (const [name, value] of Object.entries(settings))
      await server.query("postgres", `ALTER SYSTEM SET ${name} = '${value}'`);
    await server.halt();
    await server.resume();
    const url = server.url(await server.createDatabase());
    const remedy =
      /certificate is not trusted: self-signed certificate\. sslmode=require checks .*sslrootcert=/;
    await expect(start(`${url}?sslmode=require`)).rejects.toThrow(remedy);
    expect((await examinePostgres(`${url}?sslmode=require`, Date.now)).findings[0]).toMatchObject({
      found: "The database's certificate is not trusted: self-signed certificate.",
      mend: expect.stringContaining("sslrootcert=/path/ca.pem") as string,
    });
    await (await start(`${url}?sslmode=verify-full&sslrootcert=${certificate}`)).close();
    await expect(
      start(`${url.replace("127.0.0.1", "localhost")}?sslmode=verify-full&sslrootcert=${certificate}`),
    ).rejects.toThrow(/Use one of the certificate's names/);
  });
});
