const UNITS = [
  ['day', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
] as const;

/** `20 min 3 s`, `2 days 4 h`: the two largest units of a span in milliseconds, whatever its sign. */
export function spanInWords(ms: number): string {
  let seconds = Math.round(Math.abs(ms) / 1000);
  const words: string[] = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(seconds / size);
    seconds -= count * size;
    if (count > 0) words.push(`${count} ${unit}${unit === 'day' && count > 1 ? 's' : ''}`);
  }
  return words.slice(0, 2).join(' ') || '0 s';
}
