// Error responses of real providers with their expected classification. Add reported bodies verbatim, with
// the report.

export interface ErrorBody {
  readonly provider: string;
  readonly status: number;
  /** JSON or verbatim text. */
  readonly body: object | string;
  readonly code: string;
  /** True only for conditions that the provider documents as transient. */
  readonly retryable: boolean;
  /** True if the provider may accept the plain form of the conversation. */
  readonly refusesHistory?: boolean;
  /** Expected part of the user-facing message, if it is more specific than the code. */
  readonly says?: string;
}

type Outcome = Omit<ErrorBody, "provider" | "status" | "body">;
type Row = readonly [provider: string, status: number, body: object | string, outcome: Outcome];

const HISTORY: Outcome = { code: "model_error", retryable: false, refusesHistory: true };
const TOOLS: Outcome = { code: "model_error", retryable: false, says: "does not accept tools" };
const REQUEST: Outcome = { code: "model_error", retryable: false, says: "colloquy doctor --models" };
const OVERFLOW: Outcome = { code: "model_context_overflow", retryable: false };
const AUTH: Outcome = { code: "model_auth", retryable: false };
const LIMITED: Outcome = { code: "model_rate_limited", retryable: true };
const QUOTA: Outcome = { code: "model_rate_limited", retryable: false, says: "no credit or quota left" };
const NOT_FOUND: Outcome = { code: "model_not_found", retryable: false };
const REFUSED: Outcome = { code: "model_refused", retryable: false };
const UNAVAILABLE: Outcome = { code: "model_unavailable", retryable: true };
const MEMORY: Outcome = {
  code: "model_unavailable",
  retryable: false,
  says: "does not fit into the memory",
};
const BROKEN_OFF: Outcome = { code: "model_unavailable", retryable: true, says: "broke off its answer" };
const TIMEOUT: Outcome = { code: "model_timeout", retryable: true };

const openai = (message: string, type = "invalid_request_error", code: string | null = null): object => ({
  error: { message, type, param: null, code },
});
const anthropic = (type: string, message: string): object => ({ type: "error", error: { type, message } });
const google = (code: number, status: string, message: string): object => ({
  error: { code, message, status },
});
const mistral = (message: string, type: string, code: string | null = null): object => ({
  object: "error",
  message,
  type,
  param: null,
  code,
});

