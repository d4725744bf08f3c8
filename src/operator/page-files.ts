import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Context, Hono } from 'hono';
import { Problem } from '../problem.ts';
import type { OperatorEnv } from './access.ts';

const FOLDER = fileURLToPath(new URL('./page/', import.meta.url));
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

interface PageFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly type: string;
  readonly etag: string;
}

/** The status page itself. It holds no data, so it needs no token: what it shows it asks the API for. */
export function pageFiles(needsToken: boolean): Hono<OperatorEnv> {
  const files = new Map(readdirSync(FOLDER).map((name) => [name, readPageFile(name, needsToken)]));
  const app = new Hono<OperatorEnv>();
  const send = (c: Context<OperatorEnv>, file: PageFile | undefined) => {
    if (file === undefined) throw new Problem('no-route', 'The status page has no such file.');
    c.header('Cache-Control', 'no-cache');
    c.header('ETag', file.etag);
    if (c.req.header('If-None-Match') === file.etag) return c.body(null, 304);
    return c.body(file.bytes, 200, { 'Content-Type': file.type });
  };
  app.get('/', (c) => send(c, files.get('index.html')));
  app.get('/page/:file', (c) => send(c, files.get(c.req.param('file'))));
  return app;
}

function readPageFile(name: string, needsToken: boolean): PageFile {
  const text = readFileSync(join(FOLDER, name), 'utf8');
  // Told beforehand, the page can ask for the token without being refused first.
  const bytes = new TextEncoder().encode(needsToken ? text.replace('data-token="none"', 'data-token="needed"') : text);
  const type = TYPES[extname(name)];
  if (type === undefined) throw new Error(`the status page has a file of no known type: ${name}`);
  return { bytes, type, etag: `"${hash('sha256', bytes, 'base64url').slice(0, 16)}"` };
}
