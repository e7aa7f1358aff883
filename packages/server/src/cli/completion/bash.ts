import type { CompletedCommand } from "./command-tree.ts";

/** Returns a script for bash 3.2 and newer that does not depend on the bash-completion package. */
export function bashScript(commands: readonly CompletedCommand[]): string {
  const paths = commands.filter(({ path }) => path !== "").map(({ path }) => quoted(path));
  return `# Completion of colloquy for bash, made by "colloquy completion bash".
_colloquy() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" path="" words="" at
  COMPREPLY=()
  for ((at = 1; at < COMP_CWORD; at++)); do
    case "\${path:+$path }\${COMP_WORDS[at]}" in
      ${paths.join(" | ")}) path="\${path:+$path }\${COMP_WORDS[at]}" ;;
    esac
  done
  case "$path $before" in
${valueCases(commands)}
  esac
  case "$path" in
${commands.map(wordsCase).join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -F _colloquy colloquy
`;
}

/** After an option that takes a value, only that value is completed. */
function valueCases(commands: readonly CompletedCommand[]): string {
  return commands
    .flatMap(({ path, options }) =>
      options
        .filter(({ takesValue }) => takesValue)
        .map(({ names, choices }) => {
          const patterns = names.map((name) => quoted(`${path} ${name}`)).join(" | ");
          const reply =
            choices.length === 0
              ? 'COMPREPLY=($(compgen -f -- "$word"))'
              : `COMPREPLY=($(compgen -W ${quoted(choices.join(" "))} -- "$word"))`;
          return `    ${patterns}) ${reply}; return ;;`;
        }),
    )
    .join("\n");
}

function wordsCase({ path, options, commands, choices, takesFile }: CompletedCommand): string {
  const words = [...commands.map(({ name }) => name), ...choices, ...options.flatMap(({ names }) => names)];
  const files = takesFile ? ' [[ $word == -* ]] || { COMPREPLY=($(compgen -f -- "$word")); return; };' : "";
  return `    ${quoted(path)}) words=${quoted(words.join(" "))};${files} ;;`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
