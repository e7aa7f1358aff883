/** Returns milliseconds on a monotonic clock shared by all processes of this machine. */
export function machineMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
