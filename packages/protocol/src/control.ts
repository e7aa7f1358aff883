import { z } from "zod";

export const SetModelResult = z.object({
  success: z.boolean(),
  rig: z.string().meta({ description: "Current model" }),
  baml: z.string().meta({ description: "The utility model (titles, summaries) in force" }),
  created: z.boolean().meta({ description: "true when this call created the session" }),
});
export type SetModelResult = z.infer<typeof SetModelResult>;

export const ModelList = z.array(z.string());

export const SecretSlot = z.object({ name: z.string(), description: z.string(), required: z.boolean() });
export type SecretSlot = z.infer<typeof SecretSlot>;

export const ToolProblem = z.object({
  name: z.string().meta({ description: "The source, such as `mcp weather`" }),
  problem: z.string().meta({ description: "Why its tools are missing, as a sentence without addresses" }),
});
export type ToolProblem = z.infer<typeof ToolProblem>;

export const AppDescriptor = z.object({
  name: z.string(),
  secrets: z.array(SecretSlot).optional(),
  suggestions: z
    .array(z.string())
    .optional()
    .meta({ description: "First messages to offer in an empty conversation; absent if there are none" }),
  on_busy: z
    .enum(["reject", "interrupt", "steer"])
    .optional()
    .meta({ description: "Effect of a message while the assistant works; absent if it waits for its turn" }),
  tool_problems: z
    .array(ToolProblem)
    .optional()
    .meta({ description: "Sources whose tools cannot be used now; absent if there are none" }),
});
export type AppDescriptor = z.infer<typeof AppDescriptor>;

export const Branding = z.object({
  name: z.string().optional(),
  logo: z.string().optional().meta({ description: "An https URL, or a path of the service's host" }),
  greeting: z.string().optional(),
  accent: z.string().optional().meta({ description: "`#rrggbb`" }),
  favicon: z.string().optional().meta({ description: "As for `logo`" }),
  images: z
    .object({
      hosts: z.array(z.string()).optional().meta({ description: "Hosts whose images are loaded over https" }),
      proxy: z
        .string()
        .optional()
        .meta({ description: "https URL for other images; `{url}` stands for the image's encoded URL" }),
    })
    .optional()
    .meta({ description: "Images in answers that pages load; none when absent" }),
});
export type Branding = z.infer<typeof Branding>;

export const PageSignIn = z.object({
  issuer: z.string(),
  client_id: z.string(),
  scope: z.string(),
  parameters: z
    .record(z.string(), z.string())
    .meta({ description: "Further parameters of the authorization request" }),
  token: z
    .enum(["access_token", "id_token"])
    .meta({ description: "The token to send: the one whose `aud` is the audience of the App" }),
  provider: z
    .object({
      authorization_endpoint: z.string(),
      token_endpoint: z.string(),
      end_session_endpoint: z.string().optional(),
      id_token_signing_alg_values_supported: z.array(z.string()).optional(),
      authorization_response_iss_parameter_supported: z.boolean().optional(),
    })
    .nullable()
    .meta({ description: "From the issuer's discovery document; `null` while that cannot be read" }),
});
export type PageSignIn = z.infer<typeof PageSignIn>;

export const Page = z.object({
  app: z.string(),
  branding: Branding,
  wallets: z
    .boolean()
    .meta({ description: "true where the service has chains, or an App demands proof of a wallet" }),
  guide: z.boolean().meta({ description: "true if the service has the guide, at `/guide/`" }),
  requires_sign_in: z.boolean(),
  has_approvers: z.literal(true).optional().meta({
    description: "The App has approvers; absent if it has none",
  }),
  sign_in: PageSignIn.nullable().meta({ description: "null if the console cannot sign users of the App in" }),
  operator_sign_in: PageSignIn.nullable().meta({ description: "The same for operators" }),
});
export type Page = z.infer<typeof Page>;
