import { createSign, generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';

/**
 * As much of an OpenID provider as a relying party needs that was told its endpoints: tokens and keys. Whoever brings a
 * code is the bench's user. Arguments: the port, the client's id.
 */
const [port, audience] = process.argv.slice(2);
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'bench', alg: 'RS256', use: 'sig' };

function idToken(): string {
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    ...{ iss: `http://127.0.0.1:${port}`, aud: audience, sub: 'bench', iat: now, exp: now + 86_400 },
    ...{ email: 'bench@service.example', email_verified: true },
  };
  const encoded = [{ alg: 'RS256', kid: 'bench', typ: 'JWT' }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  const signature = createSign('RSA-SHA256').update(encoded.join('.')).sign(privateKey, 'base64url');
  return [...encoded, signature].join('.');
}

const server = createServer((request, reply) => {
  request.resume();
  const answer =
    request.url === '/token'
      ? { access_token: 'bench', token_type: 'Bearer', expires_in: 86_400, id_token: idToken() }
      : { keys: [jwk] };
  reply.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer));
});
server.listen(Number(port), '127.0.0.1');
