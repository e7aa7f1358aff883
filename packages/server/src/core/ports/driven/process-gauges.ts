/** What is in this process at the moment. */
export interface ProcessGauges {
  liveSessions(): number;
  /** Bytes. */
  snapshotBytes(): number;
  openStreams(): number;
  runningTurns(): number;
}
