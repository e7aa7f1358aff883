// Reads the reports of Vitest's JSON reporter for .ci/run and scripts/test-all. Plain JavaScript: it also runs on an
// older Node, after a failed `npm ci`.
//
//   node scripts/test-reports.js left-out <report>    prints the files with skipped tests
//   node scripts/test-reports.js ran <report>         fails if no test passed
//   node scripts/test-reports.js check <report>       fails if any test was skipped, or none passed
//   node scripts/test-reports.js count <report>...    prints "N passed, N failed" for the tests of all reports, each test once

import { existsSync, readFileSync } from "node:fs";
import { relative } from "node:path";

/**
 * @typedef {{ name: string, status: string, assertionResults: { fullName: string, status: string }[] }} TestFile
 * @typedef {{ file: string, name: string, status: string }} Test
 */

/**
 * Returns the tests of a report; empty if the report was never written.
 *
 * @param {string} report
 * @returns {Test[]}
 */
function testsOf(report) {
  const text = existsSync(report) ? readFileSync(report, "utf8") : "";
  /** @type {TestFile[]} */
  const files = text === "" ? [] : JSON.parse(text).testResults;
  return files.flatMap(({ name, status, assertionResults }) => {
    const file = relative(process.cwd(), name);
    // A file that failed to load has no tests and counts as one failure.
    if (status === "failed" && assertionResults.length === 0) return [{ file, name: "", status }];
    return assertionResults.map((test) => ({ file, name: test.fullName, status: test.status }));
  });
}

/** @param {Test} test */
const isSkipped = ({ status }) => status !== "passed" && status !== "failed";

/** @type {Record<string, (...words: string[]) => void>} */
const commands = {
  "left-out"(report = "") {
    const skipped = testsOf(report).filter(isSkipped);
    for (const file of new Set(skipped.map((test) => test.file))) console.log(file);
  },
  ran(report = "") {
    const passed = testsOf(report).filter(({ status }) => status === "passed").length;
    console.log(`== ${passed} passed`);
    if (passed === 0) process.exitCode = 1;
  },
  check(report = "") {
    const skipped = testsOf(report).filter(isSkipped);
    for (const { file, name } of skipped) console.log(`skipped: ${file}: ${name}`);
    commands["ran"]?.(report);
    if (skipped.length > 0) process.exitCode = 1;
  },
  count(...reports) {
    let [passed, failed] = [0, 0];
    /** Tests that passed in an earlier report. */
    const seen = new Set();
    for (const report of reports) {
      // Names may repeat within a report.
      const tests = testsOf(report).map((test) => ({ ...test, id: `${test.file}\0${test.name}` }));
      failed += tests.filter(({ status }) => status === "failed").length;
      const now = tests.filter(({ status }) => status === "passed");
      passed += now.filter(({ id }) => !seen.has(id)).length;
      for (const { id } of now) seen.add(id);
    }
    console.log(`${passed} passed, ${failed} failed`);
  },
};

const [command = "", ...words] = process.argv.slice(2);
const perform = commands[command];
if (perform === undefined) throw new Error(`Unknown command "${command}".`);
perform(...words);
