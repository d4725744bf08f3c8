/** One instruction of a Dockerfile: its keyword in uppercase, and the rest with continued lines joined. */
export interface Instruction {
  readonly keyword: string;
  readonly value: string;
}

export function parseDockerfile(text: string): Instruction[] {
  return text
    .split('\n')
    .filter((line) => !/^\s*#/.test(line))
    .join('\n')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, keyword = '', value = ''] = /^(\S+)\s+(.*)$/.exec(line.trim()) ?? [];
      return { keyword: keyword.toUpperCase(), value };
    });
}

/** The exec form of ENTRYPOINT, CMD or a HEALTHCHECK's CMD. Throws for the shell form, which swallows signals. */
export function execForm(value: string): string[] {
  const list: unknown = JSON.parse(value);
  if (!Array.isArray(list) || !list.every((item) => typeof item === 'string'))
    throw new Error(`not the exec form: ${value}`);
  return list;
}

/** What a COPY takes from the build context; nothing when it copies from another stage. */
export function copiedFromContext(instructions: readonly Instruction[]): string[] {
  return instructions
    .filter(({ keyword, value }) => keyword === 'COPY' && !value.startsWith('--from='))
    .flatMap(({ value }) => value.split(/\s+/).slice(0, -1));
}
