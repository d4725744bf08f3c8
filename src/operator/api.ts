import { type Context, Hono } from 'hono';
import { Problem } from '../problem.ts';
import type { SessionOwner } from '../session/store.ts';
import type { OperatorEnv } from './access.ts';
import { endpointsToJson, keypairsToJson, reloadToJson, sessionToJson, tenantToJson } from './documents.ts';
import { readJson } from './json-body.ts';
import { figure } from './keypairs.ts';
import type { OperatorAction, OperatorParts } from './parts.ts';
import type { Probe } from './probe.ts';
import { logLevel } from './schema.ts';
import type { StatusBoard } from './status.ts';

/** Sessions that are listed unless `limit` says otherwise, and at most. */
const LISTED = 100;
const MOST_LISTED = 1000;

/** What operators may see and do, below `/api`. */
export function operatorApi(parts: OperatorParts, probe: Probe, board: StatusBoard): Hono<OperatorEnv> {
  const { snapshot, sessions, log, reloads } = parts;
  const api = new Hono<OperatorEnv>();

  const note = (c: Context<OperatorEnv>, action: Omit<OperatorAction, 'client' | 'requestId'>) => {
    const client = c.env.incoming.socket.remoteAddress ?? '';
    const noted = { ...action, client, requestId: c.get('requestId') };
    log.info({ ...noted, session: noted.session?.slice(0, 8) }, 'operator');
    parts.onAction?.(noted);
  };

  api.get('/status', async (c) => c.json(await board.read()));
  api.get('/tenants', (c) => c.json({ tenants: snapshot().tenants.map(tenantToJson) }));
  api.get('/keypairs', (c) => c.json({ keypairs: keypairsToJson(snapshot().tenants, parts.clock()) }));
  api.get('/quotas', (c) =>
    c.json({
      quotas: keypairsToJson(snapshot().tenants, parts.clock()).map(({ tenant, role, accessKey, quota }) => ({
        tenant,
        role,
        accessKey,
        limit: figure(quota?.limit),
        remaining: figure(quota?.remaining),
        reset: quota?.reset ?? null,
      })),
    }),
  );
  api.get('/endpoints', async (c) => c.json({ endpoints: await endpointsToJson(parts, probe) }));

  api.get('/sessions', async (c) => {
    const limit = limitOf(c);
    const found = await sessions.list(ownerOf(c));
    return c.json({ sessions: found.slice(0, limit).map(sessionToJson), total: found.length });
  });
  api.delete('/sessions', async (c) => {
    const owner = ownerOf(c);
    const ended = await sessions.endAll(owner);
    note(c, { action: 'end-sessions', outcome: 'done', ...owner, count: ended });
    return c.json({ ended });
  });
  api.delete('/sessions/:id', async (c) => {
    const id = c.req.param('id');
    const session = await parts.store.get(id);
    const wasThere = await sessions.end(id);
    if (session === undefined || !wasThere) throw new Problem('unknown-session', 'There is no session of this id.');
    const { tenant, subject } = session;
    const owner = subject === undefined ? { tenant } : { tenant, subject };
    note(c, { action: 'end-session', outcome: 'done', ...owner, session: id, count: 1 });
    return c.body(null, 204);
  });

  if (reloads !== undefined) {
    api.post('/reload', async (c) => {
      const record = await reloads.reload('operator');
      note(c, { action: 'reload', outcome: record.ok ? 'done' : 'failed' });
      return c.json(reloadToJson(record), record.ok ? 200 : 422);
    });
  }

  api.get('/log-level', (c) => c.json({ level: log.level() }));
  api.put('/log-level', async (c) => {
    const wanted = logLevel.safeParse(await readJson(c.env.incoming));
    if (!wanted.success) {
      throw new Problem('invalid-body', `Expected {"level": "…"}, one of ${logLevel.shape.level.options.join(', ')}.`);
    }
    note(c, { action: 'log-level', outcome: 'done', target: wanted.data.level });
    log.setLevel(wanted.data.level);
    return c.json({ level: log.level() });
  });
  return api;
}

function ownerOf(c: Context<OperatorEnv>): SessionOwner {
  const tenant = only(c, 'tenant');
  if (tenant === undefined) throw new Problem('malformed-request', 'The parameter tenant is missing.');
  const subject = only(c, 'subject');
  return subject === undefined ? { tenant } : { tenant, subject };
}

function limitOf(c: Context<OperatorEnv>): number {
  const text = only(c, 'limit');
  if (text === undefined) return LISTED;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > MOST_LISTED) {
    throw new Problem('malformed-request', `The parameter limit must be a whole number from 1 to ${MOST_LISTED}.`);
  }
  return limit;
}

/**
 * A parameter that may stand once. One that is there but empty is refused: `subject=` left empty by a script must not
 * end everybody's sessions.
 */
function only(c: Context<OperatorEnv>, name: string): string | undefined {
  const [first, ...others] = c.req.queries(name) ?? [];
  if (first === '' || others.length > 0) {
    throw new Problem('malformed-request', `The parameter ${name} must stand once and not be empty.`);
  }
  return first;
}
