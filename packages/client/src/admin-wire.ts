// Wire types used only by the admin client; see wire.ts.

export type {
  AdminApp,
  AdminKey,
  AdminLatency,
  AdminLatencyRow,
  AdminOverview,
  AdminPercentiles,
  AdminSession,
  AdminSessionDetail,
  AdminSessionPage,
  AdminSessionStatus,
  AdminToolSource,
  AdminTurn,
  AdminTurnState,
  AdminUsage,
  AdminUsageRow,
  IssuedAdminKey,
  KeyScope,
} from "@colloquy/protocol";
