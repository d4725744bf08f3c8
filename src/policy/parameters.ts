/**
 * Calls `visit` with the name of each parameter in a query or a form body (`application/x-www-form-urlencoded`), decoded,
 * one character per byte. Parameters end at `&` and at `;`, because some servers split on either. A malformed escape
 * stands for itself.
 */
export function forEachParameter(text: string, visit: (name: string) => void): void {
  let start = 0;
  let equals = -1;
  for (let i = 0; i <= text.length; i++) {
    const char = text[i];
    if (char === '=' && equals === -1) equals = i;
    if (char !== '&' && char !== ';' && char !== undefined) continue;
    visit(decodeName(text.slice(start, equals === -1 ? i : equals)));
    start = i + 1;
    equals = -1;
  }
}

function decodeName(name: string): string {
  const spaced = name.replaceAll('+', ' ');
  if (!spaced.includes('%')) return spaced;
  const bytes = Buffer.allocUnsafe(spaced.length);
  let length = 0;
  for (let i = 0; i < spaced.length; i++) {
    const escaped = spaced[i] === '%' ? hexByte(spaced.slice(i + 1, i + 3)) : undefined;
    bytes[length++] = escaped ?? spaced.charCodeAt(i);
    if (escaped !== undefined) i += 2;
  }
  return bytes.toString('latin1', 0, length);
}

function hexByte(digits: string): number | undefined {
  return /^[0-9a-f]{2}$/i.test(digits) ? Number.parseInt(digits, 16) : undefined;
}
