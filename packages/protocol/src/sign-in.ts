import { z } from "zod";
import { Timestamp } from "./timestamp.ts";

/** A token that proves wallets. */
export const WalletToken = z.object({
  token: z.string().meta({ description: "Bearer token" }),
  expires_at: Timestamp,
  expires_in: z
    .number()
    .int()
    .min(0)
    .meta({ description: "Seconds until it expires, for clients whose clock is wrong" }),
  wallets: z.array(z.string()).meta({ description: "Addresses that it holds, in lower case" }),
});
export type WalletToken = z.infer<typeof WalletToken>;
