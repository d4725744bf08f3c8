import { sparkline } from './charts.js';
import { drawer, h } from './element.js';
import { bytes, duration, integer, rate, share, short, skew, span, timeOfDay } from './format.js';

const nothing = (text) => h('p', { class: 'nothing' }, text);

const levelOfErrors = (part, whole) => (part === 0 ? undefined : part / whole >= 0.05 ? 'bad' : 'warn');

const tile = (label, value, note, level) =>
  h(
    'div',
    { class: 'tile', 'data-level': level },
    h('h2', {}, label),
    h('p', { class: 'value' }, value),
    h('p', { class: 'note' }, note),
  );

const tiles = drawer('tiles', ({ now, minute, total, sessions }) => [
  tile('Requests', rate(now.requests / 10), `per second · ${short(total.requests)} since start`),
  tile(
    'Failed',
    share(minute.serverErrors, minute.requests),
    `5xx last minute · ${short(total.serverErrors)} since start`,
    levelOfErrors(minute.serverErrors, minute.requests),
  ),
  tile(
    'Refused',
    share(minute.clientErrors, minute.requests),
    `4xx last minute · ${short(total.clientErrors)} since start`,
  ),
  tile('Latency', duration(minute.p50), `p95 ${duration(minute.p95)} · p99 ${duration(minute.p99)}`),
  tile(
    'Sessions',
    short(sessions.total),
    `${integer(sessions.streams)} live streams · ${short(sessions.created)} opened here`,
  ),
]);

const cell = (label, content, level) => h('td', { 'data-label': label, 'data-level': level }, content);

const tenants = drawer('tenants', (list) =>
  h(
    'table',
    {},
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        ...['Tenant', 'Requests/s', '', '4xx', '5xx', 'p50', 'p95', 'p99', 'Sessions'].map((title) =>
          h('th', { scope: 'col' }, title),
        ),
      ),
    ),
    h(
      'tbody',
      {},
      list.map(({ name, ready, history, sessions, lastMinute }) => {
        const { requests, clientErrors, serverErrors, p50, p95, p99 } = lastMinute;
        return h(
          'tr',
          {},
          h('th', { scope: 'row' }, light(ready ? 'ok' : 'bad', ready ? 'ready' : 'not ready'), name),
          cell('Requests/s', rate(requests / 60)),
          h('td', { class: 'trend' }, sparkline(history)),
          cell('4xx', share(clientErrors, requests)),
          cell('5xx', share(serverErrors, requests), levelOfErrors(serverErrors, requests)),
          cell('p50', duration(p50)),
          cell('p95', duration(p95)),
          cell('p99', duration(p99)),
          cell('Sessions', short(sessions)),
        );
      }),
    ),
  ),
);

const light = (level, text) => h('i', { class: 'light', 'data-level': level, role: 'img', 'aria-label': text });

const refusals = drawer('refusals', (list) => {
  if (list.length === 0) return nothing('Nothing has been refused.');
  const most = Math.max(...list.map(({ recent }) => recent), 1);
  return h(
    'ol',
    { class: 'bars' },
    list.slice(0, 9).map(({ code, status, recent, total }) => {
      const bar = h('span', { class: 'bar-fill', 'data-level': status >= 500 ? 'bad' : 'warn' });
      bar.style.inlineSize = `${(100 * recent) / most}%`;
      return h(
        'li',
        { title: `${status}, ${integer(total)} since start` },
        h('span', { class: 'code' }, code),
        h('b', {}, integer(recent)),
        h('span', { class: 'bar-track', 'aria-hidden': 'true' }, bar),
      );
    }),
  );
});

const keypairs = drawer('keypairs', (list) =>
  h(
    'ul',
    { class: 'rows' },
    list.map(({ tenant, role, accessKey, state, valid, current, setAsideUntil, limit, remaining, quota }) => {
      const known = limit !== null && remaining !== null && limit > 0;
      const left = known ? remaining / limit : 0;
      const level = setAsideUntil !== null || (known && left === 0) ? 'bad' : known && left < 0.1 ? 'warn' : 'ok';
      const fill = h('span', { class: 'bar-fill', 'data-level': level });
      fill.style.inlineSize = `${100 * left}%`;
      const meter = {
        role: 'meter',
        'aria-label': `Quota left, ${tenant} ${role}`,
        'aria-valuemin': 0,
        'aria-valuemax': limit ?? 0,
        'aria-valuenow': remaining ?? 0,
      };
      const notes = [
        setAsideUntil !== null && 'refused, set aside',
        state !== 'active' && state,
        !valid && state !== 'retired' && 'outside its dates',
        valid && !current && setAsideUntil === null && 'in reserve',
      ].filter(Boolean);
      return h(
        'li',
        {},
        h(
          'p',
          { class: 'line' },
          h('b', {}, `${tenant} · ${role}`),
          h('span', {}, known ? `${integer(remaining)} of ${integer(limit)}` : 'not used yet'),
        ),
        h('div', { class: 'bar-track', ...(known ? meter : { 'aria-hidden': 'true' }) }, fill),
        h(
          'p',
          { class: 'line small' },
          h('code', {}, accessKey),
          h('span', {}, [...notes, quota === null ? '' : `reset ${quota.reset}`].filter(Boolean).join(' · ')),
        ),
      );
    }),
  ),
);

