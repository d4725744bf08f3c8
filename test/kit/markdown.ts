import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from './cli.ts';

/** A document of the project, taken apart so that tests can run what it shows. */
export interface Markdown {
  readonly text: string;
  /** The text of each code block of a language, those of list items without their indentation. */
  blocks(language: string): string[];
  /** What stands between a heading of the second level and the next; throws when there is no such heading. */
  section(title: string): Markdown;
  /** Titles of the second level. */
  readonly titles: readonly string[];
  /** The cells of each row of each table, without the heads. */
  readonly rows: readonly (readonly string[])[];
}

export function readMarkdown(path: string): Markdown {
  return markdown(readFileSync(join(ROOT, path), 'utf8'));
}

function markdown(text: string): Markdown {
  const sections = text.split(/^## /m).slice(1);
  return {
    text,
    titles: sections.map(titleOf),
    blocks: (language) =>
      [...text.matchAll(new RegExp(`^( *)\`\`\`${language}\\n(.*?)^\\1\`\`\`$`, 'gms'))].map(
        ([, indent = '', body = '']) => body.replace(new RegExp(`^${indent}`, 'gm'), ''),
      ),
    section(title) {
      const found = sections.find((section) => titleOf(section) === title);
      if (found === undefined) throw new Error(`there is no section called ${title}`);
      return markdown(found);
    },
    rows: [...text.matchAll(/^\|(?:[-|]+\|$)\n((?:\|.*\|\n)*)/gm)].flatMap(([, body = '']) =>
      body
        .trim()
        .split('\n')
        .map((row) =>
          row
            .slice(1, -1)
            .split('|')
            .map((cell) => cell.trim()),
        ),
    ),
  };
}

function titleOf(section: string): string {
  return section.split('\n', 1)[0] ?? '';
}

/** Commands of a block, continued lines joined, comments left out. */
export function commandsOf(block: string): string[] {
  return block
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
}

/** The texts that are marked as code, blocks left out. */
export function codesOf(text: string): string[] {
  return [...text.replace(/^ *```.*?^ *```$/gms, '').matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}

/** Links of a document at `path` whose file or heading is missing. */
export function deadLinks(path: string): string[] {
  const { text } = readMarkdown(path);
  const targets = [...text.matchAll(/\]\((?!https?:)([^)]+)\)/g)].map(([, target = '']) => target);
  return targets.filter((target) => {
    const [file = '', anchor] = target.split('#');
    const linked = file === '' ? path : join(dirname(path), file);
    return !existsSync(join(ROOT, linked)) || (anchor !== undefined && !anchorsOf(linked).includes(anchor));
  });
}

function anchorsOf(path: string): string[] {
  const headings = readMarkdown(path).text.matchAll(/^#+ (.*)$/gm);
  return [...headings].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}
