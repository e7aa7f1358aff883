import { describe, expect, it } from "vitest";
import { readSystemCalls } from "./system-calls.ts";

const SOCKET = "TCP:[127.0.0.1:8080->127.0.0.1:40000]";

describe("readSystemCalls", () => {
  it("returns writes with their bytes and offset", () => {
    expect(readSystemCalls('12 pwrite64(22</d/a.db-wal>, "a\\0\\33\\n\\"\\\\\\3779", 8, 32) = 8')).toEqual([
      { kind: "write", path: "/d/a.db-wal", offset: 32, data: Buffer.from([97, 0, 27, 10, 34, 92, 255, 57]) },
    ]);
    expect(readSystemCalls("12 ftruncate(21</d/a.db>, 8192) = 0")).toEqual([
      { kind: "truncate", path: "/d/a.db", length: 8192 },
    ]);
    expect(readSystemCalls('12 unlink("/d/a.db-journal")   = 0')).toEqual([
      { kind: "remove", path: "/d/a.db-journal" },
    ]);
  });

  it("returns start and end of a sync in order, whatever comes between", () => {
    const log = [
      "12 fsync(22</d/a.db-wal> <unfinished ...>",
      '13 write(30<TCP:[127.0.0.1:8080->127.0.0.1:40000]>, "HTTP/1.1 200", 12) = 12',
      "12 <... fsync resumed>)             = 0",
      "12 fdatasync(22</d/a.db-wal>)       = -1 EIO (Input/output error)",
    ].join("\n");
    expect(readSystemCalls(log).map(({ kind }) => kind)).toEqual([
      "sync begins",
      "sent",
      "sync ends",
      "sync begins",
    ]);
  });

  it("returns received bytes on completion, and sent bytes when handed over", () => {
    const log = [
      `13 read(30<${SOCKET}>,  <unfinished ...>`,
      '12 pwrite64(22</d/a.db-wal>, "x", 1, 0 <unfinished ...>',
      '13 <... read resumed>"POST /", 65536) = 6',
      "12 <... pwrite64 resumed>)          = 1",
      `13 writev(30<${SOCKET}>, [{iov_base="HTTP\\r\\n", iov_len=6}, {iov_base="{}", iov_len=2}], 2) = 8`,
      '13 read(31</etc/hosts>, "local", 5) = 5',
      '13 write(1<pipe:[5]>, "log", 3) = 3',
    ].join("\n");
    expect(
      readSystemCalls(log).map((event) => [event.kind, "data" in event ? event.data.toString() : ""]),
    ).toEqual([
      ["write", "x"],
      ["received", "POST /"],
      ["sent", "HTTP\r\n{}"],
    ]);
  });

  it("throws for truncated strings", () => {
    expect(() => readSystemCalls('12 pwrite64(22</d/a.db-wal>, "x"..., 10, 0) = 10')).toThrow("raise -s");
  });

  it("ignores everything else", () => {
    expect(readSystemCalls("12 +++ exited with 0 +++\n12 --- SIGCHLD {si_signo=SIGCHLD} ---\n\n")).toEqual(
      [],
    );
  });
});
