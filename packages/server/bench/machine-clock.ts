/** Milliseconds on a clock that all processes of this machine have in common, and that never goes back. */
export function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
