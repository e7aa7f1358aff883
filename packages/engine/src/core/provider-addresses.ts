/** Base URLs of the model providers' own servers, by kind. */
export const PROVIDER_URLS = {
  openai: "https://api.openai.com/v1",
  anthropic: "https://api.anthropic.com/v1",
  google: "https://generativelanguage.googleapis.com/v1beta",
} as const;