const ROWS: readonly Row[] = [
  [
    "OpenAI",
    401,
    openai("Incorrect API key provided: sk-abc.", "invalid_request_error", "invalid_api_key"),
    AUTH,
  ],
  [
    "OpenAI",
    429,
    openai(
      "Rate limit reached for gpt-5 in organization org-x on tokens per min (TPM)",
      "tokens",
      "rate_limit_exceeded",
    ),
    LIMITED,
  ],
  [
    "OpenAI",
    429,
    openai(
      "You exceeded your current quota, please check your plan and billing details.",
      "insufficient_quota",
      "insufficient_quota",
    ),
    QUOTA,
  ],
  [
    "OpenAI",
    404,
    openai(
      "The model `gpt-9` does not exist or you do not have access to it.",
      "invalid_request_error",
      "model_not_found",
    ),
    NOT_FOUND,
  ],
  [
    "OpenAI",
    400,
    openai(
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
      "invalid_request_error",
      "context_length_exceeded",
    ),
    OVERFLOW,
  ],
  [
    "OpenAI",
    500,
    openai("The server had an error while processing your request. Sorry about that!", "server_error"),
    UNAVAILABLE,
  ],
  [
    "OpenAI",
    503,
    openai("The engine is currently overloaded, please try again later", "server_error"),
    UNAVAILABLE,
  ],
  [
    "OpenAI",
    400,
    openai("Invalid 'input[3].call_id': string too long. Expected a string with maximum length 64"),
    HISTORY,
  ],
  ["OpenAI", 400, openai("No tool output found for function call call_abc."), HISTORY],
  [
    "OpenAI",
    400,
    openai("Item 'rs_1' of type 'reasoning' was provided without its required following item."),
    HISTORY,
  ],
  ["OpenAI", 400, openai("The encrypted content gAAA could not be verified."), HISTORY],
  [
    "OpenAI",
    400,
    openai(
      "Invalid schema for function 'f': In context=(), object schema missing properties.",
      "invalid_request_error",
      "invalid_function_parameters",
    ),
    REQUEST,
  ],
  [
    "OpenAI",
    400,
    openai(
      "Unsupported parameter: 'max_tokens' is not supported with this model.",
      "invalid_request_error",
      "unsupported_parameter",
    ),
    REQUEST,
  ],
  [
    "OpenAI",
    400,
    openai("Unknown parameter: 'reasoning_effort'.", "invalid_request_error", "unknown_parameter"),
    REQUEST,
  ],

  ["Anthropic", 401, anthropic("authentication_error", "invalid x-api-key"), AUTH],
  [
    "Anthropic",
    403,
    anthropic("permission_error", "Your API key does not have permission to use the specified resource."),
    AUTH,
  ],
  ["Anthropic", 404, anthropic("not_found_error", "model: claude-9"), NOT_FOUND],
  [
    "Anthropic",
    413,
    anthropic("request_too_large", "Request exceeds the maximum allowed number of bytes"),
    OVERFLOW,
  ],
  [
    "Anthropic",
    429,
    anthropic(
      "rate_limit_error",
      "This request would exceed your organization's rate limit of 40,000 input tokens per minute",
    ),
    LIMITED,
  ],
  [
    "Anthropic",
    400,
    anthropic("invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
    QUOTA,
  ],
  ["Anthropic", 500, anthropic("api_error", "Internal server error"), UNAVAILABLE],
  ["Anthropic", 529, anthropic("overloaded_error", "Overloaded"), UNAVAILABLE],
  [
    "Anthropic",
    400,
    anthropic("invalid_request_error", "messages: text content blocks must contain non-whitespace text"),
    HISTORY,
  ],
  [
    "Anthropic",
    400,
    anthropic(
      "invalid_request_error",
      "messages.4: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01",
    ),
    HISTORY,
  ],
  [
    "Anthropic",
    400,
    anthropic(
      "invalid_request_error",
      "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ),
    HISTORY,
  ],
  [
    "Anthropic",
    400,
    anthropic("invalid_request_error", "tools.0.custom.input_schema: JSON schema is invalid."),
    REQUEST,
  ],

  ["Google", 400, google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."), AUTH],
  [
    "Google",
    403,
    google(
      403,
      "PERMISSION_DENIED",
      "Generative Language API has not been used in project 1 before or it is disabled.",
    ),
    AUTH,
  ],
  ["Google", 404, google(404, "NOT_FOUND", "models/gemini-9 is not found for API version v1beta"), NOT_FOUND],
  [
    "Google",
    429,
    google(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
    LIMITED,
  ],
  [
    "Google",
    503,
    google(503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    UNAVAILABLE,
  ],
  ["Google", 504, google(504, "DEADLINE_EXCEEDED", "The request timed out. Please try again."), TIMEOUT],
  [
    "Google",
    400,
    google(
      400,
      "INVALID_ARGUMENT",
      "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    ),
    OVERFLOW,
  ],
  [
    "Google",
    400,
    google(
      400,
      "INVALID_ARGUMENT",
      "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
    ),
    HISTORY,
  ],
  [
    "Google",
    400,
    google(400, "INVALID_ARGUMENT", "Function call is missing a thought_signature in functionCall parts."),
    HISTORY,
  ],
  [
    "Google",
    400,
    google(
      400,
      "INVALID_ARGUMENT",
      "Invalid JSON payload received. Unknown name \"$ref\" at 'tools[0].function_declarations[0]'",
    ),
    REQUEST,
  ],
  [
    "Google",
    400,
    google(400, "INVALID_ARGUMENT", "Function calling is not enabled for models/gemma-3-27b-it"),
    TOOLS,
  ],

  ["Mistral", 401, { detail: "Unauthorized" }, AUTH],
  ["Mistral", 400, mistral("Invalid model: mistral-9", "invalid_model", "1500"), NOT_FOUND],
  [
    "Mistral",
    429,
    mistral("Service tier capacity exceeded for this model.", "service_tier_capacity_exceeded", "3505"),
    LIMITED,
  ],
  [
    "Mistral",
    400,
    mistral(
      "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
      "invalid_request_message_order",
      "3230",
    ),
    HISTORY,
  ],
  [
    "Mistral",
    400,
    mistral("Unexpected role 'user' after role 'tool'", "invalid_request_message_order", "3230"),
    HISTORY,
  ],
  [
    "Mistral",
    400,
    mistral(
      "Tool call id was call_abc but must be a-z, A-Z, 0-9, with a length of 9.",
      "invalid_function_call",
      "3280",
    ),
    HISTORY,
  ],
  [
    "Mistral",
    422,
    {
      object: "error",
      message: {
        detail: [
          {
            type: "extra_forbidden",
            loc: ["body", "stream_options"],
            msg: "Extra inputs are not permitted",
            input: { include_usage: true },
          },
        ],
      },
      type: "invalid_request_error",
    },
    REQUEST,
  ],

  ["DeepSeek", 402, openai("Insufficient Balance", "unknown_error", "invalid_request_error"), QUOTA],
  [
    "DeepSeek",
    401,
    openai(
      "Authentication Fails, Your api key: ****abcd is invalid",
      "authentication_error",
      "invalid_request_error",
    ),
    AUTH,
  ],
  ["DeepSeek", 400, openai("Model Not Exist"), NOT_FOUND],
  ["DeepSeek", 400, openai("Content Exists Risk"), REFUSED],
  ["DeepSeek", 422, openai("messages[2]: missing field `content`"), HISTORY],
  [
    "DeepSeek",
    503,
    openai(
      "Service is too busy. We advise users to temporarily switch to alternative LLM API service providers.",
      "service_unavailable_error",
    ),
    UNAVAILABLE,
  ],

  [
    "Groq",
    429,
    openai(
      "Rate limit reached for model `llama-3.3-70b-versatile` in organization `org_x` on tokens per minute (TPM): Limit 6000",
      "tokens",
      "rate_limit_exceeded",
    ),
    LIMITED,
  ],
  [
    "Groq",
    413,
    openai(
      "Request too large for model `x` in organization `org_x` on tokens per minute (TPM): Limit 6000, Requested 9000",
      "tokens",
      "rate_limit_exceeded",
    ),
    OVERFLOW,
  ],
  ["Groq", 400, openai("response_format `json_schema` is not supported by this model"), REQUEST],
  [
    "Groq",
    400,
    openai("property 'messages.1' is unsupported: property 'reasoning_content' is unsupported"),
    { ...REQUEST, refusesHistory: true },
  ],
  ["Groq", 400, openai("json mode cannot be combined with tool/function calling"), REQUEST],
  [
    "Groq",
    404,
    openai(
      "The model `x` does not exist or you do not have access to it.",
      "invalid_request_error",
      "model_not_found",
    ),
    NOT_FOUND,
  ],
  [
    "Groq",
    498,
    openai("Flex tier capacity exceeded", "capacity_exceeded"),
    { code: "model_error", retryable: false },
  ],

  ["OpenRouter", 401, { error: { message: "No auth credentials found", code: 401 } }, AUTH],
  [
    "OpenRouter",
    402,
    { error: { message: "Insufficient credits. Add more using https://openrouter.ai/credits", code: 402 } },
    QUOTA,
  ],
  [
    "OpenRouter",
    404,
    {
      error: {
        message:
          "No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs",
        code: 404,
      },
    },
    TOOLS,
  ],
  ["OpenRouter", 400, { error: { message: "x/y is not a valid model ID", code: 400 } }, NOT_FOUND],
  [
    "OpenRouter",
    403,
    { error: { message: "Your input was flagged", code: 403, metadata: { reasons: ["moderation"] } } },
    REFUSED,
  ],
  ["OpenRouter", 502, { error: { message: "Provider returned error", code: 502 } }, UNAVAILABLE],
  ["OpenRouter", 408, { error: { message: "Request timed out", code: 408 } }, TIMEOUT],

  [
    "Azure",
    401,
    {
      error: { code: "401", message: "Access denied due to invalid subscription key or wrong API endpoint." },
    },
    AUTH,
  ],
  [
    "Azure",
    404,
    {
      error: { code: "DeploymentNotFound", message: "The API deployment for this resource does not exist." },
    },
    NOT_FOUND,
  ],
  [
    "Azure",
    400,
    {
      error: {
        message:
          "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        type: null,
        param: "prompt",
        code: "content_filter",
        status: 400,
        innererror: { code: "ResponsibleAIPolicyViolation" },
      },
    },
    REFUSED,
  ],
  [
    "Azure",
    429,
    {
      error: {
        code: "429",
        message:
          "Requests to the ChatCompletions_Create Operation under Azure OpenAI API have exceeded token rate limit.",
      },
    },
    LIMITED,
  ],

  [
    "xAI",
    400,
    {
      code: "Client specified an invalid argument",
      error: "Incorrect API key provided: xa***. You can obtain an API key from https://console.x.ai.",
    },
    AUTH,
  ],
  [
    "xAI",
    400,
    {
      code: "Client specified an invalid argument",
      error: "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
    },
    OVERFLOW,
  ],
  [
    "xAI",
    429,
    {
      code: "Some resource has been exhausted",
      error: "Your team has either used all available credits or reached its monthly spending limit.",
    },
    QUOTA,
  ],

  ["Ollama", 400, openai("registry.ollama.ai/library/gemma:2b does not support tools", "api_error"), TOOLS],
  ["Ollama", 404, openai('model "x" not found, try pulling it first', "api_error"), NOT_FOUND],
  ["Ollama", 500, openai("llama runner process has terminated: exit status 2", "api_error"), UNAVAILABLE],
  [
    "Ollama",
    503,
    openai("server busy, please try again.  maximum pending requests exceeded", "api_error"),
    UNAVAILABLE,
  ],

  ["LM Studio", 400, { error: "'response_format.type' must be 'json_schema' or 'text'" }, REQUEST],
  [
    "LM Studio",
    500,
    openai('Error rendering prompt with jinja template: "Conversation roles must alternate"'),
    HISTORY,
  ],
  [
    "LM Studio",
    400,
    {
      error:
        "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens",
    },
    OVERFLOW,
  ],

  [
    "vLLM",
    400,
    {
      object: "error",
      message: "Conversation roles must alternate user/assistant/user/assistant/...",
      type: "BadRequestError",
      code: 400,
    },
    HISTORY,
  ],
  [
    "vLLM",
    400,
    {
      object: "error",
      message: '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
      type: "BadRequestError",
      param: null,
      code: 400,
    },
    TOOLS,
  ],
  [
    "vLLM",
    404,
    { object: "error", message: "The model `x` does not exist.", type: "NotFoundError", code: 404 },
    NOT_FOUND,
  ],
  [
    "vLLM",
    400,
    {
      object: "error",
      message: "This model's maximum context length is 8192 tokens.",
      type: "BadRequestError",
      code: 400,
    },
    OVERFLOW,
  ],
  ["vLLM", 401, { error: "Unauthorized" }, AUTH],

  [
    "llama.cpp",
    500,
    {
      error: {
        code: 500,
        message: "Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/...",
        type: "server_error",
      },
    },
    HISTORY,
  ],
  [
    "llama.cpp",
    500,
    { error: { code: 500, message: "tools param requires --jinja flag", type: "server_error" } },
    TOOLS,
  ],
  [
    "llama.cpp",
    400,
    {
      error: {
        code: 400,
        message: "the request exceeds the available context size",
        type: "exceed_context_size_error",
        n_prompt_tokens: 9000,
        n_ctx: 4096,
      },
    },
    OVERFLOW,
  ],
  [
    "llama.cpp",
    503,
    { error: { code: 503, message: "Loading model", type: "unavailable_error" } },
    UNAVAILABLE,
  ],
  [
    "llama.cpp",
    501,
    {
      error: {
        code: 501,
        message: "This server does not support completions. Start it without --embedding",
        type: "not_supported_error",
      },
    },
    { code: "model_error", retryable: false },
  ],

  [
    "LiteLLM",
    400,
    openai(
      "litellm.UnsupportedParamsError: bedrock does not support parameters: ['tools'], for model=x.",
      "None",
    ),
    REQUEST,
  ],
  [
    "LiteLLM",
    429,
    openai("litellm.RateLimitError: AnthropicException - rate limited", "throttling_error"),
    LIMITED,
  ],
  ["LiteLLM", 401, openai("Authentication Error, Invalid proxy server token passed.", "auth_error"), AUTH],
  ["LiteLLM", 400, openai("litellm.ContextWindowExceededError: prompt is too long", "None"), OVERFLOW],

  [
    "DashScope",
    400,
    openai(
      "Input data may contain inappropriate content.",
      "data_inspection_failed",
      "data_inspection_failed",
    ),
    REFUSED,
  ],
  [
    "DashScope",
    400,
    openai("Access denied, please make sure your account is in good standing.", "Arrearage", "Arrearage"),
    QUOTA,
  ],

  ["a gateway", 502, "<html><h1>502 Bad Gateway</h1></html>", UNAVAILABLE],
  ["a gateway", 504, "upstream request timeout", TIMEOUT],
  ["a gateway", 405, "Method Not Allowed", { code: "model_error", retryable: false }],
  [
    "a gateway",
    409,
    { error: { message: "The model is loading" } },
    { code: "model_error", retryable: true },
  ],

  // anomalyco/opencode#13015
  ["Bedrock", 429, { message: "Too many tokens per day, please wait before trying again." }, LIMITED],
  ["Bedrock", 429, { message: "Too many tokens, please wait before trying again." }, LIMITED],
  // anomalyco/opencode#27519
  ["a gateway", 400, openai("tokens in request more than max tokens allowed"), OVERFLOW],
  // anthropics/claude-code#58367
  [
    "Anthropic",
    400,
    anthropic("invalid_request_error", "Output blocked by content filtering policy"),
    REFUSED,
  ],
  // anthropics/claude-code#38035
  [
    "Anthropic",
    400,
    anthropic(
      "invalid_request_error",
      "You have reached your specified API usage limits. You will regain access on 2026-04-01 at 00:00 UTC.",
    ),
    QUOTA,
  ],
  // anthropics/claude-code#44863
  [
    "Anthropic",
    429,
    anthropic("rate_limit_error", "Extra usage is required for long context requests."),
    QUOTA,
  ],
  // BeehiveInnovations/pal-mcp-server#178
  [
    "OpenAI",
    400,
    openai(
      "Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a different prompt: https://platform.openai.com/docs/guides/reasoning#advice-on-prompting",
      "invalid_request_error",
      "invalid_prompt",
    ),
    REFUSED,
  ],
  // zhayujie/CowAgent#2910
  ["Zhipu", 429, { error: { code: "1113", message: "余额不足或无可用资源包,请充值。" } }, QUOTA],
  // dirge-code/dirge#818
  [
    "Zhipu",
    429,
    {
      error: {
        code: "1308",
        message: "已达到 5\n小时的使用上限。您的限额将在 2026-08-25 07:41:44 重置。",
      },
    },
    QUOTA,
  ],
  // continuedev/continue#11600
  [
    "Moonshot",
    400,
    openai("thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"),
    { ...REQUEST, refusesHistory: true },
  ],
  // charmbracelet/crush#2754
  [
    "DeepSeek",
    400,
    openai(
      "Error from provider (DeepSeek): The `reasoning_content` in the thinking mode must be passed back to the API.",
      "invalid_request_error",
      "invalid_request_error",
    ),
    { ...REQUEST, refusesHistory: true },
  ],
  // MoonshotAI/kimi-code#207, #476
  ["Moonshot", 400, openai("Invalid request: Your request exceeded model token limit: 8192"), OVERFLOW],
  ["Moonshot", 400, openai("total message size 10176584 exceeds limit 2097152"), OVERFLOW],
  // continuedev/continue#12795
  [
    "Ollama",
    500,
    openai("model requires more system memory (7.5 GiB) than is available (5.2 GiB)", "api_error"),
    MEMORY,
  ],
  // ggml-org/llama.cpp#25510
  [
    "llama.cpp",
    500,
    {
      error: {
        code: 500,
        message:
          "Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] parse error at line 1, column 2: syntax error while parsing object key - unexpected end of input; expected string literal",
        type: "server_error",
      },
    },
    HISTORY,
  ],
  // huggingface/smolagents#1119, pipecat-ai/pipecat#1168
  [
    "Groq",
    400,
    {
      error: {
        message:
          "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
        type: "invalid_request_error",
        code: "tool_use_failed",
        failed_generation: 'web_search{"query": "SPFMV", "filter_year": 2016}</function>',
      },
    },
    BROKEN_OFF,
  ],
  // lmstudio-ai/lmstudio-bug-tracker#1347
  [
    "LM Studio",
    400,
    { error: "The model has crashed without additional information. (Exit code: 18446744072635812000)" },
    UNAVAILABLE,
  ],
  // charmbracelet/crush#2546
  [
    "LM Studio",
    400,
    { error: 'Failed to load model "qwen/qwen3-coder-30b". Error: Operation canceled.' },
    UNAVAILABLE,
  ],
  ["LM Studio", 400, { error: "Model unloaded." }, UNAVAILABLE],
  // RooCodeInc/Roo-Code#515
  [
    "OpenRouter",
    403,
    { error: { message: "Key limit exceeded. Manage it using https://openrouter.ai/keys", code: 403 } },
    QUOTA,
  ],
  ["vLLM", 400, openai("max_tokens must be at least 1, got -12.", "BadRequestError"), OVERFLOW],
  ["Zhipu", 400, { error: { code: "1261", message: "Prompt exceeds max length" } }, OVERFLOW],
  ["Zhipu", 400, { error: { code: "1211", message: "模型不存在，请检查模型代码。" } }, NOT_FOUND],
  [
    "Zhipu",
    400,
    {
      error: {
        code: "1301",
        message:
          "系统检测到输入或生成内容可能包含不安全或敏感内容，请您避免输入易产生敏感内容的提示语，感谢您的配合。",
      },
    },
    REFUSED,
  ],
  [
    "Groq",
    400,
    openai(
      "The model `llama3-70b-8192` has been decommissioned and is no longer supported.",
      "invalid_request_error",
      "model_decommissioned",
    ),
    NOT_FOUND,
  ],
  ["Bedrock", 400, { message: "The provided model identifier is invalid." }, NOT_FOUND],
  [
    "Bedrock",
    400,
    {
      message:
        "Invocation of model ID anthropic.claude-sonnet-4 with on-demand throughput isn’t supported. Retry your request with the ID or ARN of an inference profile that contains this model.",
    },
    NOT_FOUND,
  ],
  [
    "Google",
    400,
    google(400, "FAILED_PRECONDITION", "User location is not supported for the API use."),
    NOT_FOUND,
  ],
  // TiaraBasori/OpenCode2API#5
  [
    "a gateway",
    401,
    {
      message: "Insufficient balance. Manage your billing here: https://opencode.ai/billing",
      type: "CreditsError",
      param: "",
      code: null,
    },
    QUOTA,
  ],
  // Wei-Shaw/sub2api#890
  ["a gateway", 403, { code: "INSUFFICIENT_BALANCE", message: "Insufficient account balance" }, QUOTA],
];

export const ERROR_BODIES: readonly ErrorBody[] = ROWS.map(([provider, status, body, outcome]) => ({
  provider,
  status,
  body,
  ...outcome,
}));
