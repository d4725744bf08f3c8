import { duration, integer, share, skew } from './format.js';

/** Below these something is said, in milliseconds and shares. The Service refuses a date that is 15 minutes off. */
const SKEW_WARNING = 30_000;
const SKEW_ALARM = 300_000;
const LOW_QUOTA = 0.1;
const ERRORS_WARNING = 0.01;
const ERRORS_ALARM = 0.05;
const REFUSALS_WARNING = 0.5;
/** So few requests say nothing. */
const ENOUGH = 20;
const BLOCKED = 200;

const bad = (text) => ({ level: 'bad', text });
const warn = (text) => ({ level: 'warn', text });

/** What somebody on call has to know, worst first; empty when all is well. */
export function findingsOf(status) {
  const findings = [
    ...ofProcess(status),
    ...status.tenants
      .filter(({ name }) => !noneUp(status, name) && noneInUse(status, name))
      .map(({ name }) => bad(`${name}: every upstream endpoint fails and is out of use. Requests get 503.`)),
    ...status.tenants
      .filter(({ name }) => noneUp(status, name))
      .map(({ name }) => bad(`${name}: no upstream endpoint can be reached. Requests end in 502.`)),
    ...ofErrors(status),
    ...status.keypairs.flatMap(ofKeypair),
    ...status.endpoints.flatMap((endpoint) => ofEndpoint(endpoint, status)),
  ];
  return findings.toSorted((a, b) => (a.level === b.level ? 0 : a.level === 'bad' ? -1 : 1));
}

export function worst(findings) {
  return findings[0]?.level ?? 'ok';
}

/** What is well, in one line. */
export function summaryOf({ tenants, endpoints, keypairs, sessions }) {
  const quotas = keypairs.flatMap(({ current, limit, remaining }) =>
    current && limit && remaining !== null ? [remaining / limit] : [],
  );
  return [
    `${plural(tenants.length, 'tenant')} ready`,
    `${plural(endpoints.length, 'endpoint')} up`,
    sessions.store === 'redis' ? 'Redis up' : 'sessions in memory',
    ...(quotas.length === 0 ? [] : [`at least ${share(Math.min(...quotas), 1)} of every quota left`]),
  ].join(' · ');
}

function plural(count, noun) {
  return `${integer(count)} ${noun}${count === 1 ? '' : 's'}`;
}

function noneUp({ endpoints }, tenant) {
  const own = endpoints.filter(({ tenants }) => tenants.includes(tenant));
  return own.every(({ up }) => !up);
}

function noneInUse({ endpoints }, tenant) {
  const own = endpoints.filter(({ tenants }) => tenants.includes(tenant));
  return own.every(({ breaker }) => breaker.state === 'open');
}

function ofProcess({ checks, reload, process, sessions }) {
  const findings = [];
  if (checks.sessionStore === 'down') {
    const what = sessions.store === 'redis' ? 'Redis does' : 'The session store does';
    findings.push(bad(`${what} not answer: every request with a session is refused with 503.`));
  } else if (sessions.nearCache?.up === false) {
    findings.push(warn('The near cache is bypassed: every request asks Redis for its session.'));
  }
  if (checks.process === 'draining') findings.push(warn('The gateway is draining: it finishes what is under way.'));
  if (checks.process === 'starting') findings.push(warn('The gateway is starting.'));
  if (reload?.ok === false) {
    const [first] = reload.faults;
    const where = first === undefined ? '' : ` ${first.path}: ${first.message}`;
    findings.push(warn(`The last reload failed; the configuration before it is in force.${where}`));
  }
  if (process.eventLoopDelayMs > BLOCKED) {
    findings.push(warn(`The process is overloaded: its event loop lags by ${duration(process.eventLoopDelayMs)}.`));
  }
  return findings;
}

function ofErrors({ traffic }) {
  const { requests, clientErrors, serverErrors } = traffic.lastMinute;
  const findings = [];
  if (requests >= ENOUGH && clientErrors / requests >= REFUSALS_WARNING) {
    findings.push(warn(`${share(clientErrors, requests)} of the last minute’s requests were answered with a 4xx.`));
  }
  const ratio = requests === 0 ? 0 : serverErrors / requests;
  if (ratio < ERRORS_WARNING) return findings;
  const text = `${share(serverErrors, requests)} of the last minute’s requests failed (${integer(serverErrors)} of ${integer(requests)}).`;
  return [...findings, ratio >= ERRORS_ALARM ? bad(text) : warn(text)];
}

function ofKeypair({ tenant, role, accessKey, current, limit, remaining, setAsideUntil }) {
  const whose = `${tenant}, role ${role}`;
  if (setAsideUntil !== null) {
    return current
      ? [bad(`${whose}: the Service refuses ${accessKey}, and there is no other keypair to sign with.`)]
      : [warn(`${whose}: the Service refuses ${accessKey}; another keypair signs in its place.`)];
  }
  if (!current || limit === null || remaining === null || limit === 0) return [];
  if (remaining === 0) return [bad(`${whose}: the keypair’s quota is used up.`)];
  if (remaining / limit < LOW_QUOTA)
    return [warn(`${whose}: ${share(remaining, limit)} of the keypair’s quota is left.`)];
  return [];
}

function ofEndpoint(endpoint, status) {
  const { origin, tenants, up, breaker, skew: clock, clock: followed } = endpoint;
  const findings = [];
  if (!up && !tenants.every((tenant) => noneUp(status, tenant))) {
    findings.push(warn(`${origin} cannot be reached; the other endpoints take its requests.`));
  }
  if (up && breaker.state === 'open' && !tenants.every((tenant) => noneInUse(status, tenant))) {
    findings.push(warn(`${origin} fails and is out of use; the other endpoints take its requests.`));
  }
  if (clock !== null && Math.abs(clock.ms) > SKEW_WARNING) {
    const text =
      followed.offset === 0
        ? `${origin}: ${skew(clock)} of ours. From 15 minutes on every signature is refused.`
        : `${origin}: ${skew(clock)} of ours. Requests are signed in its time.`;
    findings.push(Math.abs(clock.ms) > SKEW_ALARM ? bad(text) : warn(text));
  }
  return findings;
}
