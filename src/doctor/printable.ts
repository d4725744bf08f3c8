const LONGEST = 300;

/** Another machine's text on one line, without what would steer a terminal and without any of `secrets`. */
export function printable(text: string, secrets: readonly string[] = []): string {
  let shown = text;
  for (const secret of secrets) if (secret !== '') shown = shown.replaceAll(secret, '[redacted]');
  return shown
    .replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\s]+/gu, ' ')
    .slice(0, LONGEST)
    .trim();
}
