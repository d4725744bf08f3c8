import { createServer } from 'node:http';
import { RATE_HEADERS, REPLY_BODY, SEEN_PATH } from '../upstream-reply.ts';

/** The upstream where there is no nginx. Argument: the port. */
const server = createServer({ keepAliveTimeout: 75_000 }, (request, reply) => {
  request.resume().once('end', () => {
    const { authorization = '', cookie = '' } = request.headers;
    const body = request.url === SEEN_PATH ? JSON.stringify({ authorization, cookie }) : REPLY_BODY;
    reply.writeHead(200, {
      'Content-Type': 'application/json',
      'Content-Length': String(Buffer.byteLength(body)),
      ...RATE_HEADERS,
    });
    reply.end(body);
  });
});
server.listen(Number(process.argv[2]), '127.0.0.1');
