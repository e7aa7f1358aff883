import type { CompletedCommand, CompletedOption } from "./command-tree.ts";

/** Returns a script for the zsh completion system, with a function for each command. */
export function zshScript(commands: readonly CompletedCommand[]): string {
  return `#compdef colloquy
# Completion of colloquy for zsh, made by "colloquy completion zsh".
${commands.map(functionOf).join("\n")}
if [[ "$funcstack[1]" == _colloquy ]]; then
  _colloquy "$@"
else
  compdef _colloquy colloquy
fi
`;
}

function functionOf({ path, options, commands, choices, takesFile }: CompletedCommand): string {
  const specifications = options.map(specificationOf);
  if (commands.length > 0) {
    const described = commands.map(({ name, about }) => quoted(`${name}:${about.replaceAll(":", "\\:")}`));
    const cases = commands.map(
      ({ name }) => `        ${name}) ${nameOf(path === "" ? name : `${path} ${name}`)} ;;`,
    );
    return `${nameOf(path)}() {
  local context state state_descr line
  typeset -A opt_args
  local -a commands=(${described.join(" ")})
  _arguments -C ${[...specifications, "'1: :->command'", "'*:: :->rest'"].join(" ")}
  case "$state" in
    command) _describe command commands ;;
    rest)
      case "$line[1]" in
${cases.join("\n")}
      esac ;;
  esac
}`;
  }
  const first = choices.length > 0 ? [quoted(`1: :(${choices.join(" ")})`)] : [];
  const rest = takesFile ? ["'*: :_files'"] : [];
  return `${nameOf(path)}() {
  _arguments ${[...specifications, ...first, ...rest].join(" ")}
}`;
}

function specificationOf({ names, about, takesValue, choices }: CompletedOption): string {
  const description = about.replaceAll(/[[\]:]/g, "\\$&");
  const value = choices.length > 0 ? `: :(${choices.join(" ")})` : takesValue ? ": :_files" : "";
  const exclusive = names.length > 1 ? `(${names.join(" ")})` : "";
  return names.map((name) => quoted(`${exclusive}${name}[${description}]${value}`)).join(" ");
}

function nameOf(path: string): string {
  return `_colloquy${path === "" ? "" : `_${path.replaceAll(" ", "_")}`}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
