import { describe, expect, it } from "vitest";
import { splitMigration } from "./migrate.ts";

describe("a migration in two parts", () => {
  it("has its concurrent indexes after everything else", () => {
    const sql = [
      "ALTER TABLE a ADD COLUMN y integer;",
      "-- Why.",
      "CREATE INDEX CONCURRENTLY a_by_y ON a (y)",
      "  WHERE y > 0;",
      "CREATE INDEX a_by_x ON a (x);",
      "CREATE UNIQUE INDEX CONCURRENTLY a_by_z ON a (z);",
    ].join("\n");
    expect(splitMigration(sql)).toEqual({
      transaction: "ALTER TABLE a ADD COLUMN y integer;\n-- Why.\n\nCREATE INDEX a_by_x ON a (x);\n",
      indexes: [
        { name: "a_by_y", sql: "CREATE INDEX CONCURRENTLY a_by_y ON a (y)\n  WHERE y > 0;" },
        { name: "a_by_z", sql: "CREATE UNIQUE INDEX CONCURRENTLY a_by_z ON a (z);" },
      ],
    });
  });

  it("has no second part without concurrent indexes", () => {
    const sql = "-- Not CONCURRENTLY.\nCREATE TABLE a (x integer);\n";
    expect(splitMigration(sql)).toEqual({ transaction: sql, indexes: [] });
  });
});
