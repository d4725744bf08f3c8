import { expect, it } from 'vitest';
import { shown } from '../../src/smoke/redact.ts';

const ID = 'abcdefghijklmnopqrstuvwxyz0123456789ABCDEF-';

it.each([
  [
    'a Cookie',
    `GET / HTTP/1.1\r\nCookie: session=${ID}; other=1\r\n\r\n`,
    'Cookie: session=[redacted]; other=[redacted]',
  ],
  [
    'a Set-Cookie, but not its flags',
    `Set-Cookie: session=${ID}; Path=/; HttpOnly`,
    'Set-Cookie: session=[redacted]; Path=/; HttpOnly',
  ],
  ['a Set-Cookie that clears', 'Set-Cookie: session=; Max-Age=0', 'Set-Cookie: session=; Max-Age=0'],
  ['a credential', 'Authorization: Service credential=A:b', 'Authorization: [redacted]'],
  ['a password', '{"method":"password","password":"hunter2"}', '{"method":"password","password":"[redacted]"}'],
  ['a password with a quote in it', '{"password": "a\\"b", "x": 1}', '{"password": "[redacted]", "x": 1}'],
  ['a secret in JSON within JSON', '{"text":"{\\"token\\":\\"abc\\"}"}', '{"text":"{\\"token\\":\\"[redacted]\\"}"}'],
  ['a secret key', '{"keypair":{"secret_key":"abc"}}', '{"keypair":{"secret_key":"[redacted]"}}'],
  ['a session id anywhere', `the id ${ID} in a text`, 'the id [redacted] in a text'],
])('hides %s', (_what, message, expected) => {
  const text = shown(message);
  expect(text).toContain(expected);
  expect(text).not.toContain(ID);
});

it('hides every secret it is told of, wherever it stands', () => {
  expect(shown('x-made-up-y', ['made-up', ''])).toBe('x-[redacted]-y');
});

it('escapes what no terminal or log should get, and shows text as text', () => {
  expect(shown(Buffer.from('a\x1b[31mb\0é\r\nc'))).toBe('a\\x1b[31mb\\x00é\nc');
});

it('cuts off what is long', () => {
  expect(shown('x '.repeat(2000))).toMatch(/^(x )+\n… \d+ more characters$/);
});