const inUse = ({ up, cooling, breaker }) => {
  if (breaker.state === 'open') return 'out of use';
  if (!up) return 'down';
  return breaker.state === 'half-open' ? 'on trial' : cooling ? 'cooling' : 'up';
};

const endpoints = drawer('endpoints', ({ list, at }) =>
  h(
    'ul',
    { class: 'rows' },
    list.map(({ origin, tenants: users, up, cooling, breaker, pending, attempts, lastFailure, skew: clock }) => {
      const lost = attempts.unreachable + attempts.failed;
      const off = clock !== null && Math.abs(clock.ms) > 30_000;
      const failure =
        lastFailure === null
          ? 'no failure yet'
          : `${lastFailure.kind} ${span(Date.parse(at) - Date.parse(lastFailure.at))} ago`;
      return h(
        'li',
        {},
        h(
          'p',
          { class: 'line' },
          h('b', { class: 'origin' }, light(up && breaker.state !== 'open' ? 'ok' : 'bad', up ? 'up' : 'down'), origin),
          h('span', {}, inUse({ up, cooling, breaker })),
        ),
        h(
          'p',
          { class: 'line small' },
          h(
            'span',
            { 'data-level': off ? 'bad' : undefined },
            clock === null ? 'clock unknown' : `${skew(clock)} (±${duration(clock.uncertainty)})`,
          ),
          h('span', {}, `${integer(pending)} pending`),
        ),
        h(
          'p',
          { class: 'line small' },
          h('span', {}, `${short(attempts.answered)} answered · ${short(lost)} lost · ${failure}`),
          h('span', {}, users.join(', ')),
        ),
      );
    }),
  ),
);

function nearCachePairs(cache, pair) {
  if (cache === null) return [];
  const { up, hits, misses, entries } = cache;
  const found = `${share(hits, hits + misses)} of sessions found · ${short(entries)} kept`;
  return [pair('Near cache', up ? found : 'bypassed', up ? undefined : 'warn')];
}

const gateway = drawer('gateway', ({ checks, sessions, reload, process, at }) => {
  const pair = (name, value, level) => h('div', { 'data-level': level }, h('dt', {}, name), h('dd', {}, value));
  const store = sessions.store === 'redis' ? 'Redis' : 'Session store';
  const up = checks.sessionStore === 'up';
  const reloaded =
    reload === null
      ? 'never reloaded'
      : `${reload.reason === 'start' ? 'loaded' : reload.ok ? 'reloaded' : 'reload failed'} ${span(Date.parse(at) - Date.parse(reload.at))} ago`;
  return [
    pair(store, `${up ? 'up' : 'down'}${sessions.store === 'memory' ? ', in memory' : ''}`, up ? 'ok' : 'bad'),
    ...nearCachePairs(sessions.nearCache, pair),
    pair('Configuration', reloaded, reload?.ok === false ? 'warn' : undefined),
    pair('Process', checks.process, checks.process === 'ready' ? undefined : 'warn'),
    pair(
      'Event loop lag',
      `${duration(process.eventLoopDelayMs)} p99`,
      process.eventLoopDelayMs > 200 ? 'warn' : undefined,
    ),
    pair('CPU', `${Math.round(100 * process.cpu)}% of a core`),
    pair('Memory', bytes(process.rss)),
    pair('Sessions ended here', short(sessions.ended)),
    pair('Log level', process.logLevel),
  ];
});

const failures = drawer('failures', (list) => {
  if (list.length === 0) return nothing('No request has failed since the start.');
  return h(
    'table',
    {},
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        ...['Time', 'Tenant', 'Request', 'Status', 'What happened', 'Request id'].map((title) =>
          h('th', { scope: 'col' }, title),
        ),
      ),
    ),
    h(
      'tbody',
      {},
      list.map(({ at, tenant, method, route, status, code, reason, requestId }) =>
        h(
          'tr',
          {},
          h('th', { scope: 'row' }, timeOfDay(at)),
          cell('Tenant', tenant ?? '–'),
          cell('Request', `${method} ${route ?? ''}`),
          cell('Status', String(status), 'bad'),
          cell('What happened', [code, reason].filter(Boolean).join(': ') || 'the upstream said so'),
          cell('Request id', h('code', {}, requestId)),
        ),
      ),
    ),
  );
});

/** Puts one status document on the page, panel by panel. */
export function showPanels(status) {
  const { traffic, sessions } = status;
  tiles({ now: traffic.lastTenSeconds, minute: traffic.lastMinute, total: traffic.total, sessions });
  tenants(status.tenants);
  refusals(status.refusals);
  keypairs(status.keypairs);
  endpoints({ list: status.endpoints, at: status.at });
  gateway({ checks: status.checks, sessions, reload: status.reload, process: status.process, at: status.at });
  failures(status.failures);
}
