import { expect, it } from "vitest";
import { describeFileError } from "./file-error.ts";

const failing = (code: string) => Object.assign(new Error(`${code}: something, open '/x'`), { code });

it("names the path, the problem and the fix", () => {
  expect(describeFileError("/x", failing("EACCES"), "Do this.")).toBe(
    "/x cannot be used: this user has no right to it. Do this.",
  );
});

it("returns other messages unchanged", () => {
  expect(describeFileError("/x", failing("EIO"), "Do this.")).toBe(
    "/x cannot be used: EIO: something, open '/x'. Do this.",
  );
});
