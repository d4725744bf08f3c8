import { createServer } from 'node:http';
import { RATE_HEADERS, REPLY_BODY } from '../upstream-reply.ts';

/** The floor: node:http giving the upstream's answer itself, in one write. Argument: the port. */
const headers = {
  'Content-Type': 'application/json',
  'Content-Length': String(Buffer.byteLength(REPLY_BODY)),
  ...RATE_HEADERS,
};
const server = createServer({ keepAliveTimeout: 75_000 }, (request, reply) => {
  const answer = () => reply.writeHead(200, headers).end(REPLY_BODY);
  if (request.method === 'GET') answer();
  else request.resume().once('end', answer);
});
server.listen(Number(process.argv[2]), '127.0.0.1');
